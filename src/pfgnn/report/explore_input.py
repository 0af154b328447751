"""The graphs that `pfgnn explore` reads: their names, the texts on their vertices, and where the vertices are drawn."""

from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pfgnn.errors import InputError, counted, cut
from pfgnn.files import ending
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.smiles import graph_of_atoms, parse_smiles, rdkit_modules, smiles_lines
from pfgnn.report.inspection import MOLECULES, read_graphs
from pfgnn.report.layout import Points, in_unit_disc

MOST_VERTICES, MOST_EDGES = 200, 5000  # of a graph that is drawn
LONGEST_NAME = 60


class Sample(NamedTuple):
    """A graph of a file.

    Fields:
        name: Its number in the file, from 0, and for a molecule its name or SMILES.
        graph: The graph.
        points: Positions of its vertices in the unit disc, [n, 2]; None to choose them by its symmetries.
        labels: The element of each atom; None for a graph that is no molecule.
        smiles: Its SMILES; None for a graph that is no molecule.
        number: Its number in the file, from 0; None for its place on the page.
    """

    name: str
    graph: Graph
    points: Points | None = None
    labels: list[str] | None = None
    smiles: str | None = None
    number: int | None = None


def read_samples(path: Path, most: int, hydrogens: bool = False) -> tuple[list[Sample], str]:
    """Read the first graphs of a file.

    Args:
        path: File of graph6, sparse6 or SMILES.
        most: Number of graphs to read.
        hydrogens: Whether the hydrogens of molecules are vertices too.

    Returns:
        The graphs that are small enough to be drawn, and a sentence about those that are left out, which may be empty.
    """
    graphs, total = read_graphs(path, most)
    molecules = []
    if ending(path) in MOLECULES:
        lines = list(islice(smiles_lines(path), most))
        molecules = [_parse(smiles, hydrogens) for _, smiles, _ in lines]
        graphs = [graph_of_atoms(molecule, line[1]) for molecule, line in zip(molecules, lines, strict=True)]
    small = [number for number, graph in enumerate(graphs) if _is_small(graph)]
    bounds = f"{MOST_VERTICES} vertices or {MOST_EDGES} edges"
    if not small:
        which = "its graph has" if len(graphs) == 1 else f"all {len(graphs)} have"
        raise InputError(f"{path} must have a graph to show, but {which} more than {bounds}")
    if molecules:
        samples = [_molecule(number, graphs[number], molecules[number], *lines[number][1:]) for number in small]
    else:
        samples = [Sample(f"graph {i}", graphs[i], number=i) for i in small]
    said = []
    if total > len(graphs):
        said.append(f"These are the first {len(graphs)} of {total} graphs.")
    if large := len(graphs) - len(small):
        what = "is left out, because it has" if large == 1 else "are left out, because they have"
        said.append(f"{counted(large, 'graph')} {what} more than {bounds}.")
    return samples, " ".join(said)


def _is_small(graph: Graph) -> bool:
    return graph.num_nodes <= MOST_VERTICES and graph.num_edges <= MOST_EDGES


def _parse(smiles: str, hydrogens: bool) -> Any:
    molecule = parse_smiles(smiles)
    return rdkit_modules()[0].AddHs(molecule) if hydrogens else molecule


def _molecule(number: int, graph: Graph, molecule: Any, smiles: str, name: str) -> Sample:
    """A molecule, drawn as chemists do."""
    from rdkit.Chem.rdDepictor import Compute2DCoords

    Compute2DCoords(molecule)
    points = in_unit_disc(molecule.GetConformer().GetPositions()[:, :2])
    table = rdkit_modules()[0].GetPeriodicTable()
    labels = [table.GetElementSymbol(atom.GetAtomicNum()) for atom in molecule.GetAtoms()]
    shown = cut(name or smiles, LONGEST_NAME)
    return Sample(f"{number}: {shown}", graph, points, labels, smiles, number)
