"""The exact search of `pfgnn inspect`, in a process of its own that is stopped when it takes too long.

A hard graph can take longer than anyone waits, and nauty, which is compiled, cannot be interrupted from Python.
"""

import hashlib
import multiprocessing
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Literal, NamedTuple, Self

import numpy as np

from pfgnn.graphs.canonical import symmetry
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.refinement import colouring_certificate, refine
from pfgnn.interrupts import blocked

Missing = Literal["time", "died"]


class Found(NamedTuple):
    """What was found about a graph. What was not found is None.

    Fields:
        colours: Number of colours of 1-WL.
        wl_certificate: Bytes that are equal for graphs that 1-WL cannot tell apart.
        orbits: Number of orbits of the nodes.
        automorphisms: Number of automorphisms.
        certificate: Bytes that are equal for isomorphic graphs.
        labelling: The canonical labelling: the number of each node in the canonical form.
        moves: Automorphisms that generate the group, each as the vertices that it moves, and their images.
        missing: Why something was not found: the time was over, or the process of the search died; else None.
    """

    colours: int | None = None
    wl_certificate: bytes | None = None
    orbits: int | None = None
    automorphisms: int | None = None
    certificate: bytes | None = None
    labelling: tuple[int, ...] | None = None
    moves: tuple[tuple[list[int], list[int]], ...] | None = None
    missing: Missing | None = None


def why_missing(missing: Missing) -> str:
    """Why something was not found, as the end of a sentence."""
    if missing == "time":
        return "the exact search took too long"
    return "the process of the exact search died, perhaps for lack of memory"


def are_isomorphic(left: Graph, right: Graph, one: Found, other: Found) -> bool | None:
    """Whether two graphs are isomorphic; None if what was found does not tell.

    Args:
        left: A graph.
        right: The other one.
        one: What was found about ``left``.
        other: What was found about ``right``.
    """
    if one.certificate is not None and other.certificate is not None:
        return one.certificate == other.certificate
    same_size = (left.num_nodes, left.num_edges) == (right.num_nodes, right.num_edges)
    by_wl = {one.wl_certificate, other.wl_certificate} - {None}
    return None if same_size and len(by_wl) < 2 else False


def search_here(graph: Graph) -> Found:
    """Search a graph in this process, for as long as it takes."""
    return _exactly(graph, _by_wl(graph))


class Searcher:
    """Searches graphs in another process, each for a limited time. Use it in a ``with`` statement.

    Args:
        seconds: Time for one graph.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.process: multiprocessing.process.BaseProcess | None = None
        self.connection: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def __call__(self, graph: Graph) -> Found:
        """What is found about a graph in time."""
        if multiprocessing.current_process().daemon:  # it may not start processes
            return search_here(graph)
        found = Found()
        missing: Missing | None = None
        try:
            connection = self._start()
            connection.send(graph)
            end = time.monotonic() + self.seconds
            for _ in range(2):  # first what 1-WL says, then all
                if not connection.poll(max(0.0, end - time.monotonic())):
                    missing = "time"
                    break
                answer = connection.recv()
                if isinstance(answer, Exception):
                    raise answer
                found = answer
        except (EOFError, ConnectionError):  # such as for lack of memory
            missing = "died"
        if missing is None:
            return found
        self._stop()
        return found._replace(missing=missing)

    def _start(self) -> Connection:
        if self.connection is None:
            spawn = multiprocessing.get_context("spawn")
            ours, theirs = spawn.Pipe()
            process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
            with blocked():
                process.start()
            self.process, self.connection = process, ours
            theirs.close()
            ours.recv()  # it is ready; the time for its imports does not count
        return self.connection

    def _stop(self) -> None:
        if self.process is not None and self.connection is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
        self.process = self.connection = None


def _serve(connection: Connection) -> None:
    """Search the graphs that come in, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for Windows, where it cannot be blocked
    connection.send(None)
    with suppress(EOFError, ConnectionError):
        while True:
            graph = connection.recv()
            try:
                found = _by_wl(graph)
                connection.send(found)
                connection.send(_exactly(graph, found))
            except Exception as error:
                connection.send(error)


def _by_wl(graph: Graph) -> Found:
    colours = refine(graph)
    return Found(len(np.unique(colours)), _digest(colouring_certificate(graph, colours)))


def _exactly(graph: Graph, found: Found) -> Found:
    exact = symmetry(graph)
    form = graph.relabel(exact.labelling)
    return Found(
        found.colours,
        found.wl_certificate,
        len(np.unique(exact.orbits)),
        exact.group_order,
        _digest(form.to_bytes()),
        tuple(exact.labelling.tolist()),
        tuple((move.vertices.tolist(), move.images.tolist()) for move in exact.moves),
    )


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
