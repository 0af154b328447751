"""The command explore."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import console, errors, say
from pfgnn.cli.options import Imports, Seconds
from pfgnn.cli.threads import use_threads
from pfgnn.errors import InputError, counted
from pfgnn.files import check_writable


def explore(
    path: Annotated[Path, typer.Argument(help="File of graph6 or sparse6 (.g6, .s6) or SMILES (.smi, .smiles).")],
    out: Annotated[Path, typer.Option(help="Page to write (.html).")] = Path("explore.html"),
    run: Annotated[Path | None, typer.Option(help="Run directory or pretrained model: show its particles.")] = None,
    graphs: Annotated[int, typer.Option(min=1, max=1000, help="Number of graphs to show, from the first.")] = 50,
    seconds: Seconds = 10,
    imports: Imports = None,
) -> None:
    """Write a page in which one walks the search trees of graphs. It is one file and works without a network.

    Graphs and vertices are counted from 0.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"out must end in .html, but it is {out}")
    from pfgnn.experiments.run_directory import check_not_own

    check_not_own(out)
    check_writable(out)
    if run is not None:
        from pfgnn.experiments.pretrained import find_model
        from pfgnn.experiments.run_directory import read_record

        model = find_model(run)
        read_record(model)  # raises at once if there is no finished run
    from pfgnn.report.exact_search import Searcher
    from pfgnn.report.explore import Shown, reads_hydrogens, walk_all, write_page
    from pfgnn.report.explore_input import read_samples

    path.stat()  # raises at once if there is no such file
    trained = None
    if run is not None:
        use_threads(None)
        from pfgnn.experiments.backbones import import_trusted
        from pfgnn.experiments.predict import load_run

        import_trusted(imports or [])
        trained = load_run(model, "cpu")
    samples, note = read_samples(path, graphs, trained is not None and reads_hydrogens(trained))
    shown_on = console if console.is_terminal else errors
    with (
        Progress(*bar_columns("searching"), console=shown_on, transient=True, disable=not shown_on.is_terminal) as bar,
        Searcher(seconds) as search,
    ):
        task = bar.add_task("", total=len(samples))
        pages = []
        for sample in samples:
            pages.append(Shown(sample, search(sample.graph)))
            bar.advance(task)
    if trained is not None:
        walks = walk_all(trained, samples)
        pages = [page._replace(walked=walked) for page, walked in zip(pages, walks, strict=True)]
    source = f"{counted(len(samples), 'graph')} of {path.name}. {note}" if note else f"The graphs of {path.name}."
    write_page(out, source, pages, None if run is None else str(run))
    said = f"Wrote {out} with {counted(len(samples), 'graph')}; open it in a browser. {note}"
    say(said.strip())
