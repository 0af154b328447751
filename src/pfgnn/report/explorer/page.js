"use strict";
// Puts the parts of the page together. What is shown is in the address after #, so the browser's Back works.

const data = JSON.parse(document.getElementById("data").textContent);
const trees = data.graphs.map((entry) => new SearchTree(entry));
const numbers = data.graphs.map((entry) => entry.number); // of the graphs in their file; some may be left out
const unfolded = trees.map(() => null); // made when a graph is first shown
const at = (id) => document.getElementById(id);
let shownNode = null; // graph and path that were last shown
let playing = null; // the timer of Play; null while nothing plays
const view = { graph: 0, path: [], round: null, focused: 0, step: null }; // round null: the last one

/** Read what to show from the address. Anything that makes no sense is left out. */
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const whole = (text, most) => (/^\d+$/.test(text || "") && Number(text) <= most ? Number(text) : null);
  view.graph = Math.max(0, numbers.indexOf(whole(given.get("graph"), Infinity)));
  const { n } = trees[view.graph].graph;
  const path = (given.get("path") || "").split(".").filter(Boolean).map((text) => whole(text, n - 1));
  view.path = path.includes(null) ? [] : path;
  view.round = whole(given.get("round"), currentNode().rounds.length - 1);
  view.focused = Math.min(view.focused, n - 1);
}

function show(change) {
  const { graph, path, round } = { ...view, round: null, ...change };
  const parts = [`graph=${numbers[graph]}`];
  if (path.length) parts.push(`path=${path.join(".")}`);
  if (round !== null) parts.push(`round=${round}`);
  const address = `#${parts.join("&")}`;
  if (location.hash !== address) history.pushState(null, "", address);
  showAddress();
}

function showAddress() {
  pause();
  readAddress();
  render();
  const node = `${view.graph} ${view.path}`;
  if (shownNode === node) return; // the round has changed; the reader's own scrolling of the tree stays
  shownNode = node;
  showSelected(at("tree"));
  countShown();
}

const currentTree = () => trees[view.graph];
const currentNode = () => currentTree().node(view.path);

function mark(vertex) {
  const { colours } = currentNode();
  view.focused = vertex;
  if (colours.filter((colour) => colour === colours[vertex]).length === 1) {
    at("status").textContent = `Vertex ${vertex} already has a colour of its own, so marking it would change nothing.`;
    return;
  }
  show({ path: [...view.path, vertex] });
}

function goBack() {
  if (view.path.length) show({ path: view.path.slice(0, -1) });
}

/** The particles after the chosen step, [{path, weight}], or an empty list. */
function particles() {
  const { steps } = currentTree().entry;
  return steps && steps.length ? steps[view.step ?? steps.length - 1] : [];
}

const startsWith = (path, start) => start.every((v, i) => path[i] === v);
const weightThrough = (path) =>
  particles().reduce((sum, particle) => sum + (startsWith(particle.path, path) ? particle.weight : 0), 0);

