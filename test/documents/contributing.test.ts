import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/contributing.md'), 'utf8');
const rows = [...page.matchAll(/^\| (an? [^|]+) \| (.+) \|$/gm)].map(([, change = '', files = '']) => ({
  change,
  paths: [...files.matchAll(/`((?:src|test|docs)\/[^`]+|Dockerfile)`/g)].map(([, path = '']) => path),
}));

test('the page says for fourteen changes which files are touched', () => {
  expect(rows).toHaveLength(14);
});

test.each(rows)('$change: at most six files, and each is where the page says', ({ paths }) => {
  const contract = /(?:contract|forge)\.test\.ts$/;
  expect(paths.filter((path) => !contract.test(path)).length).toBeLessThanOrEqual(6);
  expect(paths.filter((path) => !path.includes('NAME') && !existsSync(join(root, path)))).toEqual([]);
});
