"use strict";
// The panels beside the picture. Each function fills one panel from what is shown now, see page.js.

const MOST_PARTICLES = 100; // that are shown

function renderPath(entry) {
  const button = (text, path) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    if (path.length === view.path.length) made.setAttribute("aria-current", "step");
    made.addEventListener("click", () => show({ path }));
    return made;
  };
  const back = document.createElement("button");
  back.type = "button";
  back.id = "back";
  back.textContent = "Back";
  back.disabled = view.path.length === 0;
  back.addEventListener("click", goBack);
  const focused = at("path").contains(document.activeElement);
  const steps = view.path.map((v, i) => button(`${entry.labels ? entry.labels[v] : ""}${v}`, view.path.slice(0, i + 1)));
  at("path").replaceChildren(back, button("root", []), ...steps);
  if (focused) (back.disabled ? back.nextElementSibling : back).focus();
}

function renderRounds(node, round, last, byOrbit, cells) {
  const begin = view.path.length ? "the vertex is marked" : "the labels alone";
  const state = round === last ? "nothing changes any more" : round === 0 ? begin : "not yet stable";
  at("round-name").textContent = byOrbit
    ? `The picture shows ${counted(cells.size, "orbit")}. Choose 1-WL cells to see the rounds.`
    : `Round ${round} of ${last}: ${counted(cells.size, "cell")}, ${state}.`;
  at("round").max = last;
  at("round").value = round;
  at("round").disabled = byOrbit || last === 0;
  for (const [id, disabled] of [["earlier", byOrbit || round === 0], ["later", byOrbit || round === last]]) {
    if (disabled && document.activeElement === at(id)) at("round").focus(); // a button that is off has no focus
    at(id).disabled = disabled;
  }
  at("play").disabled = byOrbit || last === 0;
  at("cells-title").textContent = `${byOrbit ? "Orbits" : "Cells"} (${cells.size})`;
  at("cells").replaceChildren(
    ...[...cells].map(([start, cell]) => {
      const li = document.createElement("li");
      const chip = span("", "chip");
      chip.style.background = fillOf(start);
      chip.setAttribute("aria-hidden", "true");
      li.append(chip, span(cell.join(" "), "numbers"));
      return li;
    }),
  );
}

/** Whether the cells of the shown round are the orbits. */
function renderComparison(tree, node, round, last, orbits) {
  const cells = cellsOf(node.rounds[round]);
  let text = `The orbits are not known: ${tree.entry.missing}.`;
  if (orbits !== null) {
    const count = new Set(orbits).size;
    const given = view.path.length ? " that fix the marked vertices" : "";
    const mixed = [...cells.values()].filter((cell) => new Set(cell.map((v) => orbits[v])).size > 1).length;
    const have = mixed === 1 ? "has" : "have";
    if (mixed === 0) {
      text = `The cells are the orbits of the symmetries${given}: vertices of one colour are truly alike.`;
    } else if (round === last) {
      text = `The symmetries${given} have ${counted(count, "orbit")}. So ${counted(mixed, "cell")} of 1-WL ${have} vertices that look alike and are not.`;
    } else {
      text = `The symmetries${given} have ${counted(count, "orbit")}. In this round ${counted(mixed, "cell")} still ${have} vertices of several orbits. The next rounds tell more of them apart.`;
    }
  }
  at("comparison").textContent = text;
  document.querySelector("[value=orbits]").disabled = orbits === null;
}

function renderTree(tree) {
  unfolded[view.graph] ??= firstUnfolded(tree);
  const weightOf = (path, branch) => {
    if (particles().length === 0 || !branch) return "";
    const own = weightThrough(path);
    const all = branch.alike.reduce((sum, v) => sum + weightThrough([...path.slice(0, -1), v]), 0);
    if (all === 0) return ""; // no particle comes here, or so deep
    return `particles ${own.toFixed(3)}${branch.alike.length > 1 ? `, with alike branches ${all.toFixed(3)}` : ""}`;
  };
  drawTree(at("tree"), {
    tree, weightOf, path: view.path, unfolded: unfolded[view.graph], all: at("alike").checked,
    go: (path) => show({ path }), redraw: () => (renderTree(tree), countShown()),
  });
}

function renderParticles(entry) {
  const { steps } = entry;
  at("particles-section").hidden = !steps;
  if (!steps) return;
  at("run").textContent = `${data.run}: one draw of ${counted(steps[0].length, "particle")}. ${entry.prediction}`;
  at("step").replaceChildren(...steps.map((_, i) => new Option(String(i + 1), String(i))));
  at("step").value = String(view.step ?? steps.length - 1);
  const numbered = particles().map((particle, k) => ({ ...particle, k }));
  const heaviest = numbered.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight || a.k - b.k);
  const idle = numbered.length - heaviest.length;
  const focused = [...at("particles").querySelectorAll("button")].indexOf(document.activeElement);
  at("particles").replaceChildren(
    ...heaviest.slice(0, MOST_PARTICLES).map(({ path, weight, k }) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `Particle ${k + 1}: marks ${path.join(", then ")}; weight ${weight.toFixed(3)}`;
      const bar = span("", "bar");
      bar.style.width = `${100 * weight}%`;
      button.append(bar);
      button.addEventListener("click", () => show({ path }));
      const li = document.createElement("li");
      li.append(button);
      return li;
    }),
  );
  if (focused >= 0) at("particles").querySelectorAll("button")[focused]?.focus();
  const cut = heaviest.length > MOST_PARTICLES;
  at("more-particles").textContent =
    (cut ? `These are the ${MOST_PARTICLES} heaviest of ${counted(heaviest.length, "particle")}. ` : "") +
    (idle ? `${counted(idle, "particle")} of weight 0 ${idle === 1 ? "is" : "are"} not shown.` : "");
}

/** Say below each long list which of its rows are in sight, and fade its lower edge if more follow. */
function countShown() {
  for (const list of document.querySelectorAll(".long")) {
    const box = list.getBoundingClientRect();
    const rows = [...list.querySelectorAll(list.id === "tree" ? ".row" : "li")].map((row) => row.getBoundingClientRect());
    const middle = ({ top, bottom }) => (top + bottom) / 2;
    const seen = rows.map((row, i) => (middle(row) > box.top && middle(row) < box.bottom ? i + 1 : 0)).filter(Boolean);
    const note = at(`${list.id}-shown`);
    note.hidden = seen.length === rows.length;
    note.textContent = `Rows ${seen[0]} to ${seen[seen.length - 1]} of ${rows.length} are in sight. Scroll the list to see the others.`;
    list.classList.toggle("goes-on", rows.length > 0 && middle(rows[rows.length - 1]) >= box.bottom);
  }
}
