"""Options and arguments that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Device = Annotated[str, typer.Option(help="cpu, cuda, auto, or one of several GPUs, such as cuda:1.")]
Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        help="Module with a backbone of your own that the config names, such as my_package.my_module. It is imported, "
        "so its code runs. Repeatable.",
    ),
]
Directory = Annotated[Path, typer.Argument(help="Run directory of `pfgnn train`, or model folder of `pfgnn fit`.")]
Model = Annotated[
    Path, typer.Argument(help="Folder that `pfgnn fit` or `pfgnn train` wrote, or model that `pfgnn cards` lists.")
]
Results = Annotated[Path, typer.Option(help="Folder of the records, TABLE/ROW.json.")]
Runs = Annotated[Path, typer.Option(help="Folder of the run directories.")]
Root = Annotated[Path | None, typer.Option(help="Folder to search for datasets before all others.")]
SmilesColumn = Annotated[
    str | None, typer.Option(help="CSV: name of the column of SMILES. By default the one that looks like it.")
]
Targets = Annotated[
    list[str] | None, typer.Option(help="CSV: name of a target column. Needed if several can be. Repeatable.")
]
LabelFile = Annotated[Path | None, typer.Option(help="graph6 and SMILES: file of the labels, one per line.")]
SplitColumn = Annotated[str | None, typer.Option(help="CSV: name of the column that says train, validation or test.")]
Features = Annotated[str, typer.Option(help="Set of features of molecules: ogb, zinc or qm9.")]
Task = Annotated[str | None, typer.Option(help="classification or regression. By default the targets decide.")]
OnError = Annotated[str, typer.Option(help="What to do with a line that cannot be read: fail or skip.")]
Processes = Annotated[int | None, typer.Option(min=1, help="Number of processes. By default all cores.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Change a setting, such as model.particles=16. Repeatable.")
]
Seconds = Annotated[float, typer.Option(min=0.1, max=1e6, help="Time for the exact search of one graph.")]
