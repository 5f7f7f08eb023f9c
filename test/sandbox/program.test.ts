import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BuiltProgram, buildProgram } from './built-program.ts';
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

/** Resident memory of an idle program that follows one Source, in MiB. */
const largestMiB = 120;

let program: BuiltProgram;
let bed: Bed;

beforeAll(async () => {
  program = await buildProgram();
});
afterAll(() => program.remove());
beforeEach(async () => {
  bed = await startBed();
});
afterEach(async () => {
  program.killAll();
  await bed.close();
});

/** 0 where there is no /proc. */
async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'VmRSS: 0 kB');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

async function file(name: string, content: string): Promise<string> {
  const path = join(program.folder, name);
  await writeFile(path, content);
  return path;
}

async function flags(): Promise<string[]> {
  const data = await mkdtemp(join(program.folder, 'data-'));
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
  const holdfast = program.run(['run', '--source', source, ...(await flags())]);
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

test('ends on SIGTERM although something else would keep its process', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const source = await file('source.json', JSON.stringify(sourceFor(bed)));
  const holder = 'data:text/javascript,setInterval(() => undefined, 1000)';
  const holdfast = program.run(['run', '--source', source, ...(await flags())], {
    NODE_OPTIONS: `--import=${encodeURI(holder)}`,
  });
  await waitForPhase(bed, 'Initialized');
  holdfast.stop('SIGTERM');
  expect(await holdfast.ended).toBe(0);
});

test('killed in the middle of a rollout and restarted, it reaches the same end', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const source = await file('source.json', JSON.stringify(sourceFor(bed)));
  // One container's data directory: what starts again takes its own Lease over (ADR 10).
  const same = await flags();
  const first = program.run(['run', '--source', source, ...same]);
  await waitForPhase(bed, 'Initialized');
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Progressing');
  first.stop('SIGKILL');
  await first.ended;
  program.run(['run', '--source', source, ...same]);
  await waitForPhase(bed, 'Succeeded');
  expect(statusOf(await bed.canary()).lastPromotedCommit).toBe(v2);
});

test('bad input ends with code 2 and names file, line and field', async () => {
  const source = await file(
    'bad.yaml',
    'apiVersion: holdfast.dev/v1alpha1\nkind: Source\nmetadata:\n  name: shop\nspec:\n  url: https://git.example.com/shop.git\n  ref:\n    branch: main\n  interval: often\n',
  );
  const holdfast = program.run(['run', '--source', source, ...(await flags())]);
  expect(await holdfast.ended).toBe(2);
  expect(holdfast.output()).toMatch(/bad\.yaml:9: spec\.interval: must be a duration/);
  const missing = program.run(['run', '--source', '/nowhere.yaml', ...(await flags())]);
  expect(await missing.ended).toBe(2);
  expect(missing.output()).toContain('/nowhere.yaml: there is no such file');
  const unknown = program.run(['run', '--listen', 'here']);
  expect(await unknown.ended).toBe(2);
});

test('a reader of the messages that has gone changes no exit code', async () => {
  const command = `node ${join(program.folder, 'dist/main.js')} status --kubeconfig nowhere`;
  // The program starts more slowly than the reader ends.
  const piped = `${command} 2>&1 >/dev/null | true; exit \${PIPESTATUS[0]}`;
  await expect(promisify(execFile)('bash', ['-c', piped])).rejects.toMatchObject({ code: 2 });
});

test('what cannot be written, as to a full disk, is an error in one line and no failed release', async () => {
  const list = `node ${join(program.folder, 'dist/main.js')} runbook >/dev/full`;
  const failed = await promisify(execFile)('bash', ['-c', list]).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: standard output cannot be written: .*ENOSPC.*\n$/),
  });
});

test('a cluster without our CRDs is waited for, with the command that helps', async () => {
  for (const name of ['canaries.flagger.app', 'sources.holdfast.dev', 'metrictemplates.flagger.app'])
    await bed.send('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`);
  const holdfast = program.run(['run', ...(await flags())]);
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
