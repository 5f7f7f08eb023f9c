// @ts-check
// What a reader of the source pays, in figures. They are printed and looked at in review; no build fails for them.
import { longestCallChain } from './call-chain.mjs';
import { linkTree } from './source-tree.mjs';

/** @typedef {import('./source-tree.mjs').SourceFile} SourceFile */
/** @typedef {import('./source-tree.mjs').Item} Item */

/**
 * One figure. `hono` and `pepr`: the same one of two programs of the field (28a9c128 and b16fc8b7, 2026-08); `where`: what it was found on;
 * `list`: all that it counts.
 * @typedef {{ name: string, value: string, aim: string, hono: string, pepr: string, where?: string, list?: string[] }} Figure
 */

const SMALL_FILE_LINES = 40;
const LONE_FILE_LINES = 60;
const SMALL_FUNCTION_LINES = 8;

/**
 * @param {readonly SourceFile[]} files
 * @returns {Figure[]}
 */
export function figuresOf(files) {
  const items = linkTree(files);
  const folder = fullestFolder(files);
  const lone = loneFiles(files);
  const functions = [...items.values()].filter(({ isFunction, isInner }) => isFunction && !isInner);
  const small = functions.filter(({ lines, usedBy }) => lines <= SMALL_FUNCTION_LINES && usedBy.size === 1);
  const imports = longestImportChain(files);
  const calls = longestCallChain(items, 'rollout/step.ts#step');
  return [
    figure(`files under ${SMALL_FILE_LINES} lines`, percent(files, isSmall), ['10 %', '37 %', '30 %']),
    {
      ...figure(`files under ${LONE_FILE_LINES} lines with one importer`, lone.length, ['', '37', '21']),
      list: lone,
    },
    figure('entries of the fullest folder', folder.entries, ['25', '26', '21'], folder.path),
    figure('imports of a file, p90', quantile(files.map(importCount), 0.9), ['8', '6', '8']),
    {
      ...figure(
        `functions with one caller, at most ${SMALL_FUNCTION_LINES} lines`,
        percent(functions, (one) => small.includes(one)),
        ['15 %', '15 %', '18 %'],
      ),
      list: small.map(({ id, usedBy }) => `${id} in ${[...usedBy][0]}`),
    },
    figure('longest chain of imports, files', imports.length, ['18', '18', '15'], imports.join(' > ')),
    figure('longest chain of calls from step', calls.length, ['10', '', ''], calls.map(nameOf).join(' > ')),
  ];
}

/**
 * @param {string} name
 * @param {number | string} value
 * @param {[string, string, string]} beside aim, hono, pepr
 * @param {string} [where]
 * @returns {Figure}
 */
function figure(name, value, [aim, hono, pepr], where) {
  return { name, value: String(value), aim, hono, pepr, ...(where === undefined ? {} : { where }) };
}

/** @param {SourceFile} file */
function isSmall(file) {
  return file.lines < SMALL_FILE_LINES;
}

/** @param {SourceFile} file */
function importCount(file) {
  return new Set(file.imports.map(({ path }) => path)).size;
}

/** @param {string} id */
function nameOf(id) {
  return id.slice(id.indexOf('#') + 1);
}

/**
 * @template T
 * @param {readonly T[]} all
 * @param {(one: T) => boolean} test
 */
function percent(all, test) {
  return `${Math.round((all.filter(test).length * 100) / Math.max(1, all.length))} %`;
}

/**
 * @param {number[]} numbers
 * @param {number} share
 */
function quantile(numbers, share) {
  return numbers.sort((a, b) => a - b)[Math.floor(numbers.length * share)] ?? 0;
}

/**
 * Files that could stand in the one file that imports them.
 * @param {readonly SourceFile[]} files
 */
function loneFiles(files) {
  /** @type {Map<string, Set<string>>} */
  const importers = new Map();
  for (const { path, imports } of files)
    for (const { path: target } of imports)
      importers.set(target, (importers.get(target) ?? new Set()).add(path));
  return files
    .filter(({ path, lines }) => lines < LONE_FILE_LINES && importers.get(path)?.size === 1)
    .map(({ path }) => `${path} in ${[...(importers.get(path) ?? [])][0]}`);
}

/** @param {readonly SourceFile[]} files */
function fullestFolder(files) {
  /** @type {Map<string, Set<string>>} */
  const entries = new Map();
  for (const { path } of files) {
    const parts = path.split('/');
    for (let depth = 0; depth < parts.length; depth += 1) {
      const folder = parts.slice(0, depth).join('/');
      entries.set(folder, (entries.get(folder) ?? new Set()).add(parts[depth] ?? ''));
    }
  }
  const [path, found] = [...entries].reduce((a, b) => (b[1].size > a[1].size ? b : a));
  return { path, entries: found.size };
}

/**
 * The longest way from file to file along imports, types included. There are no cycles: the architecture test sees to it.
 * @param {readonly SourceFile[]} files
 * @returns {string[]}
 */
export function longestImportChain(files) {
  const byPath = new Map(files.map((file) => [file.path, file]));
  /** @type {Map<string, string[]>} */
  const known = new Map();
  /** @type {(path: string) => string[]} */
  const chainFrom = (path) => {
    const found = known.get(path);
    if (found) return found;
    known.set(path, [path]);
    const after = (byPath.get(path)?.imports ?? [])
      .filter((one) => byPath.has(one.path))
      .map((one) => chainFrom(one.path));
    const chain = [path, ...longestOf(after)];
    known.set(path, chain);
    return chain;
  };
  return longestOf(files.map(({ path }) => chainFrom(path)));
}

/** @param {string[][]} chains */
function longestOf(chains) {
  return chains.reduce((a, b) => (b.length > a.length ? b : a), /** @type {string[]} */ ([]));
}
