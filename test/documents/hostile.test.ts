import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { hostileFiles } from '../../src/render/hostile.test-support.ts';
import { hostileRepositories } from '../hostile/repositories.ts';
import { rowsUnder, testsNamedIn } from './tables.ts';

const page = readFileSync('docs/hostile-repositories.md', 'utf8');
const rows = [
  'Servers',
  'Packs',
  'Refs and history',
  'Objects',
  'YAML',
  'Variables',
  'Encrypted files',
  'Patterns',
  'Kustomizations',
  'What ends the process',
].flatMap((heading) => rowsUnder(page, heading));

/** The names after a word: `rows "a", "b"`. */
function namesAfter(word: string): string[] {
  const lists = [...page.matchAll(new RegExp(`\\b${word}((?:,? "[^"]+")+)`, 'g'))];
  return lists.flatMap(([, names = '']) => [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name));
}

describe('the page of hostile repositories', () => {
  test('has each hostile repository and each hostile file once', () => {
    expect(namesAfter('rows').sort()).toEqual(hostileRepositories.map(({ name }) => name).sort());
    expect(namesAfter('files').sort()).toEqual(Object.keys(hostileFiles).sort());
  });

  test('says in each row what shows it, and names only tests that exist', () => {
    expect(rows.length).toBeGreaterThan(40);
    expect(rows.filter((row) => !/"[^"]+"/.test(row.at(-1) ?? ''))).toEqual([]);
    const missing = testsNamedIn(page).filter(
      ({ file, title }) => !existsSync(file) || !readFileSync(file, 'utf8').includes(title),
    );
    expect(missing).toEqual([]);
  });
});
