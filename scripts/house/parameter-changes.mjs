// @ts-check
// Finds functions that change what their caller handed them. What is reachable from a parameter is followed through constants, destructuring,
// loops and the methods that hand out elements; a copy is a copy: its own fields may be set, what lies in them may not. What a function of
// ours returns is taken for new: the functions it calls are looked at themselves.
import { bare, walk } from './syntax.mjs';

/** @typedef {import('./syntax.mjs').Node} Node */
/** @typedef {import('./syntax.mjs').Binding} Binding */
/** @typedef {import('./source-tree.mjs').SourceFile} SourceFile */
/** A value that goes into a pattern. @typedef {{ into: Node, from: Node, isElement: boolean }} Flow */

/** How much of a value is the caller's: nothing, what it holds (a copy of the outermost object), or itself. */
const NOTHING = 0;
const CONTENTS = 1;
const ITSELF = 2;

const CHANGING_METHODS = new Set([
  ...['push', 'pop', 'shift', 'unshift', 'splice', 'sort', 'reverse', 'fill', 'copyWithin'],
  ...['set', 'add', 'delete', 'clear', 'append'],
]);
const CHANGING_FUNCTIONS = new Set([
  ...['Object.assign', 'Object.defineProperty', 'Object.defineProperties', 'Object.setPrototypeOf'],
  ...['Reflect.set', 'Reflect.defineProperty', 'Reflect.deleteProperty'],
]);
/** They return what the receiver holds. */
const ELEMENT_METHODS = new Set(['find', 'findLast', 'at', 'get', 'pop', 'shift']);
/** They return a new collection of what the receiver, or the argument, holds. */
const COPYING_METHODS = new Set([
  ...['filter', 'slice', 'concat', 'flat', 'toSorted', 'toReversed', 'toSpliced', 'with'],
  ...['values', 'entries', 'from', 'fromEntries'],
]);
/** They return the receiver. */
const SAME_METHODS = new Set(['sort', 'reverse', 'fill', 'copyWithin', 'set', 'add']);

/**
 * `file:line: what` for each place where something reachable from a parameter is changed.
 * @param {SourceFile} file
 * @returns {string[]}
 */
export function parameterChanges({ path, text, program, lineAt }) {
  /** @type {Map<Node, Binding | undefined>} */
  const meaning = new Map();
  /** @type {Flow[]} */
  const flows = [];
  /** @type {Array<{ place: Node, changed: Node }>} */
  const changes = [];
  walk(
    program,
    (binding, identifier) => meaning.set(identifier, binding),
    (node) => {
      flows.push(...flowsOf(node));
      for (const changed of changedBy(node)) changes.push({ place: node, changed });
    },
  );
  const shares = follow(flows, meaning);
  return changes
    .filter(({ changed }) => shareOf(changed, shares, meaning) === ITSELF)
    .map(
      ({ place }) => `${path}:${lineAt(place.start)}: ${text.slice(place.start, place.end).split('\n')[0]}`,
    );
}

/**
 * @param {Node} node
 * @returns {Flow[]}
 */
function flowsOf(node) {
  if (node.type === 'VariableDeclarator' && node.init)
    return [{ into: node.id, from: node.init, isElement: false }];
  if (node.type === 'AssignmentExpression') return [{ into: node.left, from: node.right, isElement: false }];
  if (node.type !== 'ForOfStatement') return [];
  const into = node.left.declarations?.[0].id ?? node.left;
  return [{ into, from: node.right, isElement: true }];
}

/**
 * The objects that a node changes.
 * @param {Node} node
 * @returns {Node[]}
 */
function changedBy(node) {
  switch (node.type) {
    case 'AssignmentExpression':
      return objectsSetIn(node.left);
    case 'UpdateExpression':
      return objectsSetIn(node.argument);
    case 'UnaryExpression':
      return node.operator === 'delete' ? objectsSetIn(node.argument) : [];
    case 'ForOfStatement':
    case 'ForInStatement':
      return objectsSetIn(node.left);
    case 'CallExpression':
      return changedByCall(node);
    default:
      return [];
  }
}

/**
 * @param {Node} call
 * @returns {Node[]}
 */
function changedByCall(call) {
  const callee = bare(call.callee);
  if (callee.type !== 'MemberExpression') return [];
  const method = propertyOf(callee);
  if (CHANGING_FUNCTIONS.has(`${callee.object.name}.${method}`)) return call.arguments.slice(0, 1);
  return CHANGING_METHODS.has(method) ? [callee.object] : [];
}

/** @param {Node} member */
function propertyOf(member) {
  return String(member.property.name ?? member.property.value);
}

