"""The option --threads of the commands that compute."""

from typing import Annotated

import typer

MOST = 256  # more threads than any machine needs

Threads = Annotated[
    int | None, typer.Option(min=1, max=MOST, help="CPU threads; by default OMP_NUM_THREADS if it is set, else 1.")
]


def use_threads(threads: int | None) -> None:
    """Set the number of CPU threads. Call it after all checks, because torch takes seconds to import."""
    from pfgnn.training.devices import set_threads

    set_threads(threads)
