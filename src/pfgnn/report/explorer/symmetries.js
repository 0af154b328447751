"use strict";
// The symmetries that fix the marked vertices, from generators of the automorphism group and its order.
// A permutation is a list: vertex v goes to p[v].

const DRAWS_BETWEEN_CHECKS = 16;

/**
 * Orbits of the symmetries that fix every vertex of a path. Returns the smallest vertex of each vertex's orbit.
 *
 * This is the Schreier-Sims algorithm with random elements. The result is exact, for there are two proofs that all
 * symmetries were found. Either the product of the chain's orbit lengths is the order of the group. Or the orbits are
 * as large as the cells of a refined colouring that has the path's vertices marked: no orbit is larger than its cell.
 *
 * generators: permutations that generate the group; order: its number of elements, a BigInt; colours: the colouring.
 */
function orbitsFixing(n, generators, order, path, colours) {
  const chain = { n, base: [...path], orbits: path.map((point) => makeOrbit(n, point)), strong: [] };
  const draw = randomElements(n, generators);
  const cells = new Set(colours).size;
  for (let draws = 0; chainOrder(chain) !== order; draws++) {
    addToChain(chain, draw());
    if (draws % DRAWS_BETWEEN_CHECKS === 0 && new Set(knownOrbits(chain, path)).size === cells) break;
  }
  return knownOrbits(chain, path);
}

function knownOrbits(chain, path) {
  const fixing = chain.strong.filter(({ depth }) => depth >= path.length).map(({ element }) => element);
  return orbitsUnder(chain.n, fixing);
}

/** The smallest vertex of each vertex's orbit under permutations. */
function orbitsUnder(n, permutations) {
  const least = Array.from({ length: n }, (_, v) => v);
  const find = (v) => (least[v] === v ? v : (least[v] = find(least[v])));
  for (const p of permutations) {
    for (let v = 0; v < n; v++) {
      const [a, b] = [find(v), find(p[v])];
      least[Math.max(a, b)] = Math.min(a, b);
    }
  }
  return least.map((_, v) => find(v));
}

/** The orbit of a base point. carriers[x] is a permutation that takes the point to x, if x is in the orbit. */
function makeOrbit(n, point) {
  return { points: [point], carriers: new Map([[point, identity(n)]]) };
}

function chainOrder(chain) {
  return chain.orbits.reduce((product, orbit) => product * BigInt(orbit.points.length), 1n);
}

/** Sift an element through the chain. What is left of it is a new strong generator. */
function addToChain(chain, element) {
  let rest = element;
  let depth = 0;
  for (; depth < chain.base.length; depth++) {
    const carrier = chain.orbits[depth].carriers.get(rest[chain.base[depth]]);
    if (!carrier) break;
    rest = compose(inverse(carrier), rest);
  }
  if (depth === chain.base.length) {
    const moved = rest.findIndex((image, v) => image !== v);
    if (moved < 0) return;
    chain.base.push(moved);
    chain.orbits.push(makeOrbit(chain.n, moved));
  }
  chain.strong.push({ element: rest, depth }); // it fixes the first `depth` points of the base
  for (let level = 0; level <= depth; level++) growOrbit(chain, level, rest);
}

/** Add to an orbit what the new element reaches, and what all elements of its level reach from there. */
function growOrbit(chain, level, added) {
  const { points, carriers } = chain.orbits[level];
  const old = points.length;
  const reach = (from, element) => {
    const to = element[from];
    if (carriers.has(to)) return;
    carriers.set(to, compose(element, carriers.get(from)));
    points.push(to);
  };
  for (let i = 0; i < old; i++) reach(points[i], added);
  const ofLevel = chain.strong.filter(({ depth }) => depth >= level);
  for (let i = old; i < points.length; i++) {
    for (const { element } of ofLevel) reach(points[i], element);
  }
}

/** Draws elements of a group by product replacement. The draws are the same every time. */
function randomElements(n, generators) {
  const pool = generators.length > 0 ? [...generators] : [identity(n)];
  for (let i = 0; pool.length < 10; i++) pool.push(pool[i]);
  let word = identity(n);
  let state = 1;
  const below = (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // a linear congruential generator
    return Math.floor((state / 2 ** 32) * limit);
  };
  const draw = () => {
    const i = below(pool.length);
    const j = (i + 1 + below(pool.length - 1)) % pool.length;
    const factor = below(2) ? pool[j] : inverse(pool[j]);
    pool[i] = below(2) ? compose(pool[i], factor) : compose(factor, pool[i]);
    word = compose(word, pool[i]);
    return word;
  };
  for (let k = 0; k < 5 * pool.length; k++) draw();
  return draw;
}

function identity(n) {
  return Array.from({ length: n }, (_, v) => v);
}

/** First `second`, then `first`. */
function compose(first, second) {
  return second.map((v) => first[v]);
}

function inverse(p) {
  const back = new Array(p.length);
  p.forEach((image, v) => (back[image] = v));
  return back;
}
