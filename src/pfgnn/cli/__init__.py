"""The command line: one module for each group of commands, put together in `app`."""

from pfgnn.cli.app import main

__all__ = ["main"]
