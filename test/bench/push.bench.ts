import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { allCrds } from '../../src/api/kinds/crd.ts';
import { type BedClient, useBed, waitFor } from '../cluster/bed/client.ts';
import type { GitRepo } from '../cluster/bed/git-repo.ts';
import { createProgram } from '../cluster/scenarios/program.ts';
import { report, spread } from './measure.ts';
import { notifyOfPush, PUSH_SECRET } from './push-hook.ts';

const SAMPLES = 10;
const bed: BedClient = useBed();

test('from push to the first applied object', async () => {
  await bed.apply(allCrds());
  await bed.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  const polled = await play('push-polled', { interval: '5s' }, async () => undefined);
  const hooked = await play('push-hooked', { interval: '10m', secretRef: { name: 'push' } }, (url, to) =>
    notifyOfPush(url, to, 'shop'),
  );
  report(`From push to the first applied object, ${SAMPLES} pushes, milliseconds min / median / max`, [
    `polling every 5 s: ${spread(polled)}`,
    `push webhook: ${spread(hooked)}`,
  ]);
  expect(polled.length + hooked.length).toBe(2 * SAMPLES);
});

/** Pushes a ConfigMap again and again; gives the time until the cluster holds each. */
async function play(
  namespace: string,
  spec: Record<string, unknown>,
  tell: (url: string, namespace: string) => Promise<void>,
): Promise<number[]> {
  await bed.createNamespace(namespace);
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'push' },
    stringData: { webhookSecret: PUSH_SECRET },
  };
  await bed.apply([secret], namespace);
  const repo = await bed.createGitRepo(namespace);
  await push(repo, 'start');
  const program = createProgram(bed, namespace, repo.url, spec);
  program.start();
  await applied(namespace, 'start');
  await sleep(6_000);
  const url = await program.url();
  const samples: number[] = [];
  for (let index = 0; index < SAMPLES; index += 1) {
    await push(repo, `push-${index}`);
    const began = performance.now();
    await tell(url, namespace);
    await applied(namespace, `push-${index}`);
    samples.push(performance.now() - began);
    await sleep(700 * (index % 4));
  }
  await program.stop();
  return samples;
}

function push(repo: GitRepo, value: string): Promise<string> {
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'pushed' }, data: { value } };
  return repo.commit({ 'config.yaml': JSON.stringify(config) }, value);
}

function applied(namespace: string, value: string): Promise<boolean> {
  const look = async () => {
    const found = await bed.readObject('ConfigMap', namespace, 'pushed').catch(() => undefined);
    return (found?.data as { value?: string } | undefined)?.value === value;
  };
  return waitFor(look, { timeoutMs: 60_000, intervalMs: 20, what: `${value} applied in ${namespace}` });
}
