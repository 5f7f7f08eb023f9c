import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type Bed,
  canary,
  deployment,
  eventually,
  sourceFor,
  startBed,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';

const build = join(import.meta.dirname, '../../scripts/build.mjs');
/** Resident memory of an idle program that follows one Source, in MiB. */
const largestMiB = 120;

let folder: string;
let program: string;
let bed: Bed;
const running = new Set<() => void>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-program-'));
  await promisify(execFile)(process.execPath, [build, join(folder, 'dist')]);
  program = join(folder, 'dist/main.js');
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  bed = await startBed();
});
afterEach(async () => {
  for (const kill of running) kill();
  running.clear();
  await bed.close();
});

interface Run {
  readonly pid: number;
  output(): string;
  stop(signal: NodeJS.Signals): void;
  readonly ended: Promise<number | null>;
}

function run(args: readonly string[]): Run {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  running.add(() => child.kill('SIGKILL'));
  return {
    pid: child.pid ?? 0,
    output: () => text,
    stop: (signal) => child.kill(signal),
    ended: new Promise((resolve) => child.on('close', resolve)),
  };
}

/** 0 where there is no /proc. */
async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'VmRSS: 0 kB');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function flags(): Promise<string[]> {
  const data = await mkdtemp(join(folder, 'data-'));
  return [
    '--kubeconfig',
    bed.kubeconfigPath,
    '--data-dir',
    data,
    '--listen',
    '127.0.0.1:0',
    '--min-analysis-interval',
    '100ms',
  ];
}

test('the bundle follows a Source given as a file, stays small, and ends with code 0 on SIGTERM', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const source = await file('source.json', JSON.stringify(sourceFor(bed)));
  const holdfast = run(['run', '--source', source, ...(await flags())]);
  await waitForPhase(bed, 'Initialized');
  expect((await bed.source())?.metadata.labels).toMatchObject({ 'holdfast.dev/from-file': 'true' });
  await eventually(
    'memory is small once the start is over',
    async () => (await residentMiB(holdfast.pid)) < largestMiB,
    {
      seen: () => residentMiB(holdfast.pid),
    },
  );
  holdfast.stop('SIGTERM');
  expect(await holdfast.ended).toBe(0);
  const lease = await bed.get('coordination.k8s.io/v1', 'Lease', 'holdfast', 'default');
  expect((lease?.spec as { holderIdentity?: string } | undefined)?.holderIdentity ?? '').toBe('');
});

test('killed in the middle of a rollout and restarted, it reaches the same end', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const source = await file('source.json', JSON.stringify(sourceFor(bed)));
  // One container's data directory: what starts again takes its own Lease over (ADR 10).
  const same = await flags();
  const first = run(['run', '--source', source, ...same]);
  await waitForPhase(bed, 'Initialized');
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Progressing');
  first.stop('SIGKILL');
  await first.ended;
  run(['run', '--source', source, ...same]);
  await waitForPhase(bed, 'Succeeded');
  expect(statusOf(await bed.canary()).lastPromotedCommit).toBe(v2);
});

test('bad input ends with code 2 and names file, line and field', async () => {
  const source = await file(
    'bad.yaml',
    'apiVersion: holdfast.dev/v1alpha1\nkind: Source\nmetadata:\n  name: shop\nspec:\n  url: https://git.example.com/shop.git\n  ref:\n    branch: main\n  interval: often\n',
  );
  const holdfast = run(['run', '--source', source, ...(await flags())]);
  expect(await holdfast.ended).toBe(2);
  expect(holdfast.output()).toMatch(/bad\.yaml:9: spec\.interval: must be a duration/);
  const missing = run(['run', '--source', '/nowhere.yaml', ...(await flags())]);
  expect(await missing.ended).toBe(2);
  expect(missing.output()).toContain('/nowhere.yaml: there is no such file');
  const unknown = run(['run', '--listen', 'here']);
  expect(await unknown.ended).toBe(2);
});

test('a cluster without our CRDs is waited for, with the command that helps', async () => {
  for (const name of ['canaries.flagger.app', 'sources.holdfast.dev', 'metrictemplates.flagger.app'])
    await bed.send('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`);
  const holdfast = run(['run', ...(await flags())]);
  await eventually(
    'the log says what to do',
    async () => holdfast.output().includes('holdfast install --crds-only'),
    {
      seen: async () => holdfast.output(),
    },
  );
  holdfast.stop('SIGTERM');
  expect(await holdfast.ended).toBe(0);
});
