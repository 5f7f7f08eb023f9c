import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { longestCallChain } from '../scripts/house/call-chain.mjs';
import { parameterChanges } from '../scripts/house/parameter-changes.mjs';
import { linkTree, readTree, type SourceFile, sourceFile } from '../scripts/house/source-tree.mjs';
import { declarationsIn, isFunction } from '../scripts/house/syntax.mjs';
import { limits } from '../src/api/limits.ts';

/**
 * What each folder of src may import (design section 3). `*` is everything. Adapters never see each other: they share the interfaces of
 * contracts with the engine, and only the server wires.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  api: [],
  contracts: ['api'],
  health: ['api'],
  rollout: ['api', 'health'],
  http: ['api'],
  git: ['api', 'contracts', 'http'],
  cluster: ['api', 'contracts', 'http'],
  providers: ['api', 'contracts', 'http'],
  render: ['api'],
  release: ['api', 'render'],
  workload: ['api', 'health', 'release', 'rollout'],
  writeback: ['api'],
  engine: ['api', 'contracts', 'health', 'render', 'release', 'rollout', 'workload', 'writeback'],
  dashboard: ['api'],
  server: [
    ...[
      'api',
      'cluster',
      'contracts',
      'dashboard',
      'engine',
      'git',
      'http',
      'providers',
      'render',
      'rollout',
    ],
    'workload',
  ],
  terminal: ['api', 'render'],
  review: [
    ...['api', 'contracts', 'health', 'render', 'release', 'rollout', 'workload', 'writeback'],
    ...['cluster', 'engine', 'git', 'http', 'providers', 'server', 'terminal'],
  ],
  migrate: [
    ...['api', 'health', 'render', 'release', 'rollout', 'workload'],
    ...['cluster', 'engine', 'providers', 'review', 'server', 'terminal'],
  ],
  cli: ['*'],
  'main.ts': ['cli'],
};

const MAX_FILE_LINES = 500;
/** A file of which one constant takes this share is a table or a schema; it is as long as what it lists. */
const TABLE_SHARE = 0.8;
/** Functions that call each other, from `step` to the last. */
const LONGEST_CALL_CHAIN = 10;

const files = readTree(resolve(import.meta.dirname, '../src'));
const sandbox = readTree(resolve(import.meta.dirname, '../sandbox'));
/** Tests too, which also import. Paths are those of the repository. */
const everything = ['src', 'sandbox', 'test', 'scripts'].flatMap((folder) => allFiles(folder));
const core = files.filter(({ path }) => ['health', 'rollout'].includes(folderOf(path)));

