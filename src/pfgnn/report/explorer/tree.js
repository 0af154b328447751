"use strict";
// Shows the search tree as a list that can be folded, with the keys of a tree view.

const FIRST_NODES = 30; // nodes that are unfolded when a graph is first shown
const MOST_LEVELS = 4; // levels that are unfolded then

/** Paths whose branches are unfolded at first: level by level, until enough nodes are shown. */
function firstUnfolded(tree) {
  const unfolded = new Set();
  const queue = [[]];
  for (let shown = 1; queue.length > 0; ) {
    const path = queue.shift();
    const { list } = tree.branches(tree.node(path), undefined, false);
    shown += list.length;
    if (path.length >= MOST_LEVELS || (shown > FIRST_NODES && path.length > 0)) break;
    unfolded.add(path.join("."));
    for (const { vertex } of list) queue.push([...path, vertex]);
  }
  return unfolded;
}

/**
 * Show the tree in a list.
 * list: the element; tree: a SearchTree; path: of the current node; unfolded: Set of paths; all: whether alike branches
 * are shown; weightOf: the weight of the particles through a path, or null; go: called with the path of a chosen node.
 */
function drawTree(list, { tree, path, unfolded, all, weightOf, go, redraw }) {
  const current = path.join(".");
  for (let depth = 0; depth < path.length; depth++) unfolded.add(path.slice(0, depth).join("."));

  const item = (itemPath, branch) => {
    const key = itemPath.join(".");
    const node = tree.node(itemPath);
    const leaf = node.target.length === 0;
    const onPath = key === path.slice(0, itemPath.length).join(".");
    const taken = onPath ? path[itemPath.length] : undefined;
    const open = unfolded.has(key) && (!leaf || taken !== undefined); // a particle may go on below a leaf
    const li = document.createElement("li");
    li.setAttribute("role", "treeitem");
    li.setAttribute("aria-level", itemPath.length + 1);
    li.setAttribute("aria-selected", key === current);
    if (!leaf || open) li.setAttribute("aria-expanded", open);
    li.tabIndex = key === current ? 0 : -1;
    li.dataset.path = key;
    if (branch && branch.sameAs !== null) li.classList.add("pruned");
    li.append(row(node, branch, leaf, open));
    if (open) {
      const { list: branches, hidden } = tree.branches(node, taken, all);
      const group = document.createElement("ul");
      group.setAttribute("role", "group");
      for (const below of branches) group.append(item([...itemPath, below.vertex], below));
      if (hidden) {
        const more = document.createElement("li");
        more.className = "note";
        more.textContent = `${counted(hidden, "more branch", "more branches")} not shown`;
        group.append(more);
      }
      li.append(group);
    }
    return li;
  };

  const row = (node, branch, leaf, open) => {
    const cells = cellsOf(node.colours);
    const div = document.createElement("div");
    div.className = "row";
    const twig = span(leaf ? "·" : open ? "▾" : "▸", "twig");
    twig.setAttribute("aria-hidden", "true");
    const strip = span("", "strip");
    strip.setAttribute("aria-hidden", "true");
    strip.style.background = stripes(cells, tree.graph.n);
    const name = branch ? `vertex ${branch.vertex}` : "root";
    div.append(twig, span(name, "name"), strip, span(counted(cells.size, "cell"), "note"));
    if (leaf) div.append(span("leaf", "note"));
    if (branch && !branch.inTarget) div.append(span("not in the target cell", "note"));
    if (branch && branch.sameAs !== null) div.append(span(`alike: vertex ${branch.sameAs}`, "note"));
    if (branch && branch.sameAs === null && branch.alike.length > 1) {
      div.append(span(`stands for ${branch.alike.length} alike branches`, "note"));
    }
    const weight = weightOf(node.path, branch);
    if (weight) div.append(span(weight, "note"));
    return div;
  };

  const { scrollTop } = list;
  list.replaceChildren(item([], null));
  list.scrollTop = scrollTop;

  const fold = (key, open) => {
    if (open) unfolded.add(key);
    else unfolded.delete(key);
    redraw();
    focusItem(list, key);
  };
  list.onclick = (event) => {
    const li = event.target.closest("[role=treeitem]");
    if (!li) return;
    if (event.target.classList.contains("twig") && li.hasAttribute("aria-expanded")) {
      fold(li.dataset.path, li.getAttribute("aria-expanded") === "false");
    } else {
      go(pathOf(li.dataset.path));
    }
  };
  list.onkeydown = (event) => {
    const li = event.target.closest("[role=treeitem]");
    if (!li) return;
    const items = [...list.querySelectorAll("[role=treeitem]")];
    const place = items.indexOf(li);
    const open = li.getAttribute("aria-expanded");
    const parent = li.parentElement.closest("[role=treeitem]");
    const keys = {
      ArrowDown: () => focusNode(items[place + 1]),
      ArrowUp: () => focusNode(items[place - 1]),
      Home: () => focusNode(items[0]),
      End: () => focusNode(items[items.length - 1]),
      ArrowRight: () => (open === "false" ? fold(li.dataset.path, true) : open && focusNode(items[place + 1])),
      ArrowLeft: () => (open === "true" && li.dataset.path !== "" ? fold(li.dataset.path, false) : focusNode(parent)),
      Enter: () => go(pathOf(li.dataset.path)),
      " ": () => go(pathOf(li.dataset.path)),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  };
}

/** Scroll the list, and not the page, until the row of the current node is in sight. */
function showSelected(list) {
  const row = list.querySelector("[aria-selected=true] > .row").getBoundingClientRect();
  const box = list.getBoundingClientRect();
  const margin = Math.min(row.height, (box.height - row.height) / 2); // the row before or behind it is in sight too
  if (row.top < box.top) list.scrollTop += row.top - box.top - margin;
  else if (row.bottom > box.bottom) list.scrollTop += row.bottom - box.bottom + margin;
}

function pathOf(key) {
  return key === "" ? [] : key.split(".").map(Number);
}

function focusItem(list, key) {
  focusNode([...list.querySelectorAll("[role=treeitem]")].find((li) => li.dataset.path === key));
}

/** Move the focus to an item, which is now the one in the tab order. */
function focusNode(item) {
  if (!item) return;
  for (const other of item.closest("[role=tree]").querySelectorAll("[role=treeitem]")) other.tabIndex = -1;
  item.tabIndex = 0;
  item.focus();
}

function span(text, className) {
  const element = document.createElement("span");
  element.textContent = text;
  element.className = className;
  return element;
}

/** A background with one stripe for each cell, as wide as the cell is large. */
function stripes(cells, n) {
  const stops = [...cells].map(([start, cell]) => `${fillOf(start)} ${(100 * start) / n}% ${(100 * (start + cell.length)) / n}%`);
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}
