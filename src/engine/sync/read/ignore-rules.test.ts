import { expect, test } from 'vitest';
import { measureEffort } from '../../../../test/effort.ts';
import { memoryTree } from '../../../render/memory-tree.test-support.ts';
import { ignoreRules, withoutIgnored } from './ignore-rules.ts';

const cases: ReadonlyArray<[rules: string[], path: string, ignored: boolean]> = [
  [['*.md'], 'docs/a.md', true],
  [['*.md'], 'a.yaml', false],
  [['/ci'], 'ci/a.yaml', true],
  [['/ci'], 'apps/ci/a.yaml', false],
  [['ci/'], 'apps/ci/a.yaml', true],
  [['ci/'], 'apps/ci', false],
  [['apps/*/test'], 'apps/web/test/a.yaml', true],
  [['apps/*/test'], 'apps/web/more/test/a.yaml', false],
  [['apps/**/test'], 'apps/web/more/test/a.yaml', true],
  [['*', '!keep.yaml'], 'keep.yaml', false],
  [['*', '!keep.yaml'], 'other.yaml', true],
  [['# a comment', ''], '# a comment', false],
  [['a.b'], 'axb', false],
  [['file?.yaml'], 'file1.yaml', true],
  [['**/test'], 'test/a.yaml', true],
  [['**/test'], 'a/b/test', true],
  [['**/test'], 'a/btest', false],
  [['a/**/b'], 'a/b/c.yaml', true],
  [['a/**/b'], 'ab', false],
  [['apps/**/test'], 'apps/test/a.yaml', true],
  [['*.[oa]'], 'lib.o', true],
  [['*.[!oa]'], 'lib.o', false],
  [['[a-c]*.y[^x]ml'], 'b1.yaml', true],
  [['[a-c]*'], 'd1.yaml', false],
  [['[]x]'], ']', true],
  [['a[/]b'], 'a/b', false],
  [['a[b'], 'a[b', true],
  [['a\\*b'], 'a*b', true],
  [['a\\*b'], 'axb', false],
  [['\\!x'], '!x', true],
  [['a/**'], 'a/b', true],
  [['*.yaml/'], 'a.yaml', false],
  [['a**b'], 'axxb', true],
  [['a**b'], 'ax/xb', false],
];

const pause = async () => undefined;

test.each(cases)('%j on %s: %s', async (rules, path, ignored) => {
  expect(await ignoreRules(rules).ignores(path, pause)).toBe(ignored);
});

test('patterns on which a regular expression backtracks for minutes are matched at once', async () => {
  const path = `${'a/'.repeat(30)}${'a'.repeat(250)}`;
  const rules = ignoreRules([`${'**/'.repeat(40)}b`, `${'*a'.repeat(200)}b`, `${'a*?'.repeat(100)}b`, '*b']);
  const effort = measureEffort();
  expect(await rules.ignores(path, pause)).toBe(false);
  expect(effort()).toBeLessThan(200);
});

test('rules that take too long on all files end the reading, with what to do', async () => {
  const rules = ignoreRules([`${'**/'.repeat(40)}b`], 100_000);
  const readAll = async () => {
    for (let index = 0; index < 1_000; index += 1) await rules.ignores(`a/b/c/d/e/f/g/${index}.yaml`, pause);
  };
  await expect(readAll()).rejects.toMatchObject({
    reason: 'InvalidSpec',
    message: expect.stringMatching(/^spec\.ignore takes too long/),
  });
});

test.each([
  [[], ['chart/Chart.yaml', 'chart/docs/logo.png'], ['chart/docs/link']],
  [['docs/'], ['chart/Chart.yaml'], []],
  [['/docs/link'], ['chart/Chart.yaml', 'chart/docs/logo.png'], []],
])('a chart is read without what the rules %j leave out', async (rules, expected, refused) => {
  const files = { 'chart/Chart.yaml': 'name: a', 'chart/docs/logo.png': 'x', 'chart/docs/link': undefined };
  const { signal } = new AbortController();
  const tree = withoutIgnored(memoryTree(files), { folder: 'chart', rules, signal });
  const read = await tree.readAll('chart');
  expect([...read.files.keys()]).toEqual(expected);
  expect(read.problems.map(({ path }) => path)).toEqual(refused);
  expect((await tree.read(['chart/docs/logo.png'])).size).toBe(1);
});
