import { describe, expect, it } from 'vitest';
import { jsonPatch } from './patches.ts';

const document = { spec: { replicas: 1, args: ['a', 'b'] } };
const patched = (...operations: object[]) => jsonPatch(document, operations);

describe('a JSON patch', () => {
  it.each([
    ['add', { op: 'add', path: '/spec/args/1', value: 'x' }, { replicas: 1, args: ['a', 'x', 'b'] }],
    [
      'add at the end',
      { op: 'add', path: '/spec/args/-', value: 'x' },
      { replicas: 1, args: ['a', 'b', 'x'] },
    ],
    ['replace', { op: 'replace', path: '/spec/replicas', value: 3 }, { replicas: 3, args: ['a', 'b'] }],
    ['remove', { op: 'remove', path: '/spec/args/0' }, { replicas: 1, args: ['b'] }],
    ['move', { op: 'move', from: '/spec/replicas', path: '/spec/pods' }, { pods: 1, args: ['a', 'b'] }],
    ['copy', { op: 'copy', from: '/spec/args/0', path: '/spec/a~1b' }, { ...document.spec, 'a/b': 'a' }],
    ['test', { op: 'test', path: '/spec/args', value: ['a', 'b'] }, document.spec],
  ])('takes %s', (_, operation, spec) => {
    expect(patched(operation)).toEqual({ spec });
    expect(document).toEqual({ spec: { replicas: 1, args: ['a', 'b'] } });
  });

  it('replaces the whole document', () => {
    expect(patched({ op: 'replace', path: '', value: { kind: 'Pod' } })).toEqual({ kind: 'Pod' });
  });

  it.each([
    ['a path that is not there', { op: 'replace', path: '/spec/none', value: 1 }, 422],
    ['a parent that is not there', { op: 'add', path: '/none/a', value: 1 }, 422],
    ['an index that is not there', { op: 'add', path: '/spec/args/7', value: 1 }, 422],
    ['a test that fails', { op: 'test', path: '/spec/replicas', value: 2 }, 422],
    ['an operation nobody knows', { op: 'merge', path: '/spec' }, 400],
    ['a way into prototypes', { op: 'add', path: '/__proto__/polluted', value: true }, 400],
    ['one from prototypes', { op: 'copy', from: '/__proto__/toString', path: '/spec/a' }, 400],
  ])('refuses %s', (_, operation, code) => {
    expect(() => patched(operation)).toThrow(expect.objectContaining({ code }));
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
