"""The command line. Each group of commands has a module, and `app` combines them."""

from pfgnn.cli.app import main

__all__ = ["main"]
