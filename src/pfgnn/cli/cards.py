"""The commands cards and pack: models that come with pfgnn, and how one is made from a run."""

from pathlib import Path
from typing import Annotated

import typer

from pfgnn.cli.console import Json, console, make_table, print_json
from pfgnn.cli.options import Directory

LIMITS = "meant for graphs like those of the training data; nothing is known of others"


def cards(
    name: Annotated[str | None, typer.Argument(help="Model whose card is printed; by default all are listed.")] = None,
    json: Json = False,
) -> None:
    """List the trained models that come with pfgnn, or print the card of one."""
    from pfgnn.experiments.pretrained import CARD, card_limits, card_summary, pretrained_folder, pretrained_models

    if name is not None:
        text = (pretrained_folder(name) / CARD).read_text(encoding="utf-8")
        if json:
            print_json({"name": name, "card": text})
            return
        console.print(text, markup=False, highlight=False, soft_wrap=True, end="")
        return
    models = pretrained_models()
    if json:
        about = {known: (card_summary(folder), card_limits(folder)) for known, folder in models.items()}
        print_json([{"name": known, "about": what, "limits": limits} for known, (what, limits) in about.items()])
        return
    if not models:
        console.print("No trained model comes with this version of pfgnn. `pfgnn pack` makes one from a run.")
        return
    table = make_table("model", "what it is", "limits")
    for known, folder in models.items():
        table.add_row(known, card_summary(folder), card_limits(folder))
    console.print(table)
    console.print("`pfgnn predict NAME FILE` predicts with one, `pfgnn cards NAME` prints its card.", markup=False)


def pack(
    directory: Directory,
    out: Annotated[Path, typer.Argument(help="Folder to write. Its name is the name of the model.")],
    licence: Annotated[str, typer.Option(help="Licence of the weights; goes onto the card.")],
    limits: Annotated[str, typer.Option(help="What the model is not meant for; goes onto the card.")] = LIMITS,
    full: Annotated[bool, typer.Option("--full", help="Store the parameters as float32, not float16.")] = False,
) -> None:
    """Pack a finished run for others: the weights without the optimiser, the config, the record and a model card."""
    from pfgnn.experiments.packing import pack_run

    pack_run(directory, out, licence=licence, limits=limits, half=not full)
    size = sum(path.stat().st_size for path in out.iterdir()) / 2**20
    console.print(f"Wrote {out}, {size:.1f} MiB. Read {out}/card.md, and complete it.", markup=False, soft_wrap=True)
