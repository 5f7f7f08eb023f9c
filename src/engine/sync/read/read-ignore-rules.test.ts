import { expect, test } from 'vitest';
import { ignoreRules } from './read.ts';

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
];

test.each(cases)('%j on %s: %s', (rules, path, ignored) => {
  expect(ignoreRules(rules)(path)).toBe(ignored);
});
