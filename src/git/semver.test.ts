import { expect, test } from 'vitest';
import { highestVersion } from './semver.ts';

const tags = [
  'v0.9.0',
  '1.0.0',
  'v1.2.0',
  'v1.2.3',
  'v1.10.0',
  '2.0.0-rc.2',
  '2.0.0-rc.10',
  '2.0.0',
  'latest',
  'v3',
  '1.2.3.4',
];
const best = (range: string) => highestVersion(range, tags, (tag) => tag).best;

test.each([
  ['*', '2.0.0'],
  ['>=1.0.0', '2.0.0'],
  ['1.x', 'v1.10.0'],
  ['1', 'v1.10.0'],
  ['1.2', 'v1.2.3'],
  ['~1.2.0', 'v1.2.3'],
  ['^1.2.0', 'v1.10.0'],
  ['^0.9.0', 'v0.9.0'],
  ['^0', 'v0.9.0'],
  ['>=1.0, <1.10', 'v1.2.3'],
  ['> 1.0.0 < 1.2.3', 'v1.2.0'],
  ['<=1.2', 'v1.2.3'],
  ['>1.2 <2', 'v1.10.0'],
  ['1.0.0 - 1.2.0', 'v1.2.0'],
  ['1.0.0 || 1.2.0', 'v1.2.0'],
  ['=1.0.0', '1.0.0'],
  ['>=2.0.0-0 <2.0.0', '2.0.0-rc.10'],
  ['>=4', undefined],
])('range %s picks %s', (range, tag) => {
  expect(best(range)).toBe(tag);
});

test.each(['main', '>=', '1.2.3.4', 'v1..2', '>=1 <b'])('text %j is refused as a range', (range) => {
  expect(() => best(range)).toThrow('is no version range');
});
