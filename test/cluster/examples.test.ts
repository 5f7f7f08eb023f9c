import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { bedVersion } from '../examples/bed-version.ts';
import { makeRepository, stageOf } from '../examples/guide.ts';
import { playStep, type Stage } from '../examples/play.ts';
import { type Step, stepsOf } from '../examples/readme.ts';
import { answering, type BedClient, useBed, waitFor } from './bed/client.ts';
import { installedRights } from './bed/installed.ts';
import type { Load } from './bed/load.ts';
import { httpRoute } from './bed/manifests.ts';

const bed: BedClient = useBed();
const main = resolve(import.meta.dirname, '../../dist/main.js');
const examples = resolve(import.meta.dirname, '../../examples');
const run = promisify(execFile);

beforeAll(async () => {
  // What `holdfast install` adds to the roles that every cluster has: a Source without an account writes with the role edit.
  const roles = installedRights('bed-examples', { namespace: 'examples' }).filter(
    ({ kind, metadata }) =>
      kind === 'ClusterRole' &&
      Object.keys(metadata.labels ?? {}).some((label) => label.includes('aggregate-to-')),
  );
  await bed.apply(roles);
});

/** An example being played: a copy of its folder with the bed's names, a home of its own, and `holdfast` and `kubectl` on the path. */
interface Play extends Stage {
  readonly name: string;
  readonly readme: string;
  program: ChildProcess | undefined;
}

async function open(name: string): Promise<Play> {
  const home = await mkdtemp(join(tmpdir(), `holdfast-example-${name}-`));
  const folder = join(home, 'example');
  await cp(join(examples, name), folder, { recursive: true });
  for (const entry of await readdir(folder, { recursive: true })) {
    const path = join(folder, entry);
    if (!(await stat(path)).isFile()) continue;
    await writeFile(path, bedVersion(await readFile(path, 'utf8'), bed));
  }
  await makeRepository(join(bed.gitRoot, `examples-${name}.git`));
  const stage = await stageOf(`README of ${name}`, home, {
    holdfast: `exec ${process.execPath} ${main} "$@"`,
    kubectl: `exec ${bed.kubectlPath} --kubeconfig=${bed.kubeconfigPath} "$@"`,
    kubeconfigPath: bed.kubeconfigPath,
    folder,
  });
  const readme = await readFile(join(folder, 'README.md'), 'utf8');
  return { ...stage, name, readme, program: undefined };
}

