"use strict";
// The search tree of one graph. Nodes are made when they are first asked for.

const MOST_CHILDREN = 40; // branches of a node that are shown

/** A graph of the file with its search tree. entry: what Python wrote about the graph. */
class SearchTree {
  constructor(entry) {
    this.entry = entry;
    this.graph = makeGraph(entry.n, entry.edges, entry.edgeLabels);
    this.generators = entry.generators && entry.generators.map((move) => permutationOf(entry.n, move));
    this.order = entry.order && BigInt(entry.order);
    this.nodes = new Map();
  }

  /** The node of a path, a list of marked vertices: the colourings of all rounds, the last one, and the target cell. */
  node(path) {
    const key = path.join(".");
    if (!this.nodes.has(key)) {
      const last = path.length - 1;
      const numbers = last < 0 ? this.entry.start : individualise(this.node(path.slice(0, last)).colours, path[last]);
      const rounds = refineRounds(this.graph, numbers);
      const colours = rounds[rounds.length - 1];
      this.nodes.set(key, { path, rounds, colours, target: targetCell(colours), orbits: undefined });
    }
    return this.nodes.get(key);
  }

  /** Orbits of the symmetries that fix a node's marked vertices: the smallest vertex of each. Null if unknown. */
  orbits(node) {
    if (node.orbits === undefined) {
      const known = this.generators !== null;
      node.orbits = known && orbitsFixing(this.graph.n, this.generators, this.order, node.path, node.colours);
    }
    return node.orbits || null;
  }

  /**
   * The branches of a node that are shown, in the order of their vertices, and how many are left out.
   * taken: a vertex whose branch is always shown, or undefined; all: whether alike branches are shown too.
   */
  branches(node, taken, all) {
    const orbits = this.orbits(node);
    const alike = new Map(); // the smallest vertex of each orbit in the target cell: the orbit
    for (const v of node.target) {
      const first = orbits ? orbits[v] : v;
      alike.set(first, [...(alike.get(first) || []), v]);
    }
    const wanted = all ? node.target : [...alike.keys()];
    const shown = new Set(wanted.slice(0, MOST_CHILDREN));
    if (taken !== undefined) shown.add(taken);
    const describe = (v) => {
      const first = orbits ? orbits[v] : v;
      const inTarget = node.target.includes(v);
      return { vertex: v, inTarget, alike: alike.get(first) || [v], sameAs: inTarget && first !== v ? first : null };
    };
    const list = [...shown].sort((u, v) => u - v).map(describe);
    return { list, hidden: wanted.filter((v) => !shown.has(v)).length };
  }
}

/** A permutation from the vertices that it moves and their images. */
function permutationOf(n, [vertices, images]) {
  const p = identity(n);
  vertices.forEach((v, i) => (p[v] = images[i]));
  return p;
}

/** The fill colour of a cell. A cell that does not split keeps it. All are pale, so that black text can be read. */
function fillOf(start) {
  return `hsl(${(start * 137.508 + 205) % 360} 70% ${start % 2 ? 82 : 74}%)`;
}

/** "1 cell", "2 cells". */
function counted(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}