describe('the architecture', () => {
  it('imports only along the arrows of the design', () => {
    const wrong = files.flatMap((file) =>
      file.imports
        .filter((target) => !isAllowed(folderOf(file.path), folderOf(target.path)))
        .map((target) => `${file.path}:${target.line} -> ${target.path}`),
    );
    expect(wrong).toEqual([]);
  });

  it('has no import cycles', () => {
    expect(cycles(files)).toEqual([]);
    expect(cycles(sandbox)).toEqual([]);
  });

  it('imports one way between the folders of a folder', () => {
    const arrows = new Set(
      files.flatMap((file) =>
        file.imports.map(({ path }) => siblings(file.path, path)).filter((arrow) => arrow !== ''),
      ),
    );
    const both = [...arrows].filter((arrow) => arrows.has(arrow.split(' -> ').reverse().join(' -> ')));
    expect(both).toEqual([]);
  });

  it('keeps the sandbox apart: it knows the API alone, and only its demo runs the product', () => {
    const wrong = sandbox
      .filter(({ path }) => folderOf(path) !== 'demo')
      .flatMap((file) =>
        file.imports
          .filter(
            ({ path }) =>
              folderOf(path) === 'demo' || (path.startsWith('src/') && !path.startsWith('src/api/')),
          )
          .map(({ path, line }) => `sandbox/${file.path}:${line} -> ${path}`),
      );
    expect(wrong).toEqual([]);
  });

  it(`keeps files under ${MAX_FILE_LINES} lines, tables and schemas aside`, () => {
    const wrong = [...files, ...sandbox]
      .filter((file) => file.lines > MAX_FILE_LINES && !isTable(file))
      .map(({ path, lines }) => `${path}: ${lines}`);
    expect(wrong).toEqual([]);
  });

  it('exports nothing that nobody imports', () => {
    const used = new Set(
      everything.flatMap((file) =>
        file.imports.flatMap(({ path, names }) => names.map((name) => `${path} ${name}`)),
      ),
    );
    const wrong = everything
      .filter(({ path }) => /^(src|sandbox)\//.test(path) && !used.has(`${path} *`))
      .flatMap(({ path, text }) => exportsIn(text).map((name) => `${path} ${name}`))
      .filter((exported) => !used.has(exported));
    expect(everything.length).toBeGreaterThan(files.length);
    expect(wrong).toEqual([]);
  });

  it('holds to every limit that it names', () => {
    const unused = Object.keys(limits).filter(
      (name) =>
        !files.some(({ path, text }) => path !== 'api/limits.ts' && new RegExp(`\\b${name}\\b`).test(text)),
    );
    expect(unused).toEqual([]);
  });

  it('gives what leaves its folder a docstring', () => {
    const used = namesUsedElsewhere();
    const wrong = files
      .filter((file) => folderOf(file.path) !== 'api')
      .flatMap((file) => undocumented(file, used.get(file.path) ?? new Set()));
    expect(wrong).toEqual([]);
  });
});

describe('the core', () => {
  it('is free of time, chance, I/O and packages', () => {
    const banned =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bsetTimeout\b|\bprocess\.|\bfetch\(|\basync\b|\bPromise\b/;
    const packages = /from '(?!\.)/;
    const wrong = core
      .filter((file) => banned.test(code(file.text)) || packages.test(file.text))
      .map((file) => file.path);
    expect(core.length).toBeGreaterThan(10);
    expect(wrong).toEqual([]);
  });

  it('changes nothing that its callers hand it', () => {
    const wrong = core.flatMap(parameterChanges);
    expect(wrong).toEqual([]);
  });

  it(`calls at most ${LONGEST_CALL_CHAIN} functions deep from step`, () => {
    const chain = longestCallChain(linkTree(files), 'rollout/step.ts#step');
    expect(chain.length).toBeGreaterThan(3);
    expect(chain.length, chain.join('\n')).toBeLessThanOrEqual(LONGEST_CALL_CHAIN);
  });
});

function folderOf(path: string): string {
  return path.split('/')[0] ?? '';
}

/** `src/<folder>` or `src/<folder>/<sub>`, as far as docstrings go. */
function roomOf(path: string): string {
  return path.split('/').slice(0, -1).slice(0, 2).join('/');
}

/** The arrow between two folders of one folder, at the first level where the paths part; empty where there is none. */
function siblings(from: string, to: string): string {
  const [left, right] = [from.split('/').slice(0, -1), to.split('/').slice(0, -1)];
  const at = left.findIndex((part, index) => part !== right[index]);
  if (at < 1 || right[at] === undefined) return '';
  return `${left.slice(0, at + 1).join('/')} -> ${right.slice(0, at + 1).join('/')}`;
}

function isAllowed(from: string, to: string): boolean {
  const allowed = ALLOWED[from];
  return from === to || (allowed?.includes('*') ?? false) || (allowed?.includes(to) ?? false);
}

/** One exported constant that is no function takes nearly the whole file. */
function isTable({ program, lines, lineAt }: SourceFile): boolean {
  return declarationsIn(program.body).some(({ node }) => {
    const isConstant = node.type === 'VariableDeclarator' && !(node.init && isFunction(node.init));
    return isConstant && lineAt(node.end) - lineAt(node.start) + 1 >= lines * TABLE_SHARE;
  });
}

/** The names that files of other folders import, by the file that exports them. */
function namesUsedElsewhere(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const file of files) {
    for (const { path, names } of file.imports) {
      if (roomOf(path) === roomOf(file.path)) continue;
      const known = found.get(path) ?? new Set();
      for (const name of names) known.add(name);
      found.set(path, known);
    }
  }
  return found;
}

function allFiles(folder: string): SourceFile[] {
  const root = resolve(import.meta.dirname, '..');
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((path) => /\.(tsx?|mjs)$/.test(path) && !path.includes('node_modules'))
    .map((path) => sourceFile(path, readFileSync(join(root, path), 'utf8')));
}

function exportsIn(text: string): string[] {
  const exported = /^export (?:async )?(?:function\*?|(?:abstract )?class|interface|const|let|type) (\w+)/gm;
  return [...text.matchAll(exported)].map(([, name = '']) => name);
}

/** Functions, classes, constants and interfaces without a comment above. */
function undocumented({ path, text }: SourceFile, names: ReadonlySet<string>): string[] {
  const exported = /^export (?:async )?(?:function\*?|class|interface|const) (\w+)/;
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const name = exported.exec(line)?.[1];
    const isDocumented = lines[index - 1]?.trim().endsWith('*/');
    return name && (names.has(name) || names.has('*')) && !isDocumented
      ? [`${path}:${index + 1} ${name}`]
      : [];
  });
}

/** Text without comments. */
function code(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
}

/** Import cycles, types included: a cycle of types is a cycle of thought. */
function cycles(tree: readonly SourceFile[]): string[] {
  const graph = new Map(tree.map((file) => [file.path, file.imports.map(({ path }) => path)]));
  const state = new Map<string, 'open' | 'done'>();
  const found: string[] = [];
  const visit = (path: string, trail: string[]): void => {
    if (state.get(path) === 'done') return;
    if (state.get(path) === 'open') {
      found.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
      return;
    }
    state.set(path, 'open');
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    state.set(path, 'done');
  };
  for (const { path } of tree) visit(path, []);
  return found;
}
