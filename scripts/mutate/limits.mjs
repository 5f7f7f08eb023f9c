// @ts-check
// Takes the time limits out of a test file: on a busy machine they would catch what no assertion catches.
import { walk } from '../house/syntax.mjs';

/** @typedef {import('../house/syntax.mjs').Node} Node */
/** @typedef {import('../house/source-tree.mjs').SourceFile} SourceFile */

/**
 * The text of a test file with the limits of its tests and groups put far away.
 * @param {SourceFile} source
 * @param {number} limitMs what they become
 */
export function withoutLimits({ text, program }, limitMs) {
  /** @type {Node[]} */
  const limits = [];
  walk(
    program,
    () => {},
    (node) => {
      if (
        node.type !== 'CallExpression' ||
        !/^(describe|it|test)\b/.test(text.slice(node.start, node.start + 9))
      )
        return;
      for (const argument of node.arguments) limits.push(...limitsIn(argument));
    },
  );
  return limits
    .sort((a, b) => b.start - a.start)
    .reduce((all, { start, end }) => all.slice(0, start) + String(limitMs) + all.slice(end), text);
}

/**
 * @param {Node} argument of a test or a group
 * @returns {Node[]}
 */
function limitsIn(argument) {
  if (argument.type === 'Literal' && typeof argument.value === 'number') return [argument];
  if (argument.type !== 'ObjectExpression') return [];
  return argument.properties
    .filter((/** @type {Node} */ one) => one.key?.name === 'timeout')
    .map((/** @type {Node} */ one) => one.value);
}
