"""What `pfgnn inspect` prints: exact facts about the graphs of a file, by 1-WL and by their true symmetries."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from pfgnn.errors import InputError, shown
from pfgnn.graphs.canonical import symmetry
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import read_graph6
from pfgnn.graphs.refinement import refine, wl_equivalent
from pfgnn.graphs.smiles import read_smiles

READERS = {".g6": read_graph6, ".s6": read_graph6, ".smi": read_smiles, ".smiles": read_smiles}


class Facts(NamedTuple):
    """Facts about one graph.

    Fields:
        nodes: Number of nodes.
        edges: Number of edges.
        colours: Number of colours of 1-WL.
        orbits: Number of orbits of the nodes.
        automorphisms: Number of automorphisms.
        wl_class: Number of the class of graphs that 1-WL cannot tell apart, from 1.
        isomorphism_class: Number of the class of isomorphic graphs, from 1.
    """

    nodes: int
    edges: int
    colours: int
    orbits: int
    automorphisms: int
    wl_class: int
    isomorphism_class: int


def read_graphs(path: Path) -> list[Graph]:
    """Read the graphs of a file. The ending of its name decides between graph6, sparse6 and SMILES."""
    if path.suffix not in READERS:
        known = ", ".join(READERS)
        raise InputError(f"{path} must end in one of {known}, but it ends in {shown(path.suffix)}")
    graphs = READERS[path.suffix](path)
    if not graphs:
        raise InputError(f"{path} must hold one graph per line, but it holds no graph")
    return graphs


def gather_facts(graphs: list[Graph]) -> list[Facts]:
    """The facts about each graph. Classes are numbered in order of appearance."""
    forms: list[Graph] = []  # the canonical form of each isomorphism class
    wl_forms: list[Graph] = []  # a graph of each 1-WL class
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
