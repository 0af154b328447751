"use strict";
// Draws the graph as SVG. Vertices are buttons: one of them is in the tab order, and arrow keys go to the others.

function svgElement(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** The radius of a vertex: small enough that most neighbours in the plane do not touch. */
function discRadius(points) {
  let nearest = points.map((p, i) =>
    Math.min(2, ...points.filter((_, j) => j !== i).map((q) => Math.hypot(p[0] - q[0], p[1] - q[1]))),
  );
  nearest = nearest.sort((a, b) => a - b)[Math.floor(points.length / 10)];
  return Math.min(0.13, Math.max(0.022, 0.36 * nearest));
}

const LARGEST_HALO = 2.4; // its radius, in radii of a vertex
const LEAST_SIDE = 1.5; // of the part of the plane that is shown, so that one vertex does not fill it

/**
 * Draw a graph.
 * svg: the element; entry: the graph; fills: a colour for each vertex; names: a text for each vertex, for screen
 * readers; path: the marked vertices; target: the target cell; weights: Map from vertices to weights of particles;
 * focused: the vertex in the tab order; title: what the picture shows; act: called with a vertex that is chosen.
 */
function drawGraph(svg, { entry, fills, names, path, target, weights, focused, title, act }) {
  const r = discRadius(entry.points);
  svg.setAttribute("viewBox", viewBox(entry.points, LARGEST_HALO * r));
  svg.replaceChildren(svgElement("title", { id: "picture-name" }, title));
  drawEdges(svg, entry, r);
  for (const [v, weight] of weights) {
    const [x, y] = entry.points[v];
    svg.append(svgElement("circle", { class: "halo", cx: x, cy: y, r: r * (1 + (LARGEST_HALO - 1) * Math.sqrt(weight)) }));
  }
  entry.points.forEach(([x, y], v) => {
    const marked = path.indexOf(v) + 1;
    const disc = { class: "disc", r, fill: fills[v], stroke: "#222", "stroke-width": marked ? 0.3 * r : 0.08 * r };
    if (!marked && target.includes(v)) disc["stroke-dasharray"] = `${0.35 * r} ${0.25 * r}`;
    if (!marked && target.includes(v)) disc["stroke-width"] = 0.16 * r;
    const text = entry.labels ? entry.labels[v] + v : String(v);
    const size = Math.min(1.05, 1.9 / text.length) * r;
    const group = svgElement(
      "g",
      {
        class: "vertex",
        role: "button",
        tabindex: v === focused ? 0 : -1,
        "data-vertex": v,
        "aria-label": names[v],
        transform: `translate(${x} ${y})`,
      },
      svgElement("title", {}, names[v]),
      svgElement("circle", disc),
      svgElement("text", { "font-size": size }, text),
    );
    if (marked) {
      group.append(
        svgElement("circle", { class: "badge", cx: 0.8 * r, cy: -0.8 * r, r: 0.5 * r }),
        svgElement("text", { class: "badge-text", x: 0.8 * r, y: -0.8 * r, "font-size": 0.7 * r }, String(marked)),
      );
    }
    group.addEventListener("click", () => act(v));
    svg.append(group);
  });
}

const BOND_LINES = { 1: [[0]], 2: [[-1, 1]], 3: [[-2, 0, 2]], 4: [[-1], [1]] }; // solid lines, dashed lines

/** All edges as two paths, of solid and of dashed lines. A double bond is two lines, an aromatic one has a dashed one. */
function drawEdges(svg, entry, r) {
  const width = Math.min(0.02, Math.max(0.003, 0.6 / Math.max(1, entry.edges.length))) + 0.04 * r;
  const lines = ["", ""];
  entry.edges.forEach(([u, v], i) => {
    const [[a, b], [c, d]] = [entry.points[u], entry.points[v]];
    const length = Math.hypot(c - a, d - b) || 1;
    const [x, y] = [(d - b) / length, (a - c) / length]; // across the edge
    if (!entry.bonds && isHidden(entry.points, u, v, r)) {
      const side = x * (a + c) + y * (b + d) > 0 ? -1 : 1; // bends towards the middle of the picture
      const bend = side * Math.max(0.25 * length, 4 * r);
      lines[0] += `M${a} ${b}Q${(a + c) / 2 + bend * x} ${(b + d) / 2 + bend * y} ${c} ${d}`;
      return;
    }
    BOND_LINES[entry.bonds ? entry.bonds[i] : 1].forEach((offsets, dashed) => {
      for (const k of offsets.map((offset) => 1.3 * width * offset)) {
        lines[dashed] += `M${a + k * x} ${b + k * y}L${c + k * x} ${d + k * y}`;
      }
    });
  });
  lines.forEach((d, dashed) => {
    const dashes = dashed ? `${3 * width} ${2 * width}` : "none";
    if (d) svg.append(svgElement("path", { class: "edges", d, "stroke-width": width, "stroke-dasharray": dashes }));
  });
}

/** Whether a straight edge would pass behind the disc of another vertex. */
function isHidden(points, u, v, r) {
  const [[a, b], [c, d]] = [points[u], points[v]];
  const square = (c - a) ** 2 + (d - b) ** 2 || 1;
  return points.some(([x, y], w) => {
    const along = ((x - a) * (c - a) + (y - b) * (d - b)) / square; // 0 at u, 1 at v
    if (w === u || w === v || along <= 0 || along >= 1) return false;
    return Math.abs((x - a) * (d - b) - (y - b) * (c - a)) < r * Math.sqrt(square);
  });
}

/** The part of the plane that is shown: all vertices with a margin, not too small, and no flatter than 1 to 3. */
function viewBox(points, margin) {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs) - margin, Math.min(...ys) - margin];
  const [width, height] = [Math.max(...xs) + margin - left, Math.max(...ys) + margin - top];
  const [wide, high] = [Math.max(width, height / 3, LEAST_SIDE), Math.max(height, width / 3, LEAST_SIDE / 2)];
  return `${left - (wide - width) / 2} ${top - (high - height) / 2} ${wide} ${high}`;
}

/** The vertex next to v in the direction of an arrow key, where the way to the side counts double. Else v itself. */
function vertexInDirection(points, v, key) {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  let best = v;
  let least = Infinity;
  points.forEach(([x, y], u) => {
    const [a, b] = [x - points[v][0], y - points[v][1]];
    const along = a * dx + b * dy;
    const across = Math.abs(a * dy - b * dx);
    const distance = along + 2 * across;
    if (along > 1e-6 && distance < least) [best, least] = [u, distance];
  });
  return best;
}
