"""Tests of the processes that share work."""

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pfgnn.errors import InputError, WorkerError
from pfgnn.workers import available_cores, ordered_map

# It prints the process ids of its workers, which sleep, and waits for them.
SLEEPY = """
import multiprocessing, signal, threading, time
from pfgnn.workers import ordered_map

def tell():
    while len(multiprocessing.active_children()) < 2:
        time.sleep(0.01)
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
    threading.Thread(target=tell).start()
    list(ordered_map(time.sleep, [600.0, 600.0], 2))
"""
UNGUARDED = "import math\nfrom pfgnn.workers import ordered_map\nprint(list(ordered_map(math.sqrt, [1, 4, 9], 2)))\n"


def refuse(number: int) -> int:
    if number == 5:
        raise InputError(f"number must not be 5, but it is {number}")
    return number


class Awkward(Exception):
    """It cannot be unpickled."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def raise_awkward(number: int) -> int:
    raise Awkward(number, number)


def return_function(number: int) -> Callable[[], int]:
    return lambda: number


def numbers_and_a_fault(count: int) -> Iterator[int]:
    yield from range(count)
    raise InputError("the file ends too early")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_come_in_order(processes: int) -> None:
    squares = [number**2 for number in range(20)]
    assert list(ordered_map(math.isqrt, squares, processes)) == list(range(20))


def test_a_slow_piece_keeps_its_place() -> None:
    assert list(ordered_map(time.sleep, [0.3, 0, 0, 0], 2)) == [None] * 4


def test_pieces_larger_than_a_pipe_go_both_ways() -> None:
    pieces = [bytes([number]) * 2_000_000 for number in range(8)]
    assert list(ordered_map(bytes, pieces, 2)) == pieces


@pytest.mark.parametrize("processes", [1, 2])
def test_only_a_few_pieces_are_taken_ahead(processes: int) -> None:
    taken = 0

    def pieces() -> Iterator[int]:
        nonlocal taken
        for number in range(50):
            taken += 1
            yield number

    for given, _ in enumerate(ordered_map(math.sqrt, pieces(), processes, ahead=2), start=1):
        assert taken - given <= 2 * processes
    assert taken == 50


def collect(results: Iterator[int], given: list[int]) -> None:
    for result in results:
        given.append(result)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_comes_as_itself_after_the_results_before_it(processes: int) -> None:
    given: list[int] = []
    with pytest.raises(InputError, match=r"^number must not be 5, but it is 5$"):
        collect(ordered_map(refuse, range(20), processes), given)
    assert given == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_a_fault_of_the_pieces_comes_after_the_results_before_it(count: int, processes: int) -> None:
    given: list[int] = []
    with pytest.raises(InputError, match=r"^the file ends too early$"):
        collect(ordered_map(math.isqrt, numbers_and_a_fault(count), processes), given)
    assert len(given) == count


def test_the_cause_of_an_error_is_its_traceback() -> None:
    with pytest.raises(InputError) as caught:
        list(ordered_map(refuse, [1, 5], 2))
    assert "in refuse" in str(caught.value.__cause__)


def test_what_cannot_be_sent_becomes_an_error() -> None:
    with pytest.raises(RuntimeError, match="Awkward: 1 and 1"):
        list(ordered_map(raise_awkward, [1, 2], 2))
    with pytest.raises(Exception, match="return_function"):
        list(ordered_map(return_function, [1, 2], 2))


def test_an_error_that_is_returned_is_a_result() -> None:
    assert [str(result) for result in ordered_map(ValueError, ["a", "b"], 2)] == ["a", "b"]


@pytest.mark.parametrize(
    ("function", "piece", "message"),
    [
        (os._exit, 7, "^a process ended with exit status 7; take one process, or if this is a script, .*$"),
        (
            signal.raise_signal,
            signal.SIGKILL,
            "^a process was killed by signal 9, perhaps for lack of memory; take fewer processes$",
        ),
    ],
)
def test_a_process_that_dies_gives_one_sentence(function: Callable[[int], None], piece: int, message: str) -> None:
    with pytest.raises(WorkerError, match=message):
        list(ordered_map(function, [piece, piece], 2))
    assert multiprocessing.active_children() == []


def test_closing_ends_the_processes() -> None:
    results = ordered_map(time.sleep, [0, 600, 600, 600], 2)
    next(results)
    assert len(multiprocessing.active_children()) == 2
    results.close()
    assert multiprocessing.active_children() == []


def test_no_process_is_started_without_need(monkeypatch: pytest.MonkeyPatch) -> None:
    def pid(piece: object) -> int:  # a function that cannot be sent
        return os.getpid()

    assert list(ordered_map(pid, [], 2)) == []
    assert list(ordered_map(pid, [0], 2)) == [os.getpid()]
    assert list(ordered_map(pid, [0] * 3, 1)) == [os.getpid()] * 3
    monkeypatch.setattr(multiprocessing.current_process(), "_config", {"daemon": True})
    assert list(ordered_map(pid, [0] * 3, 2)) == [os.getpid()] * 3


@pytest.mark.parametrize("processes", [0, 257])
def test_the_number_of_processes_is_checked_at_once(processes: int) -> None:
    with pytest.raises(InputError, match=rf"^processes must be at .*, but it is {processes}$"):
        ordered_map(math.sqrt, [], processes)


def test_cores() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no /proc to look for processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_first_one(tmp_path: Path, number: int) -> None:
    script = tmp_path / "sleepy.py"
    script.write_text(SLEEPY)
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        workers = [int(pid) for pid in process.stdout.readline().split()]
        assert len(workers) == 2
        process.send_signal(number)
        process.wait(30)
        end = time.monotonic() + 30
        while any(map(is_running, workers)) and time.monotonic() < end:
            time.sleep(0.01)
        assert not any(map(is_running, workers))
        assert process.stderr.read().count("Traceback") == (number == signal.SIGINT)  # that of the first process


def test_ctrl_c_in_a_terminal_reaches_the_first_process_alone(tmp_path: Path) -> None:
    script = tmp_path / "sleepy.py"
    script.write_text(SLEEPY)
    command = [sys.executable, str(script)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        process.wait(30)
        assert process.stderr.read().count("Traceback") == 1


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'put what it does under `if __name__ == "__main__":`' in done.stderr
