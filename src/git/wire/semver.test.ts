import { expect, test } from 'vitest';
import { createPause } from '../../api/clock.ts';
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
const pause = async () => undefined;
const best = async (range: string) => (await highestVersion(range, tags, (tag) => tag, pause)).best;

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
])('range %s picks %s', async (range, tag) => {
  expect(await best(range)).toBe(tag);
});

test.each(['main', '>=', '1.2.3.4', 'v1..2', '>=1 <b'])('text %j is refused as a range', async (range) => {
  await expect(best(range)).rejects.toThrow('is not a version range');
});

// What Masterminds semver 3.4, which Flux reads ranges with, says of each; 60,000 random ones gave the same.
test.each([
  ['!=1.1.1', '2.2.1', true],
  ['!=1.1.1', '1.1.1', false],
  ['!=v1.2, ^1', '1.2.9', false],
  ['!= v2 ^ 1.2', '1.10.2', true],
  ['!=10.2.1,>=1.2.0-alpha', '2.0.0-rc.1', true],
  ['=< 1.x !=3', '1.0.2', true],
  ['=<2.0', '2.0.10', true],
  ['=> 3.3', '1.3.2', false],
  ['~>3.1.3', '3.1.10', true],
  ['~>3.1.3', '3.3.2-rc.1', false],
  ['^1.0.0-alpha', '2.0.0-rc.1', false],
  ['^1.0.0-alpha', '1.4.0-beta', true],
  ['<v2.2.2-beta.2 || ~>v2', '2.3.3', true],
  ['<2.0.0-rc.1 || >=3', '3.0.0-alpha', false],
  ['>=1.0.0-0 <2', '2.0.0-rc.1', true],
  ['>=1.2 <2.0.0-rc.1', '1.2.0-alpha', false],
  ['~0.0.0', '4.1.2', true],
  ['^0.0.3', '0.0.4', false],
  ['4.1.x', '4.1.3', true],
  ['>1.1', '1.1.9', false],
  ['<1.x', '1.1.1', false],
])('range %s and version %s: %s', async (range, version, isInside) => {
  const found = await highestVersion(range, [version], (tag) => tag, pause);
  expect(found.matching).toEqual(isInside ? [version] : []);
});

test('of tags that differ in their build alone, the highest build is followed', async () => {
  const builds = ['1.2.0', '1.2.0+10', '1.2.0+9', '1.1.0+11'];

  const found = await highestVersion('1.x', builds, (tag) => tag, pause);

  expect(found.best).toBe('1.2.0+10');
});

test('other work gets its turn while many tags are compared with a long range', async () => {
  const many = Array.from({ length: 30_000 }, (_, index) => `v1.${index}.0`);
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 5);
  const range = Array.from({ length: 40 }, (_, index) => `>${index + 2}`).join('||');
  await highestVersion(range, many, (tag) => tag, createPause());
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});
