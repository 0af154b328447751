"""Exact algorithms on graphs: conversion, 1-WL refinement, search tree, canonical forms, graph families."""

from pfgnn.graphs.canonical import (
    automorphism_count,
    automorphism_generators,
    canonical_form,
    canonical_labelling,
    certificate,
    is_isomorphic,
    isomorphism,
    orbits,
)
from pfgnn.graphs.convert import from_edge_list, from_networkx, from_pyg, to_networkx, to_pyg
from pfgnn.graphs.generators import (
    cfi,
    cfi_pair,
    circulant,
    csl,
    paley,
    random_graph,
    random_regular,
    random_tree,
    rook,
    shrikhande,
)
from pfgnn.graphs.graph import Graph, Neighbours, disjoint_union
from pfgnn.graphs.graph6 import from_graph6, from_sparse6, read_graph6, to_graph6, to_sparse6
from pfgnn.graphs.refinement import is_equitable, refine, refine_many, wl_equivalent
from pfgnn.graphs.search import search
from pfgnn.graphs.search_result import SearchResult
from pfgnn.graphs.smiles import from_smiles, read_smiles, to_smiles
from pfgnn.graphs.tree import SearchTree, TreeNode, first_cell, individualise, largest_cell, smallest_cell

__all__ = [
    "Graph",
    "Neighbours",
    "SearchResult",
    "SearchTree",
    "TreeNode",
    "automorphism_count",
    "automorphism_generators",
    "canonical_form",
    "canonical_labelling",
    "certificate",
    "cfi",
    "cfi_pair",
    "circulant",
    "csl",
    "disjoint_union",
    "first_cell",
    "from_edge_list",
    "from_graph6",
    "from_networkx",
    "from_pyg",
    "from_smiles",
    "from_sparse6",
    "individualise",
    "is_equitable",
    "is_isomorphic",
    "isomorphism",
    "largest_cell",
    "orbits",
    "paley",
    "random_graph",
    "random_regular",
    "random_tree",
    "read_graph6",
    "read_smiles",
    "refine",
    "refine_many",
    "rook",
    "search",
    "shrikhande",
    "smallest_cell",
    "to_graph6",
    "to_networkx",
    "to_pyg",
    "to_smiles",
    "to_sparse6",
    "wl_equivalent",
]