/** The program of the README, or one as it would run in the cluster; on a port of its own, with intervals down to a second. */
function start(play: Play, args: readonly string[]): void {
  const more = ['--data-dir', join(play.home, 'data'), '--listen', '127.0.0.1:0', '--log-level', 'debug'];
  const log = openSync(join(bed.logsDir, `holdfast-example-${play.name}.log`), 'a');
  const child = spawn(process.execPath, [main, ...args, '--min-analysis-interval', '1s', ...more], {
    cwd: join(play.home, 'example'),
    env: play.env,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  play.program = child;
}

/** Plays and clears away, also when it fails. */
async function withPlay(name: string, work: (play: Play) => Promise<void>): Promise<void> {
  const play = await open(name);
  try {
    await work(play);
  } finally {
    await stop(play);
    await rm(play.home, { recursive: true, force: true });
  }
}

async function stop({ program }: Play): Promise<void> {
  if (!program || program.exitCode !== null || program.signalCode !== null) return;
  const ended = once(program, 'exit');
  program.kill('SIGTERM');
  await ended;
}

/**
 * Runs a README's blocks in order, each in the folder where the one before has left the shell. `holdfast validate` is run by the sandbox
 * suite, on the files as they are.
 */
async function playReadme(
  play: Play,
  before: (step: Step) => Promise<void> = async () => undefined,
): Promise<void> {
  for (const step of stepsOf(play.readme)) {
    await before(step);
    const [first = ''] = step.commands.split('\n');
    if (first.startsWith('holdfast run ')) start(play, first.trim().split(' ').slice(1));
    else if (!first.startsWith('holdfast validate ')) await playStep(play, step);
  }
}

/**
 * Starts Holdfast as in a cluster: it follows the Sources of this namespace. A Holdfast of single namespaces makes no RoleBindings, so the one
 * that `holdfast install` prints is applied as soon as the README has made the namespace.
 */
function startInCluster(play: Play): void {
  start(play, ['run', '--namespace', play.name, '--metrics-server', bed.prometheusUrl]);
  const bindings = installedRights(`bed-${play.name}`, {
    namespace: play.name,
    watchNamespaces: [play.name],
  }).filter(({ kind, metadata }) => kind === 'RoleBinding' && metadata.name === 'holdfast-source');
  expect(bindings).toHaveLength(1);
  const applied = () =>
    bed.apply(bindings, play.name).then(
      () => true,
      () => undefined,
    );
  void waitFor(applied, {
    timeoutMs: 120_000,
    intervalMs: 500,
    what: `${play.name}: the RoleBinding of Sources`,
  });
}

describe.concurrent('the examples, as their READMEs tell', () => {
  test('first-hour', async () => {
    await withPlay('first-hour', playReadme);
  });

  test('signatures', async () => {
    await withPlay('signatures', playReadme);
  });

  test('gateway-api, under load', async () => {
    await withPlay('gateway-api', async (play) => {
      startInCluster(play);
      const hosts = [
        { hostHeader: 'web.example.com' },
        { hostHeader: 'cart.example.com', headers: { 'x-cohort': 'beta' } },
      ];
      const loads = hosts.map((host) => bed.startLoad({ ...host, requestsPerSecond: 20 }));
      await playReadme(play);
      const [web, cart] = await Promise.all(loads.map((load) => load.stop()));
      expect(Object.keys(web?.byVersionAndRole ?? {})).toEqual(
        expect.arrayContaining(['6.9.1/canary', '6.9.1/primary']),
      );
      expect(cart?.byVersionAndRole['6.9.1/canary']).toBeGreaterThan(10);
    });
  });

  test('blue-green, with no failed request although the primary is replaced at once', async () => {
    await withPlay('blue-green', async (play) => {
      startInCluster(play);
      let load: Load | undefined;
      await playReadme(play, async ({ commands }) => {
        if (commands.includes('6.9.1')) load = await answering(bed, 'blue.example.com');
        if (commands.startsWith('kubectl delete')) await checkNothingFailed();
      });
      async function checkNothingFailed(): Promise<void> {
        const seen = await load?.stop();
        expect(seen?.failures).toEqual([]);
        expect(seen?.byVersionAndRole['6.9.1/canary']).toBeGreaterThan(10);
        expect(seen?.byVersionAndRole['6.9.1/primary']).toBeGreaterThan(10);
      }
    });
  });

  test('post-promotion, and causes that a README cannot play', async () => {
    await withPlay('post-promotion', async (play) => {
      await playReadme(play, async ({ commands }) => {
        if (!commands.startsWith('kubectl delete namespace')) return;
        await bed.kubectl(['-n', play.name, 'delete', 'quota', 'small']);
        await serveThroughEnvoy(play.name, 'revert');
        const load = bed.startLoad({ hostHeader: 'revert.example.com', requestsPerSecond: 20 });
        await commitWith(play, 'revert.yaml', { ERROR_PERCENT: '100' });
        expect(await reasonOfRejection(play, 'revert')).toBe('ChecksFailed');
        await commitWith(play, 'auto.yaml', { PRIMARY_CRASH_AFTER_MS: '2500' });
        expect(await reasonOfRejection(play, 'auto')).toMatch(/^(PrimaryUnhealthy|ChecksFailed)$/);
        await load.stop();
      });
    });
  });
});

/** A route of the bed's Gateway to the apex Service, since Service addresses do not answer on the bed. */
async function serveThroughEnvoy(namespace: string, service: string): Promise<void> {
  await bed.apply([httpRoute(service, `${service}.example.com`, { [service]: 100 })], namespace);
}

/** Version 6.9.2 of an application with these faults of the bed's program. */
async function commitWith(play: Play, file: string, faults: Record<string, string>): Promise<void> {
  const path = join(play.folder, file);
  const env = Object.entries(faults).map(([name, value]) => ({ name, value }));
  const text = await readFile(path, 'utf8');
  const changed = text.replace(/( *)image: app:.*/, `$1image: app:6.9.2\n$1env: ${JSON.stringify(env)}`);
  await writeFile(path, changed);
  await run('git', ['commit', '--quiet', '-a', '-m', `${file}: run version 6.9.2`], {
    cwd: play.folder,
    env: play.env,
  });
  await run('git', ['push', '--quiet'], { cwd: play.folder, env: play.env });
}

/** Reason of the newest rejection, once version 6.9.2 was reverted. */
async function reasonOfRejection(play: Play, name: string): Promise<string | undefined> {
  const status = async () => (await bed.readObject('Canary', play.name, name))?.status as CanaryStatus;
  const reverted = await waitFor(
    async () => {
      const { phase, rejected = [], run: underWay } = await status();
      return phase === 'Failed' && !underWay && rejected.length === 2 && rejected;
    },
    { timeoutMs: 120_000, what: `${name} 6.9.2 is reverted`, describe: status },
  );
  const primary = await bed.readObject('Deployment', play.name, `${name}-primary`);
  expect(JSON.stringify(primary?.spec)).toContain('"app:6.9.0"');
  return [...reverted].sort((a, b) => a.time.localeCompare(b.time)).at(-1)?.reason;
}
