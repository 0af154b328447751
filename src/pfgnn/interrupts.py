"""Ctrl-C and the signals that end a process, held back while work must not be interrupted."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# SIGHUP, which Windows does not have, comes when a terminal is closed.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
REPEATED = 1.0  # seconds in which a second signal is a copy of the first: a terminal and torchrun both send one


class Stopped(KeyboardInterrupt):
    """A signal asked the process to stop.

    Args:
        number: Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def stop(number: int, frame: FrameType | None = None) -> None:
    """Raise :class:`Stopped`. This is a signal handler."""
    raise Stopped(number)


@contextmanager
def ending_as_interrupts() -> Iterator[None]:
    """Let the signals that end a process raise :class:`Stopped`. A signal that has a handler or is ignored stays so."""
    replaced = [number for number in ENDING if _in_main_thread() and signal.getsignal(number) == signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


class Interrupts:
    """Holds back Ctrl-C and other signals that would raise a KeyboardInterrupt.

    Args:
        pending: Number of a signal that was held back, or None.
    """

    def __init__(self) -> None:
        self.pending: int | None = None
        self._since = 0.0
        self._held = False

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Hold signals back. At its end, one that came raises :class:`Stopped`, unless the work raised an error.

        A second signal, a second or more after the first, is not held back.
        """
        interrupting = (signal.default_int_handler, stop)
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
        replaced = {n: handler for n, handler in handlers.items() if _in_main_thread() and handler in interrupting}
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
