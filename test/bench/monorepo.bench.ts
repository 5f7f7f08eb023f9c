import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { allCrds } from '../../src/api/kinds/crd.ts';
import { type BedClient, useBed, waitFor } from '../cluster/bed/client.ts';
import type { GitRepo } from '../cluster/bed/git-repo.ts';
import { createProgram, type Program } from '../cluster/scenarios/program.ts';
import { cpuMs, load, metricOf, peakRssMib, report, rssMib, spread } from './measure.ts';
import { commitOne, FILES_PER_FOLDER, FOLDERS, pathOf, writeMonorepo } from './monorepo.ts';
import { notifyOfPush, PUSH_SECRET } from './push-hook.ts';

const COMMITS = 2_000;
/** Sources, each on a folder of its own. */
const SOURCES = 10;
/** Enough for the store to be made smaller once. */
const PUSHES = 60;
const bed: BedClient = useBed();

test('a monorepo', async () => {
  const namespace = 'monorepo';
  await bed.apply(allCrds());
  await bed.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  await bed.createNamespace(namespace);
  await bed.apply([secret], namespace);
  const repo = await bed.createGitRepo(namespace);
  const bare = join(bed.gitRoot, `${namespace}.git`);
  await writeMonorepo(bare, COMMITS);
  execFileSync('git', ['-C', bare, 'gc', '--quiet']);
  const folders = Array.from({ length: SOURCES }, (_, index) => index * 97);
  await bed.apply(
    folders.map((folder) => sourceOf(namespace, repo.url, folder)),
    namespace,
  );
  const program = createProgram(bed, namespace, undefined);
  const files = `${FOLDERS * FILES_PER_FOLDER} files, ${COMMITS} commits, ${SOURCES} Sources`;
  report(`${files}: first fetch (load before: ${load()})`, await first(program, repo, namespace));
  report(`${files}: ${PUSHES} commits, one after the other`, await pushes(program, repo, bare, folders));
  await sleep(20_000);
  report(`${files}: steady`, await steady(program, repo));
  await program.stop();
  expect(await ready(namespace)).toBe(SOURCES);
});

async function first(program: Program, repo: GitRepo, namespace: string): Promise<string[]> {
  await repo.counts({ reset: true });
  const began = performance.now();
  program.start();
  await waitFor(async () => (await ready(namespace)) === SOURCES, {
    timeoutMs: 240_000,
    intervalMs: 250,
    what: 'every Source Ready',
  });
  const seconds = (performance.now() - began) / 1000;
  const { fetches, packBytes } = await repo.counts();
  return [
    `${seconds.toFixed(1)} s from the start until ${SOURCES * FILES_PER_FOLDER} objects were applied`,
    `${fetches} fetches, ${(packBytes / 1e6).toFixed(2)} MB of packs; ${(cpuMs(program.pid()) / 1000).toFixed(1)} s CPU`,
    `highest resident memory ${peakRssMib(program.pid())} MiB`,
  ];
}

/** Each is applied before the next one comes. */
async function pushes(
  program: Program,
  repo: GitRepo,
  bare: string,
  folders: readonly number[],
): Promise<string[]> {
  const times: number[] = [];
  const sizes: number[] = [];
  const url = await program.url();
  for (let number = 0; number < PUSHES; number += 1) {
    const folder = folders[number % folders.length] ?? 0;
    await commitOne(bare, folder, `pushed-${number}`);
    await repo.counts({ reset: true });
    const began = performance.now();
    await notifyOfPush(url, 'monorepo', `team-${folder}`);
    await waitFor(() => isApplied(folder, `pushed-${number}`), {
      timeoutMs: 60_000,
      intervalMs: 20,
      what: `${pathOf(folder, 0)} applied`,
    });
    times.push(performance.now() - began);
    sizes.push((await repo.counts()).packBytes);
  }
  return [
    `ms from the webhook until it was applied, min / median / max: ${spread(times)}`,
    `bytes on the wire for one new commit, min / median / max: ${spread(sizes)}`,
    await storeLine(program),
    `highest resident memory ${peakRssMib(program.pid())} MiB`,
  ];
}

async function steady(program: Program, repo: GitRepo): Promise<string[]> {
  const cpu = cpuMs(program.pid());
  await repo.counts({ reset: true });
  await sleep(30_000);
  const { refs, listings, fetches } = await repo.counts();
  return [
    `resident memory ${rssMib(program.pid())} MiB; ${((cpuMs(program.pid()) - cpu) / 1000).toFixed(2)} s CPU in 30 s (interval 10 s)`,
    `${refs + listings} requests to list refs, ${fetches} fetches`,
  ];
}

async function storeLine(program: Program): Promise<string> {
  const url = await program.url();
  const of = (name: string) => metricOf(url, `holdfast_git_${name}`);
  const [stores, packs, bytes, compacted] = await Promise.all(
    ['stores', 'store_packs', 'store_bytes', 'store_compacted_timestamp_seconds'].map(of),
  );
  const when = compacted ? 'made smaller meanwhile' : 'never made smaller';
  return `${stores} store with ${packs} packs of ${((bytes ?? 0) / 1e6).toFixed(2)} MB, ${when}`;
}

async function ready(namespace: string): Promise<number> {
  const sources = await bed.listObjects('Source', namespace).catch(() => []);
  return sources.filter(({ status }) => {
    const { conditions = [] } = (status ?? {}) as { conditions?: Array<{ type: string; status: string }> };
    return conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  }).length;
}

async function isApplied(folder: number, version: string): Promise<boolean> {
  const found = await bed.readObject('ConfigMap', 'monorepo', `team-${folder}-0`).catch(() => undefined);
  return (found?.data as { version?: string } | undefined)?.version === version;
}

const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'push' },
  stringData: { webhookSecret: PUSH_SECRET },
};

function sourceOf(namespace: string, url: string, folder: number) {
  const path = pathOf(folder, 0).split('/').slice(0, 2).join('/');
  const spec = {
    ...{ url, path, ref: { branch: 'main' }, interval: '10s', timeout: '5m' },
    ...{ secretRef: { name: 'push' }, defaultNamespace: namespace, renderer: 'plain' },
  };
  const metadata = { name: `team-${folder}`, namespace };
  return { apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', metadata, spec };
}
