// @ts-check
// The product's source files, parsed: what each imports, declares and uses.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { parseSync } from 'vite';
import { bare, declarationsIn, isFunction, walk } from './syntax.mjs';

/** @typedef {import('./syntax.mjs').Node} Node */

/**
 * One import or re-export of a file of ours. `path` is relative to the source folder; names are those of the imported file.
 * @typedef {{ path: string, names: string[], line: number }} Import
 */

/**
 * @typedef {object} SourceFile
 * @property {string} path relative to the source folder, with `/`
 * @property {string} text
 * @property {number} lines
 * @property {Node} program
 * @property {Import[]} imports
 * @property {(offset: number) => number} lineAt the line of an offset, from 1
 */

/**
 * Something that a module declares at its top, or a function inside such a constant (`table.ts#ROWS.Idle`).
 * @typedef {object} Item
 * @property {string} id `path#name`
 * @property {string} path
 * @property {string} name
 * @property {boolean} isFunction
 * @property {boolean} isInner
 * @property {number} lines
 * @property {Set<string>} uses ids
 * @property {Set<string>} usedBy ids; `path#` is the module itself
 */

/**
 * All files of the product below a folder, without tests.
 * @param {string} folder absolute
 * @returns {SourceFile[]}
 */
export function readTree(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|tsx)$/.test(path) && !/\.test\b|\.d\.ts$/.test(path))
    .sort()
    .map((path) => readSource(folder, path));
}

/**
 * @param {string} folder
 * @param {string} name
 * @returns {SourceFile}
 */
function readSource(folder, name) {
  const text = readFileSync(join(folder, name), 'utf8');
  const path = name.split(sep).join('/');
  return sourceFile(path, text);
}

/**
 * A file from its text; `path` is relative to the source folder.
 * @param {string} path
 * @param {string} text
 * @returns {SourceFile}
 */
export function sourceFile(path, text) {
  const { program, errors } = parseSync(path, text);
  if (errors[0]) throw new Error(`${path} cannot be parsed: ${errors[0].message}`);
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineAt = (/** @type {number} */ offset) => countUpTo(starts, offset);
  const file = { path, text, lines: starts.length - 1, program: /** @type {any} */ (program), lineAt };
  return { ...file, imports: importsOf(file) };
}

/**
 * How many of the ascending numbers are at most `limit`.
 * @param {readonly number[]} numbers
 * @param {number} limit
 */
function countUpTo(numbers, limit) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (numbers[middle]) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @param {Omit<SourceFile, 'imports'>} file
 * @returns {Import[]}
 */
