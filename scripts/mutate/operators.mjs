// @ts-check
// Mutations that need nobody to think of them: each breaks one decision of a file, the text of which stays readable.
import { createHash } from 'node:crypto';
import { bare, childrenOf, walk } from '../house/syntax.mjs';

/** @typedef {import('../house/syntax.mjs').Node} Node */
/** @typedef {import('../house/source-tree.mjs').SourceFile} SourceFile */

/**
 * One change of one file. `file` is relative to the checkout; the text from `start` to `end` gives way to `replace`. `id` stays the same as long as
 * the text around it does. `isValue`: an expression that calls nothing, so that both may be had side by side, and compared.
 * @typedef {object} Mutation
 * @property {string} id
 * @property {string} rule
 * @property {string} file
 * @property {number} line
 * @property {number} start
 * @property {number} end
 * @property {string} find
 * @property {string} replace
 * @property {boolean} isValue
 */

/**
 * What an operator makes of a node.
 * @typedef {{ operator: string, node: { start: number, end: number }, replace: string, isValue: boolean }} Change
 */

const OTHER_COMPARISON = /** @type {const} */ ({ '<': '<=', '<=': '<', '>': '>=', '>=': '>' });
const OTHER_LOGIC = /** @type {const} */ ({ '&&': '||', '||': '&&' });
const OTHER_METHOD = /** @type {const} */ ({
  ...{ min: 'max', max: 'min', floor: 'ceil', ceil: 'floor' },
  ...{ some: 'every', every: 'some' },
});

/** @type {ReadonlyArray<(node: Node, text: string) => Change[]>} */
const OPERATORS = [negateCondition, dropGuard, otherComparison, otherLogic, otherMethod, dropAction];

/**
 * All automatic mutations of a file of the product.
 * @param {SourceFile} source
 * @returns {Mutation[]}
 */
export function mutationsOf(source) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  /** @type {Mutation[]} */
  const found = [];
  walk(
    source.program,
    () => {},
    (node, trail) => {
      for (const operator of OPERATORS)
        for (const change of operator(node, source.text)) {
          const mutation = mutationFrom(source, change, around(trail, node));
          const count = (seen.get(mutation.id) ?? 0) + 1;
          seen.set(mutation.id, count);
          found.push(count === 1 ? mutation : { ...mutation, id: `${mutation.id}-${count}` });
        }
    },
  );
  return found;
}

/**
 * @param {SourceFile} source
 * @param {Change} change
 * @param {string} name of the function around
 * @returns {Mutation}
 */
function mutationFrom({ path, text, lineAt }, { operator, node: { start, end }, replace, isValue }, name) {
  const find = text.slice(start, end);
  const hash = createHash('sha256').update(`${find}\0${replace}`).digest('hex').slice(0, 6);
  const id = `${operator}:${path}:${name}:${hash}`;
  return { id, rule: '', file: `src/${path}`, line: lineAt(start), start, end, find, replace, isValue };
}

/**
 * @param {readonly Node[]} trail
 * @param {Node} node
 */
function around(trail, node) {
  const named = [...trail, node].find(({ id }) => id?.type === 'Identifier');
  return named?.id.name ?? '';
}

/** @type {(typeof OPERATORS)[number]} */
function negateCondition(node, text) {
  if (node.type !== 'IfStatement' && node.type !== 'ConditionalExpression') return [];
  const replace = `!(${text.slice(node.test.start, node.test.end)})`;
  return [{ operator: 'negate', node: node.test, replace, isValue: false }];
}

/** @type {(typeof OPERATORS)[number]} */
function dropGuard(node) {
  if (node.type !== 'IfStatement' || node.alternate) return [];
  const statements = node.consequent.type === 'BlockStatement' ? node.consequent.body : [node.consequent];
  const isGuard = /^(Return|Continue|Break)Statement$/.test(statements.at(-1)?.type ?? '');
  return isGuard ? [{ operator: 'drop-guard', node, replace: ';', isValue: false }] : [];
}

/** @type {(typeof OPERATORS)[number]} */
function otherComparison(node, text) {
  if (node.type !== 'BinaryExpression') return [];
  return otherOperator('comparison', node, text, /** @type {any} */ (OTHER_COMPARISON)[node.operator]);
}

/** @type {(typeof OPERATORS)[number]} */
function otherLogic(node, text) {
  if (node.type !== 'LogicalExpression') return [];
  return otherOperator('logic', node, text, /** @type {any} */ (OTHER_LOGIC)[node.operator]);
}

/**
 * @param {string} name
 * @param {Node} node
 * @param {string} text
 * @param {string | undefined} other
 * @returns {Change[]}
 */
function otherOperator(name, node, text, other) {
  if (other === undefined) return [];
  const { left, right } = node;
  const replace = `((${text.slice(left.start, left.end)}) ${other} (${text.slice(right.start, right.end)}))`;
  return [{ operator: name, node, replace, isValue: !calls(left) && !calls(right) }];
}

/** @type {(typeof OPERATORS)[number]} */
function otherMethod(node, text) {
  const callee = node.type === 'CallExpression' ? bare(node.callee) : undefined;
  if (callee?.type !== 'MemberExpression' || callee.computed) return [];
  const { name } = callee.property;
  const other = Object.hasOwn(OTHER_METHOD, name) ? /** @type {any} */ (OTHER_METHOD)[name] : undefined;
  if (other === undefined) return [];
  const { start, end } = callee.property;
  const replace = text.slice(node.start, start) + other + text.slice(end, node.end);
  return [
    { operator: 'method', node, replace, isValue: !calls(callee.object) && !node.arguments.some(calls) },
  ];
}

/** Does something below a node happen, other than reading? @param {Node} node @returns {boolean} */
function calls(node) {
  return (
    /^(Call|New|Assignment|Update|Yield|Await)Expression$/.test(node.type) || childrenOf(node).some(calls)
  );
}

/** An action that is not done: an element of a list, or an argument. @type {(typeof OPERATORS)[number]} */
function dropAction(node) {
  if (node.type !== 'ArrayExpression' && node.type !== 'CallExpression') return [];
  const all = /** @type {Node[]} */ ((node.elements ?? node.arguments).filter(Boolean));
  return all.flatMap((one, index) => {
    if (!isAction(one)) return [];
    const next = all[index + 1];
    const start = next ? one.start : (all[index - 1]?.end ?? one.start);
    return [
      {
        operator: 'drop-action',
        node: { start, end: next ? next.start : one.end },
        replace: '',
        isValue: false,
      },
    ];
  });
}

/** An object with a type as actions have it. @param {Node} node */
function isAction(node) {
  const value = bare(node);
  if (value.type !== 'ObjectExpression') return false;
  return value.properties.some(
    (/** @type {Node} */ one) => one.key?.name === 'type' && /^[A-Z]/.test(String(one.value.value ?? '')),
  );
}
