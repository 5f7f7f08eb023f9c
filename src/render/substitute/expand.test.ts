import { describe, expect, it, test } from 'vitest';
import { measureEffort } from '../../../test/effort.ts';
import { expand as expandWithin, type Variables } from './expand.ts';

const budget = () => ({ steps: 20_000_000, characters: 1_500_000 });
const expand = (text: string, variables: Variables) => expandWithin(text, variables, budget());
const values = (entries: Record<string, string>) => ({
  values: new Map(Object.entries(entries)),
  strict: false,
});
const path = '/home/ada/ideas/thoughts.for.today';
const word = 'abcABC123ABCabc';

describe('texts are expanded as Flux does it', () => {
  it.each([
    ['no variable', 'no variable', {}],
    ['${a}', 'x', { a: 'x' }],
    ['-${a}-${b}-', '-x--', { a: 'x' }],
    ['$a', '$a', { a: 'x' }],
    ['$${a}', '${a}', { a: 'x' }],
    ['a$$b', 'a$b', {}],
    ['100$', '100$', {}],
    ['${a}$${a$${a}$a${a}', 'x${a${a}$ax', { a: 'x' }],
    ['$${a=${b}}', '${a=y}', { b: 'y' }],
    ['${a:=d}', 'd', {}],
    ['${a:-d}', 'd', { a: '' }],
    ['${a=d}', 'x', { a: 'x' }],
    ['${a:=${b}}', 'y', { b: 'y' }],
    ['${a:=pre${b}-post}', 'prey-post', { b: 'y' }],
    ['${a=${b^^}}', 'Y', { b: 'y' }],
    ['${#a}', '5', { a: 'höhle' }],
    ['${a^}', 'Abc', { a: 'abc' }],
    ['${a^^}', 'ABC', { a: 'abc' }],
    ['${a,}', 'aBC', { a: 'ABC' }],
    ['${a,,}', 'abc', { a: 'ABC' }],
    ['${p:10}', 'ideas/thoughts.for.today', { p: path }],
    ['${p:10:5}', 'ideas', { p: path }],
    ['${a:0:-1}', 'ab', { a: 'abc' }],
    ['${a:9}', '', { a: 'abc' }],
    ['${a: x}', 'abc', { a: 'abc' }],
    ['${w/abc/X}', 'XABC123ABCabc', { w: word }],
    ['${w//abc/X}', 'XABC123ABCX', { w: word }],
    ['${w/#abc/X}', 'XABC123ABCabc', { w: word }],
    ['${w/%abc/X}', 'abcABC123ABCX', { w: word }],
    ['${w/#/pre-}', `pre-${word}`, { w: word }],
    ['${w/%/-post}', `${word}-post`, { w: word }],
    ['${a/\\//-}', 'foo-bar/baz', { a: 'foo/bar/baz' }],
    ['${a//\\//-}', 'foo-bar-baz', { a: 'foo/bar/baz' }],
    ['${a/./}', 'foobar', { a: 'foo.bar' }],
    ['${f#*.}', 'string.txt', { f: 'bash.string.txt' }],
    ['${f##*.}', 'txt', { f: 'bash.string.txt' }],
    ['${f##*/}', 'file', { f: '/path/to/file' }],
    ['${f#*/}', 'path/to/file', { f: '/path/to/file' }],
    ['${f%.*}', 'bash.string', { f: 'bash.string.txt' }],
    ['${f%%.*}', 'bash', { f: 'bash.string.txt' }],
    ['${f##*\\/}', 'file', { f: '/path/to/file' }],
    ['${f%\\**}', 'a*b', { f: 'a*b*c' }],
    ['${f#[a-c]}', '1', { f: 'b1' }],
    ['${f##*[^0-9]}', '42', { f: 'v1-42' }],
    ['${f%%[_.]*}', 'a', { f: 'a.b_c' }],
    ['${f%[\\-]?}', 'a', { f: 'a-b' }],
    ['${f#[a}', '[ab', { f: '[ab' }],
    ['${f#a\\}', 'a\\', { f: 'a\\' }],
  ])('%s', (text, expected, entries) => {
    expect(expand(text, values(entries as Record<string, string>))).toBe(expected);
  });
});

test.each(['${', '${a', '${a:=b', '${-a}', '${a b}', '${a-b}', '${}', `${'${a:='.repeat(20)}`])(
  '%s is refused',
  (text) => {
    expect(() => expand(text, values({ a: 'secret' }))).toThrow(/^holds /);
  },
);

test('strictly, a variable needs a value or a default', () => {
  const strict = { values: new Map([['a', '']]), strict: true };
  expect(expand('${a}${b:=c}', strict)).toBe('c');
  expect(() => expand('${b}', strict)).toThrow('needs the variable b, which is not set');
  expect(() => expand('${b^^}', strict)).toThrow('needs the variable b, which is not set');
});

test('what grows without end is refused', () => {
  const text = '${a}'.repeat(20);
  expect(() => expand(text, values({ a: 'x'.repeat(100_000) }))).toThrow('is longer than 1000000 characters');
});

test('a short text of nested replacements is refused before it fills the memory', () => {
  const nested = (depth: number): string => (depth === 0 ? '${a}' : `\${a//x/${nested(depth - 1)}}`);
  const text = nested(7);
  expect(text.length).toBeLessThan(110);
  expect(() => expand(text, values({ a: 'x'.repeat(60) }))).toThrow('is longer than 1000000 characters');
  expect(() => expand('${a//x/${b}}', values({ a: 'x'.repeat(900_000), b: 'y'.repeat(900_000) }))).toThrow(
    'is longer than 1000000 characters',
  );
});

test.each([
  '${a##${p}}',
  '${a%%${p}}',
  '${a#${p}}',
  '${a%${p}}',
  '${a//${p}/x}${a//${p}/x}',
  '${a^^}'.repeat(2_000),
  '${#a}'.repeat(2_000),
])('what takes many steps is refused at its bound: %s', (text) => {
  const long = values({ a: 'a'.repeat(40_000), p: 'a*?'.repeat(20_000) });
  const effort = measureEffort();
  expect(() => expandWithin(text, long, { steps: 100_000, characters: 1_000_000 })).toThrow(
    /^takes too many steps/,
  );
  expect(effort()).toBeLessThan(100);
});

test.each(['${a/${p}/x}', '${a//${p}/x}'])(
  'a search for what nearly fits at each place is refused before it is made: %s',
  (text) => {
    const half = 'a'.repeat(40_000);
    const long = values({ a: 'a'.repeat(200_000), p: `${half}b${half}` });
    const effort = measureEffort();
    expect(() => expand(text, long)).toThrow(/^takes too many steps/);
    expect(effort()).toBeLessThan(100);
  },
);

test('a pattern on a text of 200,000 characters is read to its end', () => {
  expect(expand('${a##*b}|${a%%c*}', values({ a: `${'a'.repeat(200_000)}bcd` }))).toBe(
    `cd|${'a'.repeat(200_000)}b`,
  );
});
