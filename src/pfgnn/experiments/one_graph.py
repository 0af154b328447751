"""One graph for a finished run, from a text or from a file."""

import os
from pathlib import Path
from typing import NamedTuple

from pfgnn.argument_checks import check_positive
from pfgnn.data.dataset import Dataset
from pfgnn.data.smiles_column import choose_smiles
from pfgnn.data.table_file import SMILES, TABLES, open_table
from pfgnn.errors import InputError, shown
from pfgnn.experiments.given_graphs import pack_graphs
from pfgnn.experiments.needs import Needs
from pfgnn.experiments.new_graphs import GRAPH6, JSON, open_source
from pfgnn.files import ending
from pfgnn.graphs.graph6 import GRAPH6_HEADER, SPARSE6_HEADER, from_line


class OneGraph(NamedTuple):
    """A graph that was prepared for a model.

    Fields:
        dataset: A dataset of this graph.
        smiles: The molecule; None if the graph was not given as SMILES.
        outside: Why it is unlike all training graphs; "" if it is not, or if these are not known.
    """

    dataset: Dataset
    smiles: str | None
    outside: str


def read_one_graph(text: str, needs: Needs, number: int = 0, smiles_column: str | None = None) -> OneGraph:
    """Read a graph from a file, or from a text if there is no such file.

    Args:
        text: Name of a file that :func:`pfgnn.experiments.new_graphs.open_source` can read. Otherwise a SMILES if the
            run was trained on molecules, or a graph in graph6 or sparse6.
        needs: What the run needs.
        number: Number of the graph in the file, from 0.
        smiles_column: Name of the column of SMILES in a table; None for the column that looks like it.
    """
    if os.path.exists(text) or ending(Path(text)) in (*GRAPH6, *JSON, *TABLES, *SMILES, ".pfgnn"):
        return _from_file(Path(text), needs, number, smiles_column)
    if number:
        raise InputError(f"the number of the graph must be 0 for a text, but it is {number}; no file {shown(text)}")
    molecule = needs.molecules is not None
    try:
        given = text if molecule else from_line(text.strip().removeprefix(GRAPH6_HEADER).removeprefix(SPARSE6_HEADER))
        dataset = pack_graphs([given], needs)
    except ValueError as error:
        what = "a SMILES" if molecule else "a graph in graph6 or sparse6"
        reason = str(error).removeprefix("item 0 of graphs cannot be used: ")
        raise InputError(f"graph must be a file or {what}, but no file is called {shown(text)}, and {reason}") from None
    [outside] = needs.outside(dataset) or [""]
    return OneGraph(needs.fit(dataset, "graph"), text if molecule else None, outside)


def _from_file(path: Path, needs: Needs, number: int, smiles_column: str | None) -> OneGraph:
    if ending(path) in (*TABLES, *SMILES):
        smiles_column = choose_smiles(open_table(path), smiles_column)
    source = open_source(path, needs, smiles_column, fail=False)
    check_positive("the number of the graph", number, least=0, most=source.total - 1)
    for piece in source.pieces(1):
        found = source.make(piece)
        place = number - found.first
        if place >= found.total:
            continue
        if found.dataset is None or place not in found.read:
            reject = found.rejects[sum(1 for i in range(place) if i not in found.read)]
            raise InputError(f"{path}, line {reject.line}: {reject.reason}")
        read = int(found.read.searchsorted(place))
        smiles = found.rows[place][source.columns.index(smiles_column)] if smiles_column else None
        return OneGraph(found.dataset.subset([read]), smiles, found.outside[read] if found.outside else "")
    raise AssertionError("the pieces hold all graphs of the file")
