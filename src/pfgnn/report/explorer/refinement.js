"use strict";
// 1-WL colour refinement and individualisation, the same as pfgnn.graphs does in Python.
// A colouring is an ordered partition: the colour of a vertex is the position at which its cell starts.

/** Adjacency lists. edges: [[u, v], ...]; labels: a whole number from 0 for each edge. */
function makeGraph(n, edges, labels) {
  const neighbours = Array.from({ length: n }, () => []);
  edges.forEach(([u, v], i) => {
    neighbours[u].push({ to: v, label: labels[i] });
    neighbours[v].push({ to: u, label: labels[i] });
  });
  return { n, edges, labels, neighbours, labelCount: Math.max(0, ...labels) + 1 };
}

/** The vertices of each cell, as a Map from the colour to a list, in the order of the colours. */
function cellsOf(colours) {
  const cells = new Map();
  const byColour = colours.map((_, v) => v).sort((u, v) => colours[u] - colours[v] || u - v);
  for (const v of byColour) {
    if (!cells.has(colours[v])) cells.set(colours[v], []);
    cells.get(colours[v]).push(v);
  }
  return cells;
}

/** Any whole numbers as a colouring: equal numbers become one cell, and smaller numbers come first. */
function asColouring(numbers) {
  const colours = new Array(numbers.length);
  let start = 0;
  for (const cell of cellsOf(numbers).values()) {
    for (const v of cell) colours[v] = start;
    start += cell.length;
  }
  return colours;
}

/** Mark a vertex: it keeps its colour, and the colour of the rest of its cell grows by 1. */
function individualise(colours, vertex) {
  return colours.map((colour, v) => (colour === colours[vertex] && v !== vertex ? colour + 1 : colour));
}

/** The first of the smallest cells with at least two vertices. Empty if every vertex has a colour of its own. */
function targetCell(colours) {
  let target = [];
  for (const cell of cellsOf(colours).values()) {
    if (cell.length > 1 && (target.length === 0 || cell.length < target.length)) target = cell;
  }
  return target;
}

/** Refine until nothing changes. Returns all colourings: the start, then the one after each round. */
function refineRounds(graph, numbers) {
  let colours = asColouring(numbers);
  let splitters = new Set(colours);
  const rounds = [colours];
  while (splitters.size > 0) {
    const next = splitCells(graph, colours, splitters);
    if (next.splitters.size > 0) rounds.push(next.colours);
    ({ colours, splitters } = next);
  }
  return rounds;
}

/**
 * One round: split every cell by the numbers of neighbours that its vertices have in the cells `splitters`.
 * The next splitters are all pieces except the largest of each cell that was split. The numbers of neighbours in the
 * largest piece follow from the others.
 */
function splitCells(graph, colours, splitters) {
  const refined = colours.slice();
  const next = new Set();
  for (const [start, cell] of cellsOf(colours)) {
    if (cell.length === 1) continue;
    const pieces = groupBySignature(cell, (v) => signature(graph, colours, splitters, v));
    let place = start;
    const starts = [];
    for (const piece of pieces) {
      for (const v of piece) refined[v] = place;
      starts.push(place);
      place += piece.length;
    }
    const sizes = pieces.map((piece) => piece.length);
    const largest = sizes.indexOf(Math.max(...sizes)); // of equal sizes, the first
    starts.forEach((piece, i) => i !== largest && next.add(piece));
  }
  return { colours: refined, splitters: next };
}

/** The neighbours of a vertex in the splitters: [number of pairs, (cell, label), count, (cell, label), count, ...]. */
function signature(graph, colours, splitters, vertex) {
  const counts = new Map();
  for (const { to, label } of graph.neighbours[vertex]) {
    if (!splitters.has(colours[to])) continue;
    const token = colours[to] * graph.labelCount + label;
    counts.set(token, (counts.get(token) || 0) + 1);
  }
  const pairs = [...counts].sort((a, b) => a[0] - b[0]);
  return [pairs.length, ...pairs.flat()];
}

/** The vertices of a cell in groups of equal signatures, in the order of the signatures. */
function groupBySignature(cell, signatureOf) {
  const groups = new Map();
  for (const v of cell) {
    const found = signatureOf(v);
    const key = found.join(" ");
    if (!groups.has(key)) groups.set(key, { found, members: [] });
    groups.get(key).members.push(v);
  }
  return [...groups.values()].sort((a, b) => compareLists(a.found, b.found)).map((group) => group.members);
}

function compareLists(a, b) {
  for (let i = 0; i < a.length && i < b.length; i++) {
    if (a[i] !== b[i]) return a[i] - b[i];
  }
  return a.length - b.length;
}
