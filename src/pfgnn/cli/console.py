"""The consoles that the commands print to: one for their output, one for errors."""

from rich.console import Console

console = Console()
errors = Console(stderr=True, soft_wrap=True)
