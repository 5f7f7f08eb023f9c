import { describe, expect, it } from 'vitest';
import { longestCallChain } from '../scripts/house/call-chain.mjs';
import { parameterChanges } from '../scripts/house/parameter-changes.mjs';
import { linkTree, sourceFile } from '../scripts/house/source-tree.mjs';

const changes = (text: string): string[] => parameterChanges(sourceFile('core.ts', text));

describe('what counts as a change of a parameter', () => {
  it.each([
    ['a field is set', 'function f(a: A) { a.b = 1; }'],
    ['a field is counted up', 'function f(a: A) { a.b += 1; a.c++; }'],
    ['a field deep inside is set', 'const f = (a: A) => { a.b.c[0].d = 1; };'],
    ['a field is deleted', 'function f(a: A) { delete a.b; }'],
    ['a list gets an element', 'function f({ list }: A) { list.push(1); }'],
    ['a list is put in order', 'function f(a: A) { return a.list.sort().map(String); }'],
    ['a map gets an entry', 'function f(a: A) { a.map.set(1, 2); }'],
    ['Object.assign writes to it', 'function f(a: A) { Object.assign(a.b, { c: 1 }); }'],
    ['through a constant', 'function f(a: A) { const { b: [first] } = a; first.c = 1; }'],
    ['through a variable that is assigned later', 'function f(a: A) { let b = {}; b.c = 1; b = a.b ?? b; }'],
    ['through an element', 'function f(a: A) { const b = a.list.find((one) => one.c); if (b) b.c = 1; }'],
    ['through a loop', 'function f(a: A) { for (const b of a.list.filter(Boolean)) b.c = 1; }'],
    ['through what a copy holds', 'function f(a: A) { const b = { ...a }; b.list.push(1); }'],
    ['from a function inside', 'function f(a: A) { return () => { a.b = 1; }; }'],
    ['by destructuring', 'function f(a: A) { [a.b, a.c] = [1, 2]; }'],
  ])('%s', (_name, text) => {
    expect(changes(text)).not.toEqual([]);
  });

  it.each([
    ['a field of a copy', 'function f(a: A) { const b = { ...a }; b.c = 1; return b; }'],
    [
      'a copied list',
      'function f(a: A) { const b = [...a.list]; b.push(1); return a.list.filter(Boolean).sort(); }',
    ],
    ['what the function made', 'function f(a: A) { const b = new Map(); b.set(a.c, a); return b; }'],
    ['a local of the same name', 'function f(a: A) { { const a = { b: 0 }; a.b = 1; } }'],
    ['what another function returned', 'function f(a: A) { const b = copy(a); b.c = 1; }'],
    ['reading', 'function f(a: A) { return a.list.map((one) => one.c === a.b.c); }'],
  ])('not: %s', (_name, text) => {
    expect(changes(text)).toEqual([]);
  });

  it('names the line', () => {
    expect(changes('function f(a: A) {\n  if (a.c)\n    a.b = 1;\n}')).toEqual(['core.ts:3: a.b = 1']);
  });
});

describe('the longest chain of calls', () => {
  const chain = (...texts: string[]): string[] => {
    const files = texts.map((text, index) => sourceFile(`core/${'abc'[index]}.ts`, text));
    return longestCallChain(linkTree(files), 'core/a.ts#step').map((id) => id.slice(id.indexOf('#') + 1));
  };

  it('goes through imports', () => {
    expect(
      chain(
        "import { next as later } from './b.ts'; export function step() { return 1 + later(); }",
        "export { next } from './c.ts';",
        'const last = () => 1; export function next() { return last(); }',
      ),
    ).toEqual(['step', 'next', 'last']);
  });

  it('counts the rows of a table, and the functions in them', () => {
    expect(
      chain(
        'const TABLE = { Idle: idle, Held: { act: () => idle() } }; export const step = (k) => TABLE[k]; function idle() {}',
      ),
    ).toEqual(['step', 'TABLE.Held.act', 'idle']);
  });

  it('counts those that call each other once each', () => {
    expect(
      chain('export function step(n) { return n ? other(n - 1) : 0; } function other(n) { return step(n); }'),
    ).toHaveLength(2);
  });

  it('takes a local of the same name for a local, and a type for none', () => {
    expect(
      chain(
        'export function step(other: typeof third) { const { last } = other; return last; } function last() {} function third() {}',
      ),
    ).toEqual(['step']);
  });
});
