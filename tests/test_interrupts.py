"""Signals that wait until it is safe to stop."""

import contextlib
import importlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pfgnn import interrupts
from pfgnn.errors import InputError
from pfgnn.interrupts import ALARM, ENDING, Interrupts, Stop, Stopped, blocked, handled, time_limit

STOP = Stop(lambda number: None)


@pytest.fixture(autouse=True)
def _usual_handlers() -> Iterator[None]:
    """A shell's job in the background ignores Ctrl-C, and so would its tests."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def held_back(work: Callable[[Interrupts], None]) -> int | None:
    """Do work with signals held back; the signal that stopped it."""
    held = Interrupts()
    try:
        with held.held_back():
            work(held)
    except Stopped as stopped:
        return stopped.number
    return None


def test_a_signal_is_held_back_and_raised_at_the_end() -> None:
    done = []

    def work(held: Interrupts) -> None:
        signal.raise_signal(signal.SIGINT)
        done.append(held.pending)

    assert held_back(work) == signal.SIGINT
    assert done == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_the_work_comes_first() -> None:
    def work(held: Interrupts) -> None:
        signal.raise_signal(signal.SIGINT)
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        held_back(work)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_copy_of_the_signal_is_ignored_and_a_second_one_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []

    def work(held: Interrupts) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("after the copy")
        monkeypatch.setattr(interrupts, "REPEATED", -1.0)
        signal.raise_signal(signal.SIGINT)
        done.append("never")

    assert held_back(work) == signal.SIGINT
    assert done == ["after the copy"]


@pytest.mark.parametrize("before", [True, False])
def test_where_it_may_interrupt_it_does_and_what_follows_is_safe_again(before: bool) -> None:
    done = []

    def work(held: Interrupts) -> None:
        if before:
            signal.raise_signal(signal.SIGINT)
        try:
            with held.let_through():
                if not before:
                    signal.raise_signal(signal.SIGINT)
                done.append("never")
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)  # a copy of it, while the checkpoint is written
            done.append("saved")
            raise

    assert held_back(work) == signal.SIGINT
    assert done == ["saved"]


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_ending_signals_interrupt_and_are_held_back_too(number: signal.Signals) -> None:
    with handled(STOP, *ENDING):
        assert signal.getsignal(number) is STOP
        assert held_back(lambda held: signal.raise_signal(number)) == number
        with pytest.raises(Stopped):
            signal.raise_signal(number)
    assert signal.getsignal(number) == signal.SIG_DFL


def test_handlers_of_others_stay() -> None:
    came: list[int] = []

    def own(number: int, frame: object) -> None:
        came.append(number)

    signal.signal(signal.SIGTERM, own)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with handled(STOP, signal.SIGINT, *ENDING), Interrupts().held_back():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert came == [signal.SIGTERM]


def test_another_thread_leaves_all_handlers_alone() -> None:
    seen: list[object] = []

    def work() -> None:
        with handled(STOP, signal.SIGINT, *ENDING), Interrupts().held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_a_handler_takes_the_place_of_another_one_for_a_while() -> None:
    inner = Stop(lambda number: None)
    with handled(STOP, signal.SIGINT):
        with handled(inner, signal.SIGINT):
            assert signal.getsignal(signal.SIGINT) is inner
        assert signal.getsignal(signal.SIGINT) is STOP
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows cannot block signals")
def test_a_blocked_ctrl_c_comes_later_and_not_to_a_process_that_was_started_meanwhile() -> None:
    done = []
    child = "import signal; signal.raise_signal(signal.SIGINT); print('unharmed')"

    def work() -> None:
        with blocked():
            signal.raise_signal(signal.SIGINT)
            run = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True)
            done.append(run.stdout)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["unharmed\n"]


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows cannot block signals")
def test_a_ctrl_c_that_another_thread_gets_is_held_back_too() -> None:
    """Python handles it in the main thread, whichever thread gets it."""
    go, done = threading.Event(), []

    def send() -> None:
        go.wait()
        signal.raise_signal(signal.SIGINT)

    def work() -> None:
        thread = threading.Thread(target=send)
        thread.start()
        with blocked():
            go.set()
            thread.join()
            done.append("not disturbed")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["not disturbed"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows cannot block signals")
def test_the_first_process_of_multiprocessing_does_not_get_it_either() -> None:
    """Before its first process, multiprocessing starts another one, and unblocks Ctrl-C after that."""
    code = """
import multiprocessing, signal
from pfgnn.interrupts import blocked
child = multiprocessing.get_context("spawn").Process(target=signal.raise_signal, args=(signal.SIGINT,))
with blocked():
    child.start()
child.join()
print(child.exitcode)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


needs_alarm = pytest.mark.skipif(not ALARM, reason="Windows has no alarm")


@needs_alarm
def test_a_time_limit_stops_the_block() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(Stopped) as stopped, time_limit(0.01):
        time.sleep(100)
    assert stopped.value.number == signal.SIGALRM
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) == before


@needs_alarm
def test_a_time_limit_is_held_back_as_a_signal_is() -> None:
    done = []

    def work(held: Interrupts) -> None:
        while held.pending is None:
            time.sleep(0.001)
        done.append("saved")

    with time_limit(0.01):
        assert held_back(work) == signal.SIGALRM
    assert done == ["saved"]


@needs_alarm
def test_a_time_limit_can_be_set_again_and_comes_again_if_it_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "AGAIN", 0.5)
    with time_limit(100) as set_limit:
        with contextlib.suppress(Stopped):
            set_limit(-5.0)  # it is over: at once
            time.sleep(100)
        with pytest.raises(Stopped):
            time.sleep(100)


@needs_alarm
def test_an_import_is_not_disturbed_by_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import signal\nsignal.raise_signal(signal.SIGALRM)\nimported = True\n"
    (tmp_path / "too_late_to_import.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(interrupts, "AGAIN", 0.5)  # time to enter the next block, and to leave it
    with time_limit(100):
        importlib.import_module("too_late_to_import")
        with pytest.raises(Stopped):
            time.sleep(100)
    assert sys.modules.pop("too_late_to_import").imported


@needs_alarm
def test_a_time_limit_where_none_can_be_set_gets_a_sentence() -> None:
    said: list[str] = []

    def work() -> None:
        try:
            with time_limit(0.01):
                pass
        except InputError as error:
            said.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert said[0].startswith("a limit of time must be set in the main thread")
