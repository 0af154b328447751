"""The time that a command may take, and what it can still be used for."""

import math
from time import monotonic

from pfgnn.argument_checks import check_number
from pfgnn.errors import InputError

MOST_MINUTES = 10**6
WORTH = 3  # a run is started if the time left is this many times that of the slowest start


class Budget:
    """A time that begins now.

    A run that is stopped finishes its update and writes a checkpoint. A run that starts imports torch, loads its data,
    builds the model and reads a checkpoint, which takes longer. So the time of the slowest start so far is kept back
    for the end.

    Args:
        minutes: The time; None for no limit.
    """

    def __init__(self, minutes: float | None) -> None:
        if minutes is not None and not 0 < check_number("minutes", minutes) <= MOST_MINUTES:
            raise InputError(f"minutes must be more than 0 and at most {MOST_MINUTES}, but it is {minutes:g}")
        self.begun = monotonic()
        self.end = math.inf if minutes is None else self.begun + 60 * minutes
        self.slowest_start = 0.0

    def note_start(self, begun: float) -> None:
        """Note that a run, or the command itself, has started just now.

        Args:
            begun: When this start began, by ``time.monotonic``.
        """
        self.slowest_start = max(self.slowest_start, monotonic() - begun)

    def seconds(self) -> float:
        """Seconds until the runs must be stopped; infinite without a limit, and negative when the time is up."""
        return self.end - monotonic() - self.slowest_start

    def is_over(self) -> bool:
        """Whether the runs must be stopped."""
        return self.seconds() <= 0

    def is_worth_a_start(self) -> bool:
        """Whether a run that starts now works at least as long as it starts, before it is stopped."""
        return not self.is_over() and self.end - monotonic() >= WORTH * self.slowest_start
