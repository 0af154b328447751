"""Exact facts on the graphs of a file: what 1-WL sees of them, and what there is to see."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from pfgnn.errors import InputError
from pfgnn.graphs.canonical import symmetry
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import read_graph6
from pfgnn.graphs.refinement import refine, wl_equivalent
from pfgnn.graphs.smiles import read_smiles

READERS = {".g6": read_graph6, ".s6": read_graph6, ".smi": read_smiles, ".smiles": read_smiles}


class Facts(NamedTuple):
    """Of one graph: its size, how many colours 1-WL gives it and how many orbits it has, the number of its
    automorphisms, and the number of its class, counted from 1, up to 1-WL equivalence and up to isomorphism.
    """

    nodes: int
    edges: int
    colours: int
    orbits: int
    automorphisms: int
    wl_class: int
    isomorphism_class: int


def read_graphs(path: Path) -> list[Graph]:
    """The graphs of a file; its ending says whether it holds graph6, sparse6 or SMILES."""
    if path.suffix not in READERS:
        known = ", ".join(READERS)
        raise InputError(f"{path} must end in one of {known} to say what it holds, but it ends in {path.suffix!r}")
    graphs = READERS[path.suffix](path)
    if not graphs:
        raise InputError(f"{path} holds no graphs, but must have one a line")
    return graphs


def gather_facts(graphs: list[Graph]) -> list[Facts]:
    """The facts on each graph, classes counted in order of appearance."""
    forms: list[Graph] = []  # one of each class
    wl_forms: list[Graph] = []
    facts = []
    for graph in graphs:
        found = symmetry(graph)
        form = graph.relabel(found.labelling)
        if form not in forms:
            forms.append(form)
        wl_class = next((i for i, other in enumerate(wl_forms) if wl_equivalent(graph, other)), len(wl_forms))
        if wl_class == len(wl_forms):
            wl_forms.append(graph)
        facts.append(
            Facts(
                graph.num_nodes,
                graph.num_edges,
                len(np.unique(refine(graph))),
                len(np.unique(found.orbits)),
                found.group_order,
                wl_class + 1,
                forms.index(form) + 1,
            )
        )
    return facts
