"""The consoles that the commands print to: one for their output, one for errors."""

from rich.console import Console

console = Console(emoji=False)  # a name such as :x: stays as it is
errors = Console(stderr=True, soft_wrap=True, emoji=False)
