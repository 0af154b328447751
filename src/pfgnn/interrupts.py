"""Ctrl-C, the signals that end a process, and a limit of time, held back while work must not be interrupted."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from pfgnn.errors import InputError

# SIGHUP, which Windows does not have, comes when a terminal is closed.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
SHOW_CURSOR = "\x1b[?25h"  # a progress bar hides it
ALARM = (signal.SIGALRM,) if hasattr(signal, "SIGALRM") else ()  # comes when a time is up; not on Windows
AGAIN = 1.0  # seconds after which an alarm comes again if the exception of the first one got lost
SOONEST = 0.001  # seconds; an alarm in 0 seconds would be none
REPEATED = 1.0  # seconds in which a second signal is a copy of the first: a terminal and torchrun both send one


class Stopped(KeyboardInterrupt):
    """A signal asked the process to stop.

    Args:
        number: Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Stop:
    """A signal handler that raises :class:`Stopped`. While something is imported, it ends the process at once instead.

    An exception in the middle of an import may get lost: C code and callbacks of weak references drop it, or turn it
    into another one.

    Args:
        say: Called with the number of the signal before the process ends at once, to print its last words.
        at_once: Whether to end the process at once in any case.
    """

    def __init__(self, say: Callable[[int], None], at_once: bool = False) -> None:
        self.say, self.at_once = say, at_once

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if not self.at_once and not _importing(frame):
            raise Stopped(number)
        if sys.stdout.isatty():
            sys.stdout.write(SHOW_CURSOR)
        sys.stdout.flush()
        self.say(number)
        os._exit(128 + number)


@contextmanager
def handled(stop: Stop, *numbers: int) -> Iterator[None]:
    """Let a handler take signals. A signal that is ignored, or that others handle, stays so.

    Args:
        stop: The handler.
        numbers: Numbers of the signals.
    """
    before = {number: signal.getsignal(number) for number in numbers if _in_main_thread()}
    replaced = {n: handler for n, handler in before.items() if handler == signal.SIG_DFL or _interrupts(handler)}
    for number in replaced:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)


class _TimeUp(Stop):
    """A signal handler that raises :class:`Stopped` when a time is up, after the import that is going on, if any."""

    def __init__(self) -> None:
        super().__init__(lambda number: None)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the alarm."""
        _set_alarm(AGAIN)
        if not _importing(frame):
            raise Stopped(number)


@contextmanager
def time_limit(seconds: float) -> Iterator[Callable[[float], None]]:
    """Raise :class:`Stopped` with the number of SIGALRM in the block when a time is up. It is held back as Ctrl-C is.

    Yields a function that sets another limit, counted in seconds from its call. Use it in the main thread.

    Args:
        seconds: The limit; infinite for none.
    """
    if math.isinf(seconds):
        yield lambda seconds: None
        return
    if not _in_main_thread() or not ALARM or signal.getsignal(*ALARM) != signal.SIG_DFL:
        raise InputError("a limit of time must be set in the main thread, where SIGALRM exists and nobody else uses it")
    with handled(_TimeUp(), *ALARM):
        try:
            _set_alarm(seconds)
            yield _set_alarm
        finally:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0)
            finally:  # an alarm in the line above sets the next one, which would end the process
                signal.setitimer(signal.ITIMER_REAL, 0)


def _set_alarm(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, max(seconds, SOONEST))


@contextmanager
def blocked() -> Iterator[None]:
    """Hold back Ctrl-C while processes are started. They never get it: the process that started them ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing.resource_tracker import ensure_running  # not needed by most commands

    ensure_running()  # multiprocessing would start it with the first process, and unblock Ctrl-C after that
    came: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    held = _in_main_thread() and _interrupts(handler)
    if held:  # another thread may get the signal, and Python would handle it here
        signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if held:
            signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


class Interrupts:
    """Holds back Ctrl-C and other signals that would raise a KeyboardInterrupt.

    Attributes:
        pending: Number of a signal that was held back, or None.
    """

    def __init__(self) -> None:
        self.pending: int | None = None
        self._since = 0.0
        self._held = False

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Hold signals back. At its end, one that came raises :class:`Stopped`, unless the work raised an error.

        Another signal, at least one second after the first one, is not held back.
        """
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING, *ALARM)}
        replaced = {n: handler for n, handler in handlers.items() if _in_main_thread() and _interrupts(handler)}
        self.pending, self._held = None, True
        for number in replaced:
            signal.signal(number, self._note)
        try:
            yield
        finally:
            for number, handler in replaced.items():
                signal.signal(number, handler)
        if self.pending is not None:
            raise Stopped(self.pending)

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Within :meth:`held_back`, let signals raise :class:`Stopped` at once, also one that came before."""
        self._held = False
        try:
            if self.pending is not None:
                raise Stopped(self.pending)
            yield
        finally:
            self._held = True

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        first = self.pending is None
        if first:
            self.pending, self._since = number, now
        if not self._held or (not first and now - self._since > REPEATED):
            raise Stopped(number)


def _in_main_thread() -> bool:
    """Whether this is the main thread. Only there can a handler be set."""
    return threading.current_thread() is threading.main_thread()


def _interrupts(handler: object) -> bool:
    """Whether a signal handler raises a KeyboardInterrupt."""
    return handler is signal.default_int_handler or isinstance(handler, Stop)


def _importing(frame: FrameType | None) -> bool:
    """Whether a frame belongs to an import: Python's own code for imports has called it."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
