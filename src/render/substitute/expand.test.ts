import { describe, expect, it, test } from 'vitest';
import { expand } from './expand.ts';

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
