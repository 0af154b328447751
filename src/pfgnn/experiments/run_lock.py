"""A lock on a run directory or a record of pairs, so that one process at a time writes there.

The lock is the file `run.lock` in the directory, or a file beside the record. It names the process that holds it. Two
things show that this process is alive:

- The operating system holds a lock of the file for it (flock), and frees it when the process ends, however it ends. So
  on one machine the number of a process does not matter, which another process may have by now.
- It touches the file every few seconds. Another machine, or a file system without such locks, watches this for a while.

The file of a dead process is taken over.
"""

import errno
import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path

from pfgnn.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FILE = "run.lock"
ENDING = ".lock"  # after the name of a record
IN_USE = "must not be in use"  # in the message of a run that another process does
BEAT = 5.0  # seconds between two signs of life
PATIENCE = 30.0  # seconds without a sign of life after which a process elsewhere counts as dead
ATTEMPTS, PAUSE = 10, 0.05  # another process that only looks at the lock holds it for a moment


def _this_machine() -> str:
    """Names the running system: Linux has an identifier of each boot."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return platform.node()


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock.

    Args:
        host: Name of its machine.
        machine: Identifier of the running system.
        process: Number of the process.
        since: When it took the lock.
        token: Random, so that each lock is another one.
    """

    host: str = field(default_factory=platform.node)
    machine: str = field(default_factory=_this_machine)
    process: int = field(default_factory=os.getpid)
    since: str = field(default_factory=lambda: datetime.now().astimezone().isoformat(" ", "seconds"))
    token: str = field(default_factory=lambda: uuid.uuid4().hex)


class Lock:
    """A lock that this process holds. Its thread gives the signs of life.

    Args:
        path: The lock file.
        holder: This process.
    """

    def __init__(self, path: Path, holder: Holder) -> None:
        self.path, self.holder = path, holder
        self._lost, self._ends = False, threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise an InputError if the lock is no longer of this process, such as after its machine was asleep."""
        if self._lost:
            what = f"{_who(_read(self.path))} took it over" if self.path.exists() else "it was removed"
            raise InputError(f"{self.path} must belong to this process, but {what}; so this process stops")

    def end(self) -> None:
        """Stop the signs of life, and remove the file if it is still of this process."""
        self._ends.set()
        self._thread.join()
        with suppress(OSError):
            if _read(self.path) == self.holder:
                self.path.unlink()

    def _beat(self) -> None:
        while not self._ends.wait(BEAT):
            with suppress(OSError):  # a network may fail for a moment
                if self.path.exists() and _read(self.path) == self.holder:
                    os.utime(self.path)
                else:
                    self._lost = True


@contextmanager
def locked(directory: Path) -> Iterator[Lock]:
    """Hold the lock of a run directory, which is created if needed. Raise an InputError if another process holds it."""
    with _locked(directory / FILE) as lock:
        yield lock


@contextmanager
def locked_record(record: Path) -> Iterator[Lock]:
    """Hold the lock of a record, a file that need not be there. Raise an InputError if another process holds it."""
    with _locked(record.with_name(record.name + ENDING)) as lock:
        yield lock


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until no other process of this machine is in such a block for this folder, which is created if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def is_in_use(directory: Path) -> bool:
    """Whether another process trains in a directory. To know it of one on another machine takes some seconds."""
    path = directory / FILE
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return _flock(file) is False or _is_held(file, path)
    finally:
        os.close(file)


def check_free(directory: Path) -> None:
    """Raise an InputError if a process of this machine trains in a directory. One elsewhere is found by `locked`."""
    if os.environ.get("RANK", "0") != "0":  # under torchrun the first process holds the lock for all
        return
    path = directory / FILE
    with suppress(FileNotFoundError, PermissionError):
        file = os.open(path, os.O_RDWR)
        try:
            if _flock(file) is False:
                raise _in_use(path)
        finally:
            os.close(file)


@contextmanager
def _locked(path: Path) -> Iterator[Lock]:
    """Hold a lock file. Its directory is created if needed, and removed at the end if it is new and still empty."""
    created = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file = _open_locked(path)
        try:
            lock = Lock(path, _take_over(file, path))
            try:
                yield lock
            finally:
                lock.end()
        finally:
            os.close(file)
    finally:
        if created:
            with suppress(OSError):  # it is not empty
                path.parent.rmdir()


def _open_locked(path: Path) -> int:
    """Open and lock the file. Return its descriptor."""
    for _ in range(ATTEMPTS):
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        with suppress(OSError):
            # A process that ended has removed its file, perhaps after it was opened here.
            if _flock(file) is not False and os.path.samestat(os.fstat(file), path.stat()):
                return file
        os.close(file)
        time.sleep(PAUSE)
    raise _in_use(path)


def _take_over(file: int, path: Path) -> Holder:
    """Write this process into a locked file, unless one that gives signs of life stands there."""
    if _is_held(file, path):
        raise _in_use(path)
    mine = Holder()
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, json.dumps(asdict(mine)).encode(), 0)
    except OSError as error:  # such as a full disk
        path.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error
    return mine


def _is_held(file: int, path: Path) -> bool:
    """Whether a process that lives stands in a file that no other process of this machine has locked."""
    holder = _read(path)
    # Without flock, and for a process of another machine, the lock of the file proves nothing.
    known = _flock(file) is True and holder is not None and holder.machine == _this_machine()
    return os.fstat(file).st_size > 0 and not known and _is_alive(path)


def _is_alive(path: Path) -> bool:
    """Watch for signs of life of the process that holds the lock."""
    try:
        seen, deadline = _sign(path), time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            time.sleep(min(BEAT, PATIENCE) / 4)
            if _sign(path) != seen:
                return True
    except FileNotFoundError:  # it ended just now
        return True
    return False


def _sign(path: Path) -> tuple[int, bytes]:
    """What changes with each sign of life. A network file system looks at the server when a file is opened."""
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_mtime_ns, file.read()


def _flock(file: int) -> bool | None:
    """Lock a file until it is closed. Returns False if another process has locked it, None if there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def _read(path: Path) -> Holder | None:
    """The process that holds a lock; None if the file does not tell."""
    try:
        values = json.loads(path.read_bytes())
        return Holder(**{of.name: values[of.name] for of in fields(Holder)})
    except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _in_use(path: Path) -> InputError:
    what, does = (path.parent, "trains in it") if path.name == FILE else (path.with_suffix(""), "writes it")
    return InputError(f"{what} {IN_USE}, but {_who(_read(path))} {does}; wait for it or stop it")


def _who(holder: Holder | None) -> str:
    if holder is None:
        return "another process"
    return f"process {holder.process} on {holder.host}, which began at {holder.since},"