/**
 * @param {Node} pattern what is assigned to
 * @returns {Node[]}
 */
function objectsSetIn(pattern) {
  const target = bare(pattern);
  switch (target.type) {
    case 'MemberExpression':
      return [target.object];
    case 'ArrayPattern':
      return target.elements.filter(Boolean).flatMap(objectsSetIn);
    case 'ObjectPattern':
      return target.properties.flatMap((/** @type {Node} */ one) => objectsSetIn(one.value ?? one.argument));
    case 'AssignmentPattern':
      return objectsSetIn(target.left);
    case 'RestElement':
      return objectsSetIn(target.argument);
    default:
      return [];
  }
}

/**
 * How much of each variable is a caller's, whatever the order in which it is assigned.
 * @param {readonly Flow[]} flows
 * @param {Map<Node, Binding | undefined>} meaning
 */
function follow(flows, meaning) {
  /** @type {Map<Binding, number>} */
  const shares = new Map();
  const isNews = (/** @type {[Node, number]} */ [name, share]) => {
    const binding = meaning.get(name);
    if (!binding || share <= (shares.get(binding) ?? NOTHING)) return false;
    shares.set(binding, share);
    return true;
  };
  const goOn = () =>
    flows.filter(({ into, from, isElement }) => {
      const share = shareOf(from, shares, meaning);
      return sharesIn(into, isElement ? ofContents(share) : share).filter(isNews).length > 0;
    });
  while (goOn().length > 0);
  return shares;
}

/** @param {number} share */
function ofContents(share) {
  return share === NOTHING ? NOTHING : ITSELF;
}

/** @param {number} share */
function ofCopy(share) {
  return share === NOTHING ? NOTHING : CONTENTS;
}

/**
 * What the names of a pattern get of a value.
 * @param {Node | null} pattern
 * @param {number} share
 * @returns {Array<[Node, number]>}
 */
function sharesIn(pattern, share) {
  switch (pattern?.type) {
    case 'Identifier':
      return [[pattern, share]];
    case 'ObjectPattern':
      return pattern.properties.flatMap((/** @type {Node} */ one) =>
        one.type === 'RestElement' ? sharesIn(one, share) : sharesIn(one.value, ofContents(share)),
      );
    case 'ArrayPattern':
      return pattern.elements.flatMap((/** @type {Node | null} */ one) =>
        sharesIn(one, one?.type === 'RestElement' ? share : ofContents(share)),
      );
    case 'AssignmentPattern':
      return sharesIn(pattern.left, share);
    case 'RestElement':
      return sharesIn(pattern.argument, ofCopy(share));
    default:
      return [];
  }
}

/**
 * How much of an expression's value is a caller's.
 * @param {Node} expression
 * @param {Map<Binding, number>} shares
 * @param {Map<Node, Binding | undefined>} meaning
 * @returns {number}
 */
function shareOf(expression, shares, meaning) {
  const node = bare(expression);
  const share = (/** @type {Node} */ one) => shareOf(one, shares, meaning);
  const most = (/** @type {readonly Node[]} */ all) => Math.max(NOTHING, ...all.map(share));
  switch (node.type) {
    case 'Identifier': {
      const binding = meaning.get(node);
      if (binding?.kind === 'parameter') return ITSELF;
      return (binding && shares.get(binding)) ?? NOTHING;
    }
    case 'MemberExpression':
      return ofContents(share(node.object));
    case 'ConditionalExpression':
      return most([node.consequent, node.alternate]);
    case 'LogicalExpression':
      return most([node.left, node.right]);
    case 'AssignmentExpression':
      return share(node.right);
    case 'ArrayExpression':
      return ofCopy(
        most(node.elements.filter(Boolean).map((/** @type {Node} */ one) => one.argument ?? one)),
      );
    case 'ObjectExpression':
      return ofCopy(most(node.properties.map((/** @type {Node} */ one) => one.value ?? one.argument)));
    case 'NewExpression':
      return ofCopy(most(node.arguments));
    case 'CallExpression':
      return shareOfCall(node, most);
    default:
      return NOTHING;
  }
}

/**
 * @param {Node} call
 * @param {(nodes: readonly Node[]) => number} most
 */
function shareOfCall(call, most) {
  const callee = bare(call.callee);
  if (callee.type !== 'MemberExpression') return NOTHING;
  const method = propertyOf(callee);
  if (ELEMENT_METHODS.has(method)) return ofContents(most([callee.object]));
  if (SAME_METHODS.has(method)) return most([callee.object]);
  return COPYING_METHODS.has(method) ? ofCopy(most([callee.object, ...call.arguments])) : NOTHING;
}
