import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';

/**
 * What each folder of src may import (design section 3). `*` is everything. Adapters never see each other: the engine gets them as
 * interfaces, and only app.ts wires.
 */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  api: [],
  rollout: ['api'],
  http: ['api'],
  git: ['api', 'http'],
  forge: ['api', 'http'],
  cluster: ['api'],
  routing: ['api'],
  metrics: ['api', 'http'],
  hooks: ['api', 'http'],
  notify: ['api', 'http'],
  render: ['api'],
  release: ['api', 'render', 'rollout'],
  workload: ['api', 'release', 'rollout'],
  sandbox: ['api'],
  writeback: ['api'],
  engine: ['api', 'render', 'release', 'rollout', 'workload', 'writeback'],
  web: ['api', 'engine'],
  cli: ['*'],
  'app.ts': ['*'],
  app: ['*'],
  'main.ts': ['cli'],
};

const MAX_FILE_LINES = 250;
const MAX_MEDIAN_LINES = 120;
const source = resolve(import.meta.dirname, '../src');

interface SourceFile {
  path: string;
  text: string;
  imports: string[];
}

const files = readSources();

describe('the architecture', () => {
  it('imports only along the arrows of the design', () => {
    const wrong = files.flatMap((file) =>
      file.imports
        .filter((target) => !isAllowed(folderOf(file.path), folderOf(target)))
        .map((target) => `${file.path} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('keeps the rollout core free of time, chance, I/O and packages', () => {
    const banned =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bsetTimeout\b|\bprocess\.|\bfetch\(|\basync\b|\bPromise\b/;
    const packages = /from '(?!\.)/;
    const core = files.filter((file) => folderOf(file.path) === 'rollout');
    const wrong = core
      .filter((file) => banned.test(code(file.text)) || packages.test(file.text))
      .map((file) => file.path);
    expect(core.length).toBeGreaterThan(10);
    expect(wrong).toEqual([]);
  });

  it('has no import cycles', () => {
    expect(cycles()).toEqual([]);
  });

  it(`keeps files under ${MAX_FILE_LINES} lines, half of them under ${MAX_MEDIAN_LINES}`, () => {
    const sizes = files.map((file) => ({ path: file.path, lines: file.text.split('\n').length - 1 }));
    const sorted = sizes.map((entry) => entry.lines).sort((a, b) => a - b);
    expect(sizes.filter((entry) => entry.lines > MAX_FILE_LINES)).toEqual([]);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThanOrEqual(MAX_MEDIAN_LINES);
  });

  it('gives every exported function, class, constant and interface a docstring', () => {
    const exported = /^export (?:async )?(?:function|class|interface|const) (\w+)/;
    const wrong = files.flatMap((file) => {
      const lines = file.text.split('\n');
      return lines.flatMap((line, index) => {
        const name = exported.exec(line)?.[1];
        const above = lines[index - 1]?.trim() ?? '';
        const documented = above.endsWith('*/') || folderOf(file.path) === 'api';
        return name && !documented ? [`${file.path}:${index + 1} ${name}`] : [];
      });
    });
    expect(wrong).toEqual([]);
  });
});

function readSources(): SourceFile[] {
  return walk(source)
    .filter((path) => path.endsWith('.ts') && !path.includes('.test'))
    .map((path) => {
      const text = readFileSync(path, 'utf8');
      const imports = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, target]) =>
        relative(source, resolve(dirname(path), target ?? '')),
      );
      return { path: relative(source, path), text, imports };
    });
}

function walk(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });
}

function folderOf(path: string): string {
  return path.split(sep)[0] ?? '';
}

function isAllowed(from: string, to: string): boolean {
  const allowed = ALLOWED[from];
  return from === to || (allowed?.includes('*') ?? false) || (allowed?.includes(to) ?? false);
}

/** Text without comments. */
function code(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
}

/** Import cycles, types included: a cycle of types is a cycle of thought. */
function cycles(): string[] {
  const graph = new Map(files.map((file) => [file.path, file.imports]));
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
  for (const file of files) visit(file.path, []);
  return found;
}
