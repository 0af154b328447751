"""The columns of all progress bars. Counts and times are never cut: in a narrow terminal the bar itself shrinks."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

LEAST, MOST = 8, 40  # columns of the bar itself
NAME = 20  # columns of a description, which may be cut
TIME = len("0:00:00")


def bar_columns(before: str = "{task.description}", *after: str, elapsed: bool = False) -> list[ProgressColumn]:
    """The columns of a progress bar: a text, the bar, the counts, the time left, and further texts.

    Args:
        before: Text before the bar. More than 20 characters are cut.
        after: Texts after the times. They must be short enough, see :func:`fitting`.
        elapsed: Whether to show the time since the start too.
    """
    times = [TimeElapsedColumn, TimeRemainingColumn] if elapsed else [TimeRemainingColumn]
    return [
        TextColumn(before, table_column=Column(no_wrap=True, overflow="ellipsis", max_width=NAME)),
        BarColumn(bar_width=None, table_column=Column(min_width=LEAST, max_width=MOST)),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        *(time(table_column=Column(no_wrap=True)) for time in times),
        *(TextColumn(text, table_column=Column(no_wrap=True)) for text in after),
    ]


@contextmanager
def gone_after_errors(bar: Progress) -> Iterator[None]:
    """If the block fails before anything was done, remove the bar. Use it within ``with bar``.

    Args:
        bar: The progress bar.
    """
    try:
        yield
    except Exception:
        bar.live.transient = not any(task.completed for task in bar.tasks)
        raise


def fitting(parts: Sequence[str], before: str, counts: str, console: Console) -> str:
    """As many of the texts, from the first, as fit behind a bar of :func:`bar_columns`.

    Args:
        parts: The texts, the most important one first.
        before: Text before the bar.
        counts: Text of the counts, such as "12/100".
        console: Where the bar is shown.
    """
    room = console.width - len(before) - LEAST - len(counts) - TIME - 4  # a blank between two columns
    text = ""
    for part in parts:
        longer = f"{text}  {part}" if text else part
        if len(longer) > room:
            break
        text = longer
    return text