function importsOf({ path, text, program, lineAt }) {
  /** @type {Import[]} */
  const found = [];
  const add = (
    /** @type {unknown} */ target,
    /** @type {string[]} */ names,
    /** @type {number} */ offset,
  ) => {
    if (typeof target !== 'string' || !target.startsWith('.')) return;
    found.push({ path: targetOf(path, target), names, line: lineAt(offset) });
  };
  for (const statement of program.body) {
    if (statement.source) add(statement.source.value, importedNames(statement), statement.start);
  }
  // Imports that are called, and types of the form import('./x.ts').y, stand anywhere.
  for (const match of text.matchAll(/\bimport\(\s*'(\.[^']+)'\s*\)(?:\.(\w+))?/g))
    add(match[1], [match[2] ?? '*'], match.index);
  return found;
}

/**
 * @param {string} path
 * @param {string} target
 */
function targetOf(path, target) {
  return relative('/', resolve('/', dirname(path), target))
    .split(sep)
    .join('/');
}

/**
 * @param {Node} statement
 * @returns {string[]}
 */
function importedNames(statement) {
  if (!statement.specifiers) return ['*'];
  return statement.specifiers.map((/** @type {Node} */ one) => {
    if (one.type === 'ImportNamespaceSpecifier') return '*';
    return one.type === 'ExportSpecifier' ? one.local.name : (one.imported?.name ?? 'default');
  });
}

/**
 * What modules declare at their top, and which of it uses which.
 * @param {readonly SourceFile[]} files
 * @returns {Map<string, Item>}
 */
export function linkTree(files) {
  /** @type {Map<string, Item>} */
  const items = new Map();
  for (const file of files) for (const item of itemsOf(file)) items.set(item.id, item);
  const exportsByPath = new Map(files.map((file) => [file.path, exportsOf(file)]));
  for (const file of files) {
    for (const { from, to } of usesIn(file, exportsByPath, items)) {
      items.get(from)?.uses.add(to);
      items.get(to)?.usedBy.add(from);
    }
  }
  return items;
}

/**
 * @param {SourceFile} file
 * @returns {Item[]}
 */
function itemsOf(file) {
  return declarationsIn(file.program.body).map(({ name, node }) =>
    itemAt(file, name, node, { isFunction: isFunction(valueIn(node)), isInner: false }),
  );
}

/**
 * @param {SourceFile} file
 * @param {string} name
 * @param {Node} node
 * @param {{ isFunction: boolean, isInner: boolean }} kind
 * @returns {Item}
 */
function itemAt({ path, lineAt }, name, node, kind) {
  const lines = lineAt(node.end) - lineAt(node.start) + 1;
  return { id: `${path}#${name}`, path, name, ...kind, lines, uses: new Set(), usedBy: new Set() };
}

/**
 * What a declaration stands for: a constant's value, or the function or class itself.
 * @param {Node} node
 * @returns {Node}
 */
function valueIn(node) {
  return node.type === 'VariableDeclarator' && node.init ? bare(node.init) : node;
}

/**
 * Where the exported names of a file are declared: in itself (`path` is its own) or in another file.
 * @param {SourceFile} file
 * @returns {Map<string, { path: string, name: string }>}
 */
function exportsOf({ path, program }) {
  const found = new Map(declarationsIn(program.body).map(({ name }) => [name, { path, name }]));
  for (const statement of program.body) {
    if (statement.type !== 'ExportNamedDeclaration') continue;
    for (const one of statement.specifiers ?? []) {
      const from = statement.source ? targetOf(path, statement.source.value) : path;
      if (from !== path || one.local.name !== one.exported.name)
        found.set(one.exported.name, { path: from, name: one.local.name });
    }
  }
  return found;
}

/**
 * @param {SourceFile} file
 * @param {Map<string, Map<string, { path: string, name: string }>>} exportsByPath
 * @param {Map<string, Item>} items
 */
function usesIn(file, exportsByPath, items) {
  const imported = importedItems(file, exportsByPath);
  /** @type {Array<{ from: string, to: string }>} */
  const uses = [];
  walk(
    file.program,
    (binding, identifier, trail) => {
      const own = binding?.kind === 'module' ? `${file.path}#${binding.name}` : undefined;
      const to = own ?? (binding && imported.get(binding.node));
      if (to === undefined || trail.at(-1)?.id === identifier) return;
      const from = itemAround(file, trail, items);
      if (from !== to) uses.push({ from, to });
    },
    (node, trail) => {
      if (isFunction(node)) itemAround(file, [...trail, node], items);
    },
  );
  return uses;
}

/**
 * @param {SourceFile} file
 * @param {Map<string, Map<string, { path: string, name: string }>>} exportsByPath
 * @returns {Map<Node, string>} ids by specifier
 */
function importedItems(file, exportsByPath) {
  const found = new Map();
  for (const statement of file.program.body) {
    if (statement.type !== 'ImportDeclaration' || !statement.source.value.startsWith('.')) continue;
    const path = targetOf(file.path, statement.source.value);
    for (const specifier of statement.specifiers) {
      const at = declared({ path, name: specifier.imported?.name ?? 'default' }, exportsByPath);
      found.set(specifier, `${at.path}#${at.name}`);
    }
  }
  return found;
}

/**
 * Where an exported name is declared, through files that only pass it on.
 * @param {{ path: string, name: string }} at
 * @param {Map<string, Map<string, { path: string, name: string }>>} exportsByPath
 * @returns {{ path: string, name: string }}
 */
function declared(at, exportsByPath) {
  const next = exportsByPath.get(at.path)?.get(at.name);
  return !next || (next.path === at.path && next.name === at.name) ? at : declared(next, exportsByPath);
}

/**
 * The declaration at the module's top that a node stands in, or the function inside that constant.
 * @param {SourceFile} file
 * @param {readonly Node[]} trail
 * @param {Map<string, Item>} items
 */
function itemAround(file, trail, items) {
  const depth = trail.findIndex(({ type }) =>
    /^(VariableDeclarator|FunctionDeclaration|ClassDeclaration)$/.test(type),
  );
  const declaration = trail[depth];
  if (declaration?.id?.type !== 'Identifier' || !isAtTop(trail, depth)) return `${file.path}#`;
  const top = `${file.path}#${declaration.id.name}`;
  const inner = trail.findIndex((node, index) => index > depth && isFunction(node));
  if (items.get(top)?.isFunction !== false || inner < 0) return top;
  const name = [declaration.id.name, ...keysBetween(trail, depth, inner)].join('.');
  const id = `${file.path}#${name}`;
  if (!items.has(id)) {
    const item = itemAt(file, name, /** @type {Node} */ (trail[inner]), { isFunction: true, isInner: true });
    items.set(id, item);
    items.get(top)?.uses.add(id);
    item.usedBy.add(top);
  }
  return id;
}

/**
 * @param {readonly Node[]} trail
 * @param {number} depth
 */
function isAtTop(trail, depth) {
  const around = trail.slice(1, depth);
  return around.every(({ type }) => type === 'VariableDeclaration' || type === 'ExportNamedDeclaration');
}

/**
 * The keys on the way from a constant to a function inside it; a position where there is no key.
 * @param {readonly Node[]} trail
 * @param {number} from
 * @param {number} to
 */
function keysBetween(trail, from, to) {
  const keys = trail
    .slice(from + 1, to)
    .filter(({ type }) => /^(Property|MethodDefinition|PropertyDefinition)$/.test(type))
    .map(({ key }) => String(key.name ?? key.value));
  return keys.length > 0 ? keys : [String(trail[to]?.start)];
}
