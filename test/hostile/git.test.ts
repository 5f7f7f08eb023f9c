import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';
import { createGitSource } from '../../src/git/poll/git-source.ts';
import { createStores } from '../../src/git/store/stores.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { type HostileServer, packAnswer, startHostileServer } from './git-server.ts';
import { commit, manifest, serving, tree } from './objects.ts';
import { type HostileReader, MOST_BYTES, MOST_CPU_SECONDS, startHostileReader } from './reader.ts';
import { hostileRepositories } from './repositories.ts';

const manifestPath = 'deploy/base/install.yaml';
let reader: HostileReader;
let server: HostileServer;

beforeAll(async () => {
  [reader, server] = await Promise.all([startHostileReader(), startHostileServer()]);
});
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

  test.each(hostileRepositories.map((row, index) => ({ ...row, index })))('$name', async (row) => {
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
  });

  test.each(['a tree that is cut', 'a file that is not there', 'a commit that says nothing'])(
    'is fetched once more, and not at each poll: %s',
    async (name) => {
      const served = hostileRepositories.find((row) => row.name === name)?.make();
      let packs = 0;
      const answer = (response: ServerResponse) => {
        packs += 1;
        response.end(packAnswer(served?.pack ?? Buffer.alloc(0)));
      };
      server.repositories.set('again', { refs: served?.refs ?? [], answer });
      const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-again-'));
      const source = createGitSource({
        ...{ namespace: 'delivery', name: 'again', url: `${server.url}/again.git` },
        ...{ reference: { branch: 'main' }, client: createHttpClient({ allowLoopback: true }) },
        stores: createStores({ dataDir, clock: systemClock }),
      });
      const { signal } = new AbortController();
      for (let round = 0; round < 4; round += 1) {
        const read = source.poll(signal).then(({ head }) => source.readFiles(head.commit, '', { signal }));
        await expect(read).rejects.toMatchObject({
          code: 'Corrupt',
          message: expect.stringMatching(/^the Git server sends objects that cannot be used/),
        });
      }
      expect(packs).toBe(2);
      rmSync(dataDir, { recursive: true });
    },
  );

  test('and the worst of them together stay below the memory of the pod', async () => {
    const worst = hostileRepositories.filter(({ name }) => /delta|MB|GB|folder/.test(name));
    expect(worst.length).toBeGreaterThan(15);
    const tasks = worst.map((row, index) => {
      server.repositories.set(`all-${index}`, row.make());
      const url = `${server.url}/all-${index}.git`;
      return { kind: 'git', url, dataDir: join(reader.root, 'data'), name: `all-${index}` } as const;
    });
    const { peakBytes } = await reader.read({ kind: 'together', tasks });
    const [, gibibytes] =
      /limits:\s+cpu: \S+\s+memory: (\d)Gi/.exec(readFileSync(manifestPath, 'utf8')) ?? [];
    expect(peakBytes).toBeLessThan(Number(gibibytes) * 2 ** 30);
    for (const { url } of tasks) server.repositories.delete(/([^/]+)\.git$/.exec(url)?.[1] ?? '');
  });

  test('and nothing is written outside the stores', () => {
    const written = (folder: string) => readdirSync(join(reader.root, folder)).sort();
    expect(written('.')).toEqual(['data', 'work']);
    expect(written('work')).toEqual([]);
    expect(written('data')).toEqual(['git']);
    expect(written('data/git').filter((name) => !/^[0-9a-f]{40}\.git(\.new)?$/.test(name))).toEqual([]);
  });
});
