// @ts-check
// Marks the functions of a file, and the values that mutations would change, so that a run tells which test files reach them: a mutation is
// only tried on those. Where both values were the same throughout a test file, that file cannot notice.
import { isFunction, walk } from '../house/syntax.mjs';
import { mutationsOf } from './operators.mjs';

/** @typedef {import('../house/source-tree.mjs').SourceFile} SourceFile */
/** @typedef {import('./operators.mjs').Mutation} Mutation */

/**
 * The offset of the innermost function around an offset; -1 outside of all.
 * @param {SourceFile} source
 * @param {number} offset
 */
export function functionAround({ program }, offset) {
  let found = -1;
  walk(
    program,
    () => {},
    (node) => {
      if (isFunction(node) && node.body && node.body.start <= offset && offset < node.body.end)
        found = node.start;
    },
  );
  return found;
}

/**
 * The text of a file whose functions tell when they are entered, and whose values tell when a mutation would make them others.
 * @param {SourceFile} source
 */
export function markFile(source) {
  const values = mutationsOf(source).filter(({ isValue }) => isValue);
  const marks = [...functionMarks(source), ...values.map(valueMark)];
  // From the end, so that offsets stay. What begins at one place begins from the outside in, and ends from the inside out: the last that is
  // put somewhere comes first. Of two around the same text the later mark is inside.
  const edits = marks.flatMap(({ start, end, before, after }, index) => [
    { at: start, isEnd: 0, inside: start - end, index, text: before },
    { at: end, isEnd: 1, inside: end - start, index: -index, text: after },
  ]);
  const ordered = edits.sort(
    (a, b) => b.at - a.at || a.isEnd - b.isEnd || b.inside - a.inside || b.index - a.index,
  );
  return ordered.reduce((all, { at, text }) => all.slice(0, at) + text + all.slice(at), source.text);
}

/** @typedef {{ start: number, end: number, before: string, after: string }} Mark */

/**
 * @param {SourceFile} source
 * @returns {Mark[]}
 */
function functionMarks({ path, program }) {
  /** @type {Mark[]} */
  const marks = [];
  walk(
    program,
    () => {},
    (node) => {
      if (!isFunction(node) || !node.body) return;
      const call = `globalThis.holdfastReached?.add('${path}:${node.start}')`;
      const { type, start, end } = node.body;
      if (type === 'BlockStatement')
        marks.push({ start: start + 1, end: end - 1, before: `${call};`, after: '' });
      else marks.push({ start, end, before: `(${call}, `, after: ')' });
    },
  );
  return marks;
}

/**
 * @param {Mutation} mutation
 * @returns {Mark}
 */
function valueMark({ id, start, end, replace }) {
  return {
    start,
    end,
    before: `(globalThis.holdfastCompare ?? ((_, own) => own()))(${JSON.stringify(id)}, () => (`,
    after: `), () => (${replace}))`,
  };
}
