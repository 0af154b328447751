"""A function over a stream of pieces in several processes: results in order, and memory for a few pieces only."""

import multiprocessing
import os
import pickle
import queue
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, NamedTuple, TypeVar

from pfgnn.argument_checks import check_positive
from pfgnn.errors import WorkerError
from pfgnn.interrupts import blocked

MOST_PROCESSES = 256  # more than any machine needs

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def available_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ordered_map(
    function: Callable[[Piece], Result], pieces: Iterable[Piece], processes: int, ahead: int = 2
) -> Generator[Result, None, None]:
    """``map(function, pieces)`` in several processes. The results come in the order of the pieces.

    An exception of the function, or of the iterator of pieces, reaches the caller when its turn comes, after all
    results before it. So errors do not depend on the number of processes. A process that dies gives a WorkerError.

    The processes end with the generator: when it is exhausted, closed or stopped by an exception. They also end when
    this process is killed. They may be killed at any time, so the function should not write files.

    With one process, with fewer than two pieces, and in a daemon, which may not start processes, the function runs in
    this process.

    Args:
        function: A function of a module, or a ``functools.partial`` of one. The processes are spawned, so a script
            needs an ``if __name__ == "__main__"`` guard.
        pieces: The pieces, each large enough to be worth its way to another process. They are taken one by one.
        processes: Number of processes.
        ahead: Number of pieces for each process that are taken before their results are asked for.
    """
    check_positive("processes", processes, most=MOST_PROCESSES)
    check_positive("ahead", ahead)
    return _map(function, iter(pieces), processes, processes * ahead)


def _map(
    function: Callable[[Piece], Result], pieces: Iterator[Piece], processes: int, window: int
) -> Generator[Result, None, None]:
    if processes > 1 and not multiprocessing.current_process().daemon:
        first, fault = _take(pieces, 2)
        pieces = chain(first, _fail(fault) if fault else pieces)
        if len(first) > 1:
            yield from _spread(function, pieces, processes, window)
            return
    yield from map(function, pieces)


def _take(pieces: Iterator[Piece], most: int) -> tuple[list[Piece], Exception | None]:
    """The next pieces, and what the iterator raised after them."""
    taken: list[Piece] = []
    try:
        taken.extend(islice(pieces, most))
    except Exception as error:
        return taken, error
    return taken, None


def _fail(error: Exception) -> Iterator[Any]:
    yield from ()
    raise error


def _spread(
    function: Callable[[Piece], Result], pieces: Iterator[Piece], processes: int, window: int
) -> Generator[Result, None, None]:
    workers: list[_Worker[Piece, Result]] = []
    results: dict[int, _Answer[Result]] = {}  # those that came, and whose turn has not come
    sent = given = 0
    fault: Exception | None = None  # what the iterator of pieces raised
    more = True
    try:
        while True:
            while more and sent - given < window:
                taken, fault = _take(pieces, 1)
                more = bool(taken)
                for piece in taken:
                    if len(workers) < processes and all(worker.pending for worker in workers):
                        workers.append(_Worker(function))
                    min(workers, key=lambda worker: worker.pending).send(sent, piece)
                    sent += 1
            if given == sent:
                break
            if given in results:
                answer = results.pop(given)
                if answer.error is not None:
                    raise answer.error from _InProcess(answer.trace)
                given += 1
                yield answer.result
            else:
                ready = wait([worker.connection for worker in workers])
                for worker in workers:
                    if worker.connection in ready:
                        number, answer = worker.receive()
                        results[number] = answer
    finally:
        for worker in workers:
            worker.kill()
    if fault is not None:
        raise fault


class _Answer(NamedTuple, Generic[Result]):
    """What a function returned, or what it raised, with the traceback as text."""

    result: Result
    error: Exception | None = None
    trace: str = ""


class _InProcess(Exception):
    """The cause of an error that another process raised. Its text is the traceback there."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class _Worker(Generic[Piece, Result]):
    """A process that applies a function to the pieces that it is sent.

    Attributes:
        connection: Pieces go in and results come out here.
        pending: Number of pieces whose results have not come.
    """

    def __init__(self, function: Callable[[Piece], Result]) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.connection, theirs = spawn.Pipe()
        self.process: BaseProcess = spawn.Process(target=_serve, args=(function, theirs), daemon=True)
        with blocked(), theirs:
            self.process.start()
        self.pending = 0

    def send(self, number: int, piece: Piece) -> None:
        try:
            self.connection.send((number, piece))
        except ConnectionError:
            raise self._death() from None
        self.pending += 1

    def receive(self) -> tuple[int, _Answer[Result]]:
        try:
            number, answer = self.connection.recv()
        except (EOFError, ConnectionError):
            raise self._death() from None
        self.pending -= 1
        return number, answer

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()

    def _death(self) -> WorkerError:
        self.process.join()
        status = self.process.exitcode or 0
        if status < 0:
            return WorkerError(
                f"a process was killed by signal {-status}, perhaps for lack of memory; take fewer processes"
            )
        return WorkerError(
            f"a process ended with exit status {status}; take one process, or if this is a script, put what it does "
            'under `if __name__ == "__main__":`'
        )


def _serve(function: Callable[[Any], Any], connection: Connection) -> None:
    """The work of a process: apply the function to all pieces that come."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for Windows, where it cannot be blocked
    pieces: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()

    def receive() -> None:
        """Take pieces at once. So no process waits to send while the other one waits to send too."""
        with suppress(EOFError, ConnectionError):
            while True:
                pieces.put(connection.recv())
        os._exit(0)  # the first process has died or closed its end

    threading.Thread(target=receive, daemon=True).start()
    while True:
        number, piece = pieces.get()
        try:
            connection.send((number, _Answer(function(piece))))
        except Exception as error:  # of the function, or since the result cannot be sent
            connection.send((number, _Answer(None, _portable(error), traceback.format_exc())))


def _portable(error: Exception) -> Exception:
    """The error, or if it cannot be sent, an error with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its constructor or its content does
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
