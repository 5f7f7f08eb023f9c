import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { allCrds } from '../../src/api/kinds/crd.ts';
import { type BuiltProgram, buildProgram } from '../sandbox/built-program.ts';
import { canary } from '../sandbox/holdfast-bed.ts';
import { programs } from './programs.ts';
import { type InteractiveShell, installProgram, type ShellName, startShell } from './shells.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'holdfast-completion-'));
const bin = join(folder, 'bin');
const kubeconfig = join(folder, 'kubeconfig');
/** Names of contexts are as free as this. */
const hostile = `evil $(touch ${folder}/pwned) \`touch ${folder}/pwned\``;
/** On a busy machine the two seconds that a completion may take are over before the cluster answers: who presses Tab presses it again. */
const again = { timeout: 30_000 };
const arn = 'arn:aws:eks:eu-west-1:1:cluster/shop';
let sandbox: Sandbox;
let program: BuiltProgram;

async function create(path: string, body: object): Promise<void> {
  const answer = await fetch(sandbox.url + path, { method: 'POST', body: JSON.stringify(body) });
  expect(answer.status, await answer.text()).toBe(201);
}

beforeAll(async () => {
  [sandbox, program] = await Promise.all([startSandbox(), buildProgram()]);
  installProgram(join(program.folder, 'dist/main.js'), bin);
  for (const crd of allCrds()) await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  for (const name of ['web', 'payment'])
    await create('/apis/flagger.app/v1beta1/namespaces/shop/canaries', JSON.parse(canary({ name })));
  await create('/apis/holdfast.dev/v1alpha1/namespaces/shop/sources', {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'front', namespace: 'shop' },
    spec: { url: 'https://git.example.com/front.git', ref: { branch: 'main' }, interval: '1m' },
  });
  const config = JSON.parse(sandbox.kubeconfig) as { contexts: Array<{ name: string; context: object }> };
  const [{ context } = { context: {} }] = config.contexts;
  config.contexts.push({ name: arn, context: { ...context, namespace: 'shop' } }, { name: hostile, context });
  writeFileSync(kubeconfig, JSON.stringify(config));
});
afterAll(async () => {
  await Promise.all([sandbox.close(), program.remove()]);
  rmSync(folder, { recursive: true, force: true });
});

describe.each(['bash', 'zsh', 'fish'] as const)('%s', (name: ShellName) => {
  let shell: InteractiveShell;
  beforeAll(async () => {
    shell = await startShell(name, { home: join(folder, name), bin, env: { KUBECONFIG: kubeconfig } });
  });
  afterAll(() => shell.close());

  it.each([
    ['a command', 'holdfast stat\t', ['status']],
    ['a command inside another one', 'holdfast migrate st\t', ['migrate', 'steps']],
    ['a flag', 'holdfast status --sel\ta=b', ['status', '--selector', 'a=b']],
    ['a choice of a flag', 'holdfast status -o wi\t', ['status', '-o', 'wide']],
    ['a choice behind =', 'holdfast status --output=wi\t', ['status', '--output=wide']],
    ['a choice of an argument', 'holdfast gate op\t', ['gate', 'open']],
    ['a namespace', 'holdfast status -n sh\t', ['status', '-n', 'shop']],
    [
      'a Canary of the namespace on the line',
      'holdfast history -n shop pay\t',
      ['history', '-n', 'shop', 'payment'],
    ],
    ['a Canary with its kind', 'holdfast diff -n shop canary/w\t', ['diff', '-n', 'shop', 'canary/web']],
    ['a Source', 'holdfast sync -n shop f\t', ['sync', '-n', 'shop', 'front']],
    [
      'a Source where Canaries may stand too',
      'holdfast diff -n shop so\t',
      ['diff', '-n', 'shop', 'source/front'],
    ],
    ['a context with colons', 'holdfast status --context arn\t', ['status', '--context', arn]],
    [
      'a context with colons, from its middle',
      'holdfast status --context arn:aws:e\t',
      ['status', '--context', arn],
    ],
    ['a context with colons behind =', 'holdfast status --context=arn\t', ['status', `--context=${arn}`]],
    [
      'the namespace of a context',
      `holdfast history --context ${arn} pay\t`,
      ['history', '--context', arn, 'payment'],
    ],
    ['a file', `holdfast validate ${folder}/kubec\t`, ['validate', kubeconfig]],
    [
      'a file of a flag',
      `holdfast status --kubeconfig ${folder}/kubec\t`,
      ['status', '--kubeconfig', kubeconfig],
    ],
  ])('completes %s', async (_, keys, words) => {
    await expect.poll(() => shell.type(keys), again).toEqual(words);
  });

  it('quotes a name that the shell would run, and runs nothing of it', async () => {
    expect(await shell.type('holdfast status --context ev\t')).toEqual(['status', '--context', hostile]);
    expect(existsSync(join(folder, 'pwned'))).toBe(false);
  });

  it('runs nothing of what is typed, and keeps silent about a kubeconfig that is not there', async () => {
    const keys = `holdfast history --kubeconfig '$(touch ${folder}/pwned)' we\t`;
    expect(await shell.type(keys)).toEqual(['history', '--kubeconfig', `$(touch ${folder}/pwned)`, 'we']);
    expect(existsSync(join(folder, 'pwned'))).toBe(false);
  });
});

describe('as a plug-in of kubectl', () => {
  const env = () => ({ PATH: `${bin}:${process.env.PATH}`, HOME: folder, KUBECONFIG: kubeconfig });
  const kubectl = async (...words: string[]) => (await run(programs.kubectl, words, { env: env() })).stdout;
  let restore: (() => void) | undefined;
  afterEach(() => restore?.());

  it('kubectl finds it, and hands its words over', async () => {
    expect(await kubectl('plugin', 'list')).toContain(join(bin, 'kubectl-holdfast'));
    expect(await kubectl('holdfast', 'status', '-n', 'shop')).toMatch(/payment[\s\S]*web[\s\S]*front/);
    await expect(kubectl('holdfast', 'history', '-n', 'shop', 'nothing')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Canary shop/nothing not found'),
    });
  });

  it('kubectl completes its commands, flags and names', async () => {
    expect(await kubectl('__complete', 'holdfast', 'stat')).toMatch(/^status\t.*\n:4\n/);
    await expect
      .poll(() => kubectl('__complete', 'holdfast', 'history', '-n', 'shop', ''), again)
      .toMatch(/^payment\nweb\n:4\n/);
    expect(await kubectl('__complete', 'holdfast', 'status', '-o', 'w')).toMatch(/^wide\n:4\n/);
  });

  it('an API server that does not answer holds the prompt up for two seconds only', async () => {
    restore = sandbox.fault(({ path }) => (path.includes('canaries') ? 'hang' : undefined));
    const startMs = Date.now();
    expect(await kubectl('__complete', 'holdfast', 'history', '-n', 'shop', '')).toMatch(/^:4\n/);
    expect(Date.now() - startMs).toBeLessThan(20_000);
  });
});
