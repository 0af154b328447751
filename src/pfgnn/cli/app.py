"""The command line with all its commands, and its error messages."""

import sys
import traceback
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import pfgnn
from pfgnn.cli import data, say_stopped
from pfgnn.cli.bundle import bundle, unbundle
from pfgnn.cli.cards import cards, pack
from pfgnn.cli.compare import compare
from pfgnn.cli.configs import configs
from pfgnn.cli.console import console, errors, print_every_character, quiet_at_closed_pipe
from pfgnn.cli.demo import demo
from pfgnn.cli.diagnose import diagnose
from pfgnn.cli.explain import explain as explain_prediction
from pfgnn.cli.explore import explore
from pfgnn.cli.fit import fit
from pfgnn.cli.inspect import inspect
from pfgnn.cli.pairs import pairs
from pfgnn.cli.parts import parts
from pfgnn.cli.predict import predict
from pfgnn.cli.reproduce import reproduce
from pfgnn.cli.results import curves, report, tables
from pfgnn.cli.stopping import last_words
from pfgnn.cli.train import evaluate, train
from pfgnn.errors import explain, is_bug

WRONG_INPUT, BUG = 2, 1  # exit statuses


class Commands(TyperGroup):
    """All commands. A signal ends each one with a sentence; typer would end it without a word."""

    def invoke(self, *arguments: Any) -> Any:
        """Run a command."""
        with last_words(say_stopped):
            return super().invoke(*arguments)


app = typer.Typer(cls=Commands, pretty_exceptions_enable=False, no_args_is_help=True, help=pfgnn.__doc__)
app.add_typer(data.app, name="data")
COMMANDS = (
    fit,
    train,
    evaluate,
    predict,
    explain_prediction,
    tables,
    reproduce,
    bundle,
    unbundle,
    report,
    curves,
    demo,
    inspect,
    compare,
    pairs,
    diagnose,
    explore,
    parts,
    configs,
    cards,
    pack,
)
for command in COMMANDS:
    app.command()(command)


@dataclass
class Options:
    """The options that stand before the command."""

    debug: bool = False


def _print_version(asked: bool) -> None:
    if asked:
        console.print(f"pfgnn {pfgnn.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def read_options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Store the options for :func:`main`."""
    context.ensure_object(Options).debug = debug


def main() -> None:
    """Run the command line. Exits with status 2 and one sentence after wrong input, and with status 1 after a bug."""
    options = Options()
    for stream in (sys.stdout, sys.stderr):
        print_every_character(stream)
    try:
        with quiet_at_closed_pipe():
            app(obj=options)
    except Exception as error:
        if options.debug:
            traceback.print_exception(error)
        said = explain(error)
        if is_bug(error):
            said += ". `pfgnn --debug ...` shows where it happened. Please report it."
        errors.print("pfgnn:", said, style="red", markup=False, highlight=False)
        sys.exit(BUG if is_bug(error) else WRONG_INPUT)
