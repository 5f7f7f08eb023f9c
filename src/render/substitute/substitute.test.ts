import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { createSubstitution } from './substitute.ts';

const values = new Map(
  Object.entries({
    count: '3',
    yes: 'true',
    quote: '"',
    name: 'web',
    map: '{a: b}',
    odd: 'a: b #c',
    secret: 'hunter2',
  }),
);

function object(spec: unknown, metadata = {}): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', ...metadata },
    spec,
  } as KubernetesObject;
}

function specOf(spec: unknown, strict = false) {
  const filled = createSubstitution({ values, strict }, limits)({ object: object(spec) });
  return filled.object ? filled.object.spec : filled.problems;
}

test.each([
  ['${count}', 3],
  ['${quote}${count}${quote}', '3'],
  ['${yes}', true],
  ['${name}-x', 'web-x'],
  ['${map}', { a: 'b' }],
  ['${odd}', 'a: b #c'],
  ['${none}', null],
  ['${none:=5}', 5],
  ['a: ${count}', 'a: 3'],
  ['two\nlines ${count}', 'two\nlines 3'],
  ['no variable: 3', 'no variable: 3'],
])('%j becomes %j', (text, expected) => {
  expect(specOf({ x: text })).toEqual({ x: expected });
});

test('names of fields and items of lists are filled in', () => {
  expect(specOf({ '${name}.x': ['${count}', { y: '$${name}' }] })).toEqual({
    'web.x': [3, { y: '${name}' }],
  });
});

test.each([
  { labels: { 'kustomize.toolkit.fluxcd.io/substitute': 'disabled' } },
  { annotations: { 'holdfast.dev/substitute': 'disabled' } },
])('an object stays as it is with %j', (metadata) => {
  const given = object({ x: '${name}' }, metadata);
  expect(createSubstitution({ values, strict: true }, limits)({ object: given }).object).toBe(given);
});

test('what cannot be filled in is reported with its field, and without any value', () => {
  expect(specOf({ a: ['${secret}', '${missing}'] }, true)).toEqual([
    { path: 'spec.a[1]', message: 'needs the variable missing, which is not set (spec.substitute.strict)' },
  ]);
  expect(specOf({ 'a.b': '${secret' })).toEqual([
    { path: 'spec["a.b"]', message: expect.stringMatching(/^holds an expression/) },
  ]);
});

test('an object that is none afterwards is refused', () => {
  const labels = object({}, { labels: { app: '${count}' } });
  expect(createSubstitution({ values, strict: false }, limits)({ object: labels }).problems).toEqual([
    { path: 'metadata.labels["app"]', message: 'must be a string: quote it' },
  ]);
  const nameless = object({}, { name: '${none}' });
  expect(createSubstitution({ values, strict: false }, limits)({ object: nameless }).problems).toEqual([
    { path: 'metadata.name', message: 'is missing' },
  ]);
});

test('an object that grows beyond what the API server takes is refused, and the next one is filled in', () => {
  const fill = createSubstitution({ values: new Map([['a', 'x'.repeat(100_000)]]), strict: false }, limits);
  const texts = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`t${index}`, '${a}']));
  expect(fill({ object: object(texts) }).problems).toEqual([
    { path: 'spec.t15', message: expect.stringMatching(/^makes the object/) },
  ]);
  expect(fill({ object: object({ t: '${a}' }) }).object?.spec).toEqual({ t: 'x'.repeat(100_000) });
});

test('all objects of a Source together are bounded in text and in steps', () => {
  const long = new Map([['a', 'x '.repeat(300_000)]]);
  const countUntil = (text: string) => {
    const fill = createSubstitution({ values: long, strict: false }, limits);
    for (let count = 0; count < 2_000; count += 1)
      if (fill({ object: object({ text }) }).problems) return count;
    return undefined;
  };
  expect(countUntil('line\n${a}')).toBe(55);
  expect(countUntil(`line\n\${a##${'*'.repeat(20)}}`)).toBeLessThan(60);
});
