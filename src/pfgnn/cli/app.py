"""The command line put together. What is wrong is said in one sentence, with exit status 2."""

import sys

import typer

import pfgnn
from pfgnn.cli import data
from pfgnn.cli.console import errors
from pfgnn.cli.demo import demo
from pfgnn.cli.inspect import inspect
from pfgnn.cli.results import curves, report, reproduce, tables
from pfgnn.cli.train import evaluate, predict, train

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True, help=pfgnn.__doc__)
app.add_typer(data.app, name="data")
for command in (train, evaluate, predict, tables, reproduce, report, curves, demo, inspect):
    app.command()(command)


def main() -> None:
    """Run the command line; wrong input ends with one sentence and status 2, never with a traceback."""
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, ArithmeticError, MemoryError) as error:
        wrong = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        errors.print("pfgnn:", str(wrong), style="red", markup=False, highlight=False)
        sys.exit(2)
