import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTree, sourceFile } from '../scripts/house/source-tree.mjs';
import { withoutLimits } from '../scripts/mutate/limits.mjs';
import { type Mutation, mutationsOf } from '../scripts/mutate/operators.mjs';
import { functionAround, markFile } from '../scripts/mutate/reach.mjs';

const root = resolve(import.meta.dirname, '..');
const tables = join(root, 'test/mutations');
const core = readTree(join(root, 'src')).filter(({ path }) => path.startsWith('rollout/'));

const changes = (text: string): string[] =>
  mutationsOf(sourceFile('core.ts', text)).map(
    ({ start, end, replace }) => text.slice(0, start) + replace + text.slice(end),
  );

describe('automatic mutations', () => {
  it.each([
    ['a guard', 'function f() { if (a) return; b(); }', ['if (!(a)) return; b()', '{ ; b()']],
    ['a comparison', 'const f = () => a < b;', ['((a) <= (b))']],
    ['a condition of two parts', 'const f = () => a && b;', ['((a) || (b))']],
    ['the lesser of two', 'const f = () => Math.min(a, b);', ['Math.max(a, b)']],
    ['a list of actions', "const f = () => [{ type: 'Reject', a }, b];", ['[b]']],
  ])('%s', (_name, text, expected) => {
    const found = changes(text);
    expect(found).toHaveLength(expected.length);
    for (const [index, part] of expected.entries()) expect(found[index]).toContain(part);
  });

  it('leave text that can be parsed, each under an id of its own', () => {
    const all = core.flatMap((file) => mutationsOf(file).map((mutation) => ({ file, mutation })));
    // Parsing is what takes time: each tenth stands for its neighbours.
    for (const { file, mutation } of all.filter((_one, index) => index % 10 === 0)) {
      const text = file.text.slice(0, mutation.start) + mutation.replace + file.text.slice(mutation.end);
      expect(() => sourceFile(file.path, text), mutation.id).not.toThrow();
    }
    expect(new Set(all.map(({ mutation }) => mutation.id)).size).toBe(all.length);
  });
});

describe('marks', () => {
  it('leave text that can be parsed', () => {
    for (const file of core) expect(() => sourceFile(file.path, markFile(file)), file.path).not.toThrow();
  });

  it('tell which function was entered, and where a mutation would have made a difference', () => {
    const source = sourceFile('core.js', 'globalThis.isLess = (a, b) => a < b');
    const reached = new Set<string>();
    const compare = (id: string, own: () => unknown, other: () => unknown): unknown => {
      if (own() !== other()) reached.add(id);
      return own();
    };
    Object.assign(globalThis, { holdfastReached: reached, holdfastCompare: compare });
    new Function(markFile(source))();
    const isLess = (globalThis as unknown as { isLess: (a: number, b: number) => boolean }).isLess;
    expect(isLess(1, 2)).toBe(true);
    expect([...reached]).toEqual([`core.js:${functionAround(source, source.text.indexOf('<'))}`]);
    expect(isLess(2, 2)).toBe(false);
    expect([...reached].slice(1)).toEqual(mutationsOf(source).map(({ id }) => id));
    for (const name of ['isLess', 'holdfastReached', 'holdfastCompare'])
      Reflect.deleteProperty(globalThis, name);
  });

  it('put the time limits of tests far away', () => {
    const text = "describe('a', { timeout: 10 }, () => { it.each(rows)('b', () => wait(5), 20); });";
    expect(withoutLimits(sourceFile('a.test.ts', text), 3_600_000)).toBe(
      "describe('a', { timeout: 3600000 }, () => { it.each(rows)('b', () => wait(5), 3600000); });",
    );
  });
});

describe('the table of mutations', () => {
  const entries = readdirSync(tables)
    .filter((name) => name !== 'equivalent.json')
    .flatMap((name) => JSON.parse(readFileSync(join(tables, name), 'utf8')) as Mutation[]);

  it('fits the code: what it replaces is there, once', () => {
    const wrong = entries.filter(({ file, find }) => {
      const path = join(root, file);
      return !existsSync(path) || readFileSync(path, 'utf8').split(find).length !== 2;
    });
    expect(wrong.map(({ id }) => id)).toEqual([]);
  });

  it('names each once', () => {
    expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
  });

  it('knows no equivalent change that is not there any more', () => {
    const known = Object.keys(JSON.parse(readFileSync(join(tables, 'equivalent.json'), 'utf8')));
    const ids = new Set(core.flatMap(mutationsOf).map(({ id }) => id));
    expect(known.filter((id) => !ids.has(id))).toEqual([]);
  });
});
