"""Reading and writing files: every fault of a file becomes one sentence with its name, and files are written whole."""

import errno
import gzip
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pfgnn.errors import InputError, InputTypeError, OutOfMemoryError, PFGNNError, cut, shown

LONGEST_REASON = 200  # characters of another library's message that a sentence quotes
MOST_TEXT = 2**30  # bytes of text that are read at once, also after decompression
GZIP_MAGIC = b"\x1f\x8b"
TEXT = "be text in UTF-8, or gzipped text"


@contextmanager
def reading(path: Path, must: str) -> Iterator[None]:
    """Turn every fault of a file into an error that names the file. The code that reads the file goes inside.

    Errors of the operating system keep their kind. All other errors become an InputError. If an InputError does not
    name the file, the name is put before it.

    Args:
        path: The file.
        must: What the file must do or be, such as "hold JSON", to complete the message "FILE must ...".
    """
    try:
        yield
    except (InputError, InputTypeError, OutOfMemoryError) as error:
        if path.name in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error
    except PFGNNError:
        raise
    except MemoryError as error:
        raise OutOfMemoryError(f"{path} cannot be read, because there is too little memory") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, error.filename or str(path)) from error
        raise InputError(f"{path} must {must}, but {_reason(error)}") from error


def read_text(path: Path) -> str:
    """Read a text in UTF-8, with or without a byte order mark. Gzipped files are decompressed."""
    with reading(path, TEXT):
        with _opened(path) as file:
            content = file.read(MOST_TEXT + 1)
        if len(content) > MOST_TEXT:
            raise InputError(f"{path} must hold at most {MOST_TEXT} bytes of text, but it holds more")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise _not_text(path, line, content[error.start]) from None


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a text, with their ends, one after another. The file is what :func:`read_text` reads, of any size.

    A line ends with a line feed, a carriage return or both.
    """
    if path.is_fifo():  # such files are read twice, which a pipe cannot be: the second time would wait for ever
        raise InputError(f"{path} must be a file, but it is a pipe; save what comes out of it to a file first")
    with reading(path, TEXT), _opened(path) as file:
        # A byte that is no text becomes a surrogate at first, so that its line is known.
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
        number = 0
        while line := text.readline(MOST_TEXT + 1):
            number += 1
            if len(line) > MOST_TEXT:
                raise InputError(f"{path}, line {number}: a line must have at most {MOST_TEXT} characters")
            if not line.isascii():
                try:
                    line.encode()
                except UnicodeEncodeError as error:
                    raise _not_text(path, number, ord(line[error.start]) % 256) from None
            yield line


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader | gzip.GzipFile]:
    """A file for reading, decompressed if it is gzipped."""
    with path.open("rb") as file:
        if file.peek(2).startswith(GZIP_MAGIC):
            with gzip.open(file) as unzipped:
                yield unzipped
        else:
            yield file


def _not_text(path: Path, line: int, byte: int) -> InputError:
    return InputError(f"{path} must be text in UTF-8, but line {line} has the byte {byte:#04x}; save it as UTF-8")


def ending(path: Path) -> str:
    """The ending of a file's name in lower case, such as ".csv". An ending .gz after it is left out."""
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file, or raise an InputError if the file does not hold one."""
    with reading(path, "hold JSON"):
        content = json.loads(read_text(path))
    if not isinstance(content, dict):
        raise InputError(f"{path} must hold a JSON object, but it holds a {type(content).__name__}")
    return content


def check_version(path: Path, found: object, known: int) -> None:
    """Raise an InputError if a file says that a newer pfgnn wrote it, in a format that this one does not know.

    Args:
        path: The file, for the message.
        found: The version of its format, as the file says it.
        known: The newest version that this pfgnn reads.
    """
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise InputError(f"{path} must have a format of 1 to {known}, but it has {shown(found)}")
    if found > known:
        raise InputError(
            f"{path} must have a format of at most {known}, but it has {found}: a newer version of pfgnn wrote it; "
            "install that version"
        )


def write_json(path: Path, content: object) -> None:
    """Write JSON atomically: if this fails, no partly written file is left."""
    write_text(path, json.dumps(content, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 atomically: if this fails, no partly written file is left."""
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically: ``write`` fills a temporary file, which is then renamed to ``path``.

    Args:
        path: File to write. Its folder is created if needed. Of a link, the file that it names is written.
        write: Called with the path of the temporary file, which has the same suffix as ``path``.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    _check_replaceable(path)
    if path.is_symlink():
        path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        temporary.unlink(missing_ok=True)  # a killed process with the same process id may have left one
        write(temporary)
        temporary.replace(path)
    except OSError as error:  # the message shall name ``path``, not the temporary file
        if error.filename is not None and str(error.filename) != str(
            temporary
        ):  # another file, which was read meanwhile
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):  # in a file system that is read-only, this fails even if there is no such file
            temporary.unlink(missing_ok=True)


def check_folder(path: Path) -> None:
    """Raise an InputError if a folder cannot be written because it, or what should hold it, is a file."""
    above = next(part for part in (path, *path.absolute().parents) if part.exists())
    if not above.is_dir():
        raise InputError(f"{path} must be a folder, but {'it' if above == path else above} is a file")


def check_writable(path: Path) -> None:
    """Raise the error of :func:`write_atomically` before there is anything to write, as far as it can be known."""
    _check_replaceable(path)
    folder = next(above for above in path.absolute().parents if above.exists())
    if path.is_dir():
        kind = errno.EISDIR
    elif not folder.is_dir():
        kind = errno.ENOTDIR
    elif not os.access(folder, os.W_OK):
        kind = errno.EACCES
    else:
        return
    raise OSError(kind, os.strerror(kind), str(path))


def _check_replaceable(path: Path) -> None:
    """Raise an InputError for a device or a pipe: renaming a file to its name would replace it by a file."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path} must be a file or a new name, but it is a device or a pipe")


def _reason(error: Exception) -> str:
    """What is wrong with a file, to complete the sentence "The file must ..., but ...", from any error."""
    message = cut(str(error), LONGEST_REASON) or type(error).__name__
    if isinstance(error, KeyError) and error.args:
        return f"it has no {cut(str(error.args[0]), LONGEST_REASON)}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, StopIteration):
        return "it ends too early"
    if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile | zipfile.BadZipFile):
        return f"it is truncated or damaged ({message})"
    return f"it cannot be read ({message})"