function render() {
  const tree = currentTree();
  const node = currentNode();
  const { entry } = tree;
  const last = node.rounds.length - 1;
  const orbits = tree.orbits(node);
  const byOrbit = document.querySelector("[name=colour-by]:checked").value === "orbits" && orbits !== null;
  const round = byOrbit ? last : (view.round ?? last); // orbits belong to the stable colouring
  const shown = byOrbit ? asColouring(orbits) : node.rounds[round];
  const cells = cellsOf(shown);
  const target = round === last ? node.target : [];
  const weights = new Map();
  for (const { path, weight } of particles()) {
    if (weight > 0 && path.length > view.path.length && startsWith(path, view.path)) {
      const next = path[view.path.length];
      weights.set(next, (weights.get(next) || 0) + weight);
    }
  }

  const kind = byOrbit ? "orbit" : "cell";
  const place = new Map([...cells.keys()].map((start, i) => [start, i + 1])); // as in the list of cells
  const names = shown.map((start, v) => {
    const label = entry.labels ? `, ${entry.labels[v]}` : "";
    const marked = view.path.includes(v) ? `, marked in step ${view.path.indexOf(v) + 1}` : "";
    const inTarget = target.includes(v) ? ", in the target cell" : "";
    const weight = weights.has(v) ? `, particles ${weights.get(v).toFixed(3)}` : "";
    const size = counted(cells.get(start).length, "vertex", "vertices");
    return `vertex ${v}${label}, in ${kind} ${place.get(start)}, which has ${size}${marked}${inTarget}${weight}`;
  });
  const hadFocus = at("picture").contains(document.activeElement);
  drawGraph(at("picture"), {
    entry, names, target, weights, path: view.path, focused: view.focused, fills: shown.map(fillOf), act: mark,
    title: `${entry.name}, ${counted(cells.size, kind)}. Choose a vertex to mark it.`,
  });
  if (hadFocus) focusVertex(view.focused);
  renderPath(entry);
  renderRounds(node, round, last, byOrbit, cells);
  renderComparison(tree, node, round, last, orbits);
  const treeFocus = at("tree").contains(document.activeElement);
  renderTree(tree);
  if (treeFocus) focusItem(at("tree"), view.path.join("."));
  renderParticles(entry);
  at("graph-choice").value = String(view.graph);
  at("facts").textContent = entry.facts;
  at("halo-hint").hidden = weights.size === 0;
  const rounds = `1-WL made ${counted(new Set(node.colours).size, "cell")} in ${counted(last, "round")}`;
  const done = node.target.length === 0 ? ", and every vertex has a colour of its own: a leaf of the tree" : "";
  countShown();
  at("status").textContent = `${view.path.length ? `Marked ${view.path.join(", then ")}. ` : ""}${rounds}${done}.`;
}

function focusVertex(v) {
  view.focused = v;
  for (const vertex of at("picture").querySelectorAll(".vertex")) {
    vertex.setAttribute("tabindex", Number(vertex.dataset.vertex) === v ? 0 : -1);
    if (Number(vertex.dataset.vertex) === v) vertex.focus();
  }
}

/** Show all rounds one after another, from the shown one; from the first one if the last one is shown. */
function play() {
  const last = currentNode().rounds.length - 1;
  if ((view.round ?? last) === last) view.round = 0;
  at("play").textContent = "Pause";
  render();
  playing = setInterval(() => {
    view.round += 1;
    render();
    if (view.round === last) pause();
  }, 900);
}

function pause() {
  clearInterval(playing);
  playing = null;
  at("play").textContent = "Play";
}

at("source").textContent = data.source;
at("graph-choice").append(...data.graphs.map((entry, i) => new Option(entry.name, String(i))));
at("graph-choice").addEventListener("change", (event) => show({ graph: Number(event.target.value), path: [] }));
at("round").addEventListener("input", (event) => show({ round: Number(event.target.value) }));
at("earlier").addEventListener("click", () => show({ round: (view.round ?? currentNode().rounds.length - 1) - 1 }));
at("later").addEventListener("click", () => show({ round: view.round + 1 }));
at("play").addEventListener("click", () => (playing === null ? play() : pause()));
at("alike").addEventListener("change", render);
at("step").addEventListener("change", (event) => ((view.step = Number(event.target.value)), render()));
for (const choice of document.querySelectorAll("[name=colour-by]")) {
  choice.addEventListener("change", () => {
    pause();
    render();
  });
}
for (const list of document.querySelectorAll(".long")) list.addEventListener("scroll", countShown);
addEventListener("resize", countShown);
at("picture").addEventListener("keydown", (event) => {
  const vertex = event.target.closest(".vertex");
  if (!vertex) return;
  const v = Number(vertex.dataset.vertex);
  const { points } = currentTree().entry;
  if (event.key.startsWith("Arrow")) focusVertex(vertexInDirection(points, v, event.key));
  else if (event.key === "Home") focusVertex(0);
  else if (event.key === "End") focusVertex(points.length - 1);
  else if (event.key === "Enter" || event.key === " ") mark(v);
  else if (event.key === "Backspace") goBack();
  else return;
  event.preventDefault();
});
addEventListener("popstate", showAddress); // Back, Forward, and a changed address
showAddress();
