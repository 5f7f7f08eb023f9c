// @ts-check
// The longest chain of calls from one function, as far as names tell: who is referenced by name counts as called, rows of tables too.

/** @typedef {import('./source-tree.mjs').Item} Item */

/**
 * The functions of the longest chain of calls from `start`; functions that call each other in a circle count once each.
 * A constant costs nothing by itself: what its rows name does.
 * @param {Map<string, Item>} items
 * @param {string} start id of an item
 * @returns {string[]} ids, from `start` on
 */
export function longestCallChain(items, start) {
  const callees = (/** @type {string} */ id) =>
    [...(items.get(id)?.uses ?? [])].filter((to) => items.has(to));
  /** @type {Map<string, string[]>} */
  const longest = new Map();
  // Circles come in an order in which whom a circle calls was there before.
  for (const circle of circlesFrom(start, callees)) {
    const functions = circle.filter((id) => items.get(id)?.isFunction);
    const after = circle.flatMap(callees).map((id) => longest.get(id) ?? []);
    const best = after.reduce((a, b) => (b.length > a.length ? b : a), /** @type {string[]} */ ([]));
    for (const id of circle) longest.set(id, [...functions, ...best]);
  }
  return longest.get(start) ?? [];
}

/**
 * Strongly connected parts of a graph (Tarjan), those that are called first.
 * @param {string} start
 * @param {(id: string) => string[]} next
 * @returns {string[][]}
 */
function circlesFrom(start, next) {
  /** @type {Map<string, { index: number, low: number, isOpen: boolean }>} */
  const seen = new Map();
  /** @type {string[]} */
  const open = [];
  /** @type {string[][]} */
  const circles = [];
  const visit = (/** @type {string} */ id) => {
    const entry = { index: seen.size, low: seen.size, isOpen: true };
    seen.set(id, entry);
    open.push(id);
    for (const to of next(id)) {
      const known = seen.get(to) ?? visit(to);
      if (known.isOpen) entry.low = Math.min(entry.low, known.low);
    }
    if (entry.low === entry.index) circles.push(close(id));
    return entry;
  };
  const close = (/** @type {string} */ id) => {
    const circle = open.splice(open.indexOf(id));
    for (const member of circle) /** @type {{ isOpen: boolean }} */ (seen.get(member)).isOpen = false;
    return circle;
  };
  visit(start);
  return circles;
}
