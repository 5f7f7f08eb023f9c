import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HostileServer, startHostileServer } from './git-server.ts';
import { commit, manifest, serving, tree } from './objects.ts';
import { type HostileReader, MOST_BYTES, MOST_CPU_SECONDS, startHostileReader } from './reader.ts';
import { hostileRepositories } from './repositories.ts';

let reader: HostileReader;
let server: HostileServer;

beforeAll(async () => {
  [reader, server] = await Promise.all([startHostileReader(), startHostileServer()]);
}, 60_000);
afterAll(async () => {
  reader.close();
  await server.close();
});

/** Reads a repository of the server; each has a Source of its own, all of them one data directory. */
function read(name: string, more: Pick<(typeof hostileRepositories)[number], 'path' | 'reference'> = {}) {
  const dataDir = join(reader.root, 'data');
  return reader.read({ kind: 'git', url: `${server.url}/${name}.git`, dataDir, name, ...more });
}

describe('a hostile repository is refused in bounded time and memory, and concerns no other Source', () => {
  let good = 0;

  test.each(hostileRepositories.map((row, index) => ({ ...row, index })))(
    '$name',
    async (row) => {
      const { code, says, problems, path, reads = ['a.yaml'], reference, index } = row;
      server.repositories.set(`bad-${index}`, row.make());
      const outcome = await read(`bad-${index}`, {
        ...(path === undefined ? {} : { path }),
        ...(reference ? { reference } : {}),
      });
      server.repositories.delete(`bad-${index}`);

      expect(outcome.error?.code).toBe(code);
      expect(outcome.error?.message ?? '').toMatch(says ?? /^/);
      expect(outcome.read).toEqual(code ? [] : reads);
      expect(outcome.problems).toEqual((problems ?? []).map((words) => expect.stringMatching(words)));
      expect(outcome.cpuSeconds).toBeLessThan(MOST_CPU_SECONDS);
      expect(outcome.growthBytes).toBeLessThan(MOST_BYTES);
      expect(JSON.stringify(outcome).length).toBeLessThan(8_000);

      good += 1;
      const root = tree([{ name: 'a.yaml', oid: manifest.oid }]);
      server.repositories.set(
        'good',
        serving(commit(root.oid, `${1_790_000_000 + good} +0000`), [root, manifest]),
      );
      expect(await read('good')).toMatchObject({ read: ['a.yaml'], problems: [] });
      // Some take seconds to be made.
    },
    90_000,
  );

  test('and nothing is written outside the stores', () => {
    const written = (folder: string) => readdirSync(join(reader.root, folder)).sort();
    expect(written('.')).toEqual(['data', 'work']);
    expect(written('work')).toEqual([]);
    expect(written('data')).toEqual(['git']);
    expect(written('data/git').filter((name) => !/^[0-9a-f]{40}\.git(\.new)?$/.test(name))).toEqual([]);
  });
});
