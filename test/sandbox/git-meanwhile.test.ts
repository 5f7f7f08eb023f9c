import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { git } from '../../sandbox/git-server/git.test-support.ts';
import { type GitServer, startGitServer } from '../../sandbox/git-server/git-server.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  failPrimary,
  isNotIdle,
  primaryImage,
  statusOf,
  untilAtRest,
  untilSeen,
} from './holdfast-bed.ts';
import { otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let server: GitServer | undefined;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await bed.close();
});

/** Two minutes of the bed are a thousand turns of the process: enough for watches that a leap of time broke to be found broken and begun anew. */
const onFailure = {
  progressDeadlineSeconds: 120,
  postPromotion: { interval: '1s', successThreshold: 1, onFailure: 'revert' },
};

function untilState(state: string): Promise<unknown> {
  return untilSeen(bed, state, async () => {
    const { postPromotion } = statusOf(await bed.canary()) as { postPromotion?: { state?: string } };
    return postPromotion?.state === state;
  });
}

function untilReady(reason: string): Promise<unknown> {
  return untilSeen(
    bed,
    `the Source says ${reason}`,
    async () => condition(await bed.source(), 'Ready')?.reason === reason,
  );
}

function untilFetched(): Promise<unknown> {
  return untilSeen(
    bed,
    'the Source was read',
    async () => condition(await bed.source(), 'Fetched')?.status === 'True',
  );
}

/** `v2` is being reverted, and the last-known-good does not become ready before `heal`. */
async function startReverting(): Promise<{ heal: () => void; drain: () => Promise<void> }> {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ spec: onFailure }),
  });
  await createSource(bed);
  const app = await bed.start();
  await untilAtRest(bed, 'Initialized');
  failPrimary(bed, 'shop/web:2', 'NotReady');
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await untilState('Converging');
  const heal = failPrimary(bed, 'shop/web:1', 'NotReady');
  await untilState('Reverting');
  return { heal, drain: () => app.drain() };
}

/** What is written once things stand still, over this time of the bed. */
async function writtenDuring(durationMs: number): Promise<unknown[]> {
  await bed.pass(5_000);
  bed.sandbox.requests.clear();
  await bed.pass(durationMs);
  return bed.sandbox.requests.all().filter(isNotIdle);
}

/** Lets time pass faster than it does by itself. */
async function leap(durationMs: number): Promise<void> {
  for (let leftMs = durationMs; leftMs > 0; leftMs -= 5_000) {
    bed.clock.advance(5_000);
    await sleep(4);
  }
}

function deleteBranch(): Promise<unknown> {
  return git(bed.repository, ['update-ref', '-d', 'refs/heads/main']);
}

test('a branch that is deleted during a revert does not keep it from ending, nor does a restart without it', async () => {
  const { heal, drain } = await startReverting();
  const bad = (await git(bed.repository, ['rev-parse', 'refs/heads/main'])).toString().trim();
  await deleteBranch();
  await untilReady('RefNotFound');
  heal();
  await untilAtRest(bed, 'Failed');

  expect(await primaryImage(bed)).toBe('shop/web:1');
  expect(condition(await bed.canary(), 'Reverted')?.status).toBe('True');
  expect(condition(await bed.canary(), 'RollbackReady')?.status).toBe('True');
  expect(await writtenDuring(20_000)).toEqual([]);

  await drain();
  const before = (await bed.canary())?.status;
  await bed.start();
  await untilReady('RefNotFound');
  expect(await writtenDuring(20_000)).toEqual([]);
  expect((await bed.canary())?.status).toEqual(before);

  await git(bed.repository, ['update-ref', 'refs/heads/main', bad]);
  await untilFetched();
  expect(await writtenDuring(10_000)).toEqual([]);
  await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await untilAtRest(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:3');
});

test('Git that is down for an hour during a revert changes nothing about it: it ends from the record, also over a restart', async () => {
  const { heal, drain } = await startReverting();
  const port = Number(new URL(bed.git.url).port);
  await bed.git.close();
  await drain();
  await bed.start();
  heal();
  await untilAtRest(bed, 'Failed');

  expect(await primaryImage(bed)).toBe('shop/web:1');
  expect(condition(await bed.canary(), 'Reverted')?.status).toBe('True');
  await untilReady('Unreachable');
  await bed.pass(5_000);
  bed.sandbox.requests.clear();
  await leap(3_600_000);
  expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);

  const status = statusOf(await bed.canary());
  server = await startGitServer({ root: dirname(bed.repository), port });
  await untilFetched();
  await untilSeen(
    bed,
    'the record was compared with Git',
    async () => condition(await bed.canary(), 'RecordReproduced')?.status === 'True',
  );
  expect(await writtenDuring(20_000)).toEqual([]);
  const { phase, rejected, lastKnownGood } = statusOf(await bed.canary());
  expect({ phase, rejected, lastKnownGood }).toEqual({
    phase: 'Failed',
    rejected: status.rejected,
    lastKnownGood: status.lastKnownGood,
  });
  await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await untilAtRest(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:3');
});

test('the first release of a target that ran before stays that of Git, also where Holdfast starts again and Git is down', async () => {
  await otherTool(bed, 'kubectl').apply(deployment('shop/web:0'));
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed);
  const heal = bed.sandbox.behaviour.rule((pod) =>
    pod.metadata.name.startsWith('web-primary-') ? { failure: 'NotReady' } : undefined,
  );
  const app = await bed.start();
  await untilSeen(bed, 'the primary is written', () => primaryImage(bed));
  await app.drain();
  const port = Number(new URL(bed.git.url).port);
  await bed.git.close();

  await bed.start();
  heal();
  await untilReady('Unreachable');
  await bed.pass(30_000);

  expect(await primaryImage(bed)).toBe('shop/web:1');
  server = await startGitServer({ root: dirname(bed.repository), port });
  await untilAtRest(bed, 'Initialized');
  expect(await primaryImage(bed)).toBe('shop/web:1');
  expect(statusOf(await bed.canary()).history).toBeUndefined();
});

test('history that is rewritten while a release is reverted does not lift the rejection, and a fix in it waits for a person', async () => {
  const { heal } = await startReverting();
  heal();
  await untilAtRest(bed, 'Failed');
  const files = (image: string) => ({
    'web.json': deployment(image),
    'canary.json': canary({ spec: onFailure }),
  });

  const same = await bed.rewrite('v2 with another subject', files('shop/web:2'));
  await untilSeen(
    bed,
    'the rewritten commit is known',
    async () => statusOf(await bed.source()).appliedCommit === same,
  );
  await bed.pass(10_000);
  expect(statusOf(await bed.canary()).phase).toBe('Failed');
  expect(await primaryImage(bed)).toBe('shop/web:1');

  await bed.rewrite('v3', files('shop/web:3'));
  await untilReady('HistoryRewritten');
  expect(await writtenDuring(20_000)).toEqual([]);
  expect(await primaryImage(bed)).toBe('shop/web:1');

  const good = await bed.rewrite('v1 again', files('shop/web:1'));
  await untilSeen(
    bed,
    'the rewritten commit is known',
    async () => statusOf(await bed.source()).appliedCommit === good,
  );
  await untilAtRest(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:1');
});

test('commits that are gone from the server, and from the disk of a restarted copy, cost nothing: the records hold the last-known-good', async () => {
  const { heal, drain } = await startReverting();
  heal();
  await untilAtRest(bed, 'Failed');
  await drain();
  const before = statusOf(await bed.canary());
  const head = await bed.rewrite('v3', {
    'web.json': deployment('shop/web:3'),
    'canary.json': canary({ spec: onFailure }),
  });
  await git(bed.repository, ['reflog', 'expire', '--expire=now', '--all']);
  await git(bed.repository, ['gc', '--quiet', '--prune=now']);

  await bed.start();
  await untilReady('HistoryRewritten');
  expect(await writtenDuring(20_000)).toEqual([]);
  expect(await primaryImage(bed)).toBe('shop/web:1');
  expect(condition(await bed.canary(), 'RollbackReady')?.status).toBe('True');
  expect(statusOf(await bed.canary()).lastKnownGood).toEqual(before.lastKnownGood);

  await bed.send('PATCH', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop', {
    metadata: { annotations: { 'holdfast.dev/approve': head } },
  });
  await untilAtRest(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:3');
});

test('an object of the commit that was refused is applied as soon as it may be, also while Git is down', async () => {
  const settings = (name: string) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' } });
  const allow = bed.sandbox.fault((request) =>
    request.method === 'PATCH' && request.path.endsWith('/configmaps/late')
      ? { code: 503, reason: 'ServiceUnavailable' }
      : undefined,
  );
  await bed.commit('two', { 'early.json': settings('early'), 'late.json': settings('late') });
  await createSource(bed);
  await bed.start();
  await untilReady('ApiUnavailable');
  await bed.git.close();
  await untilReady('Unreachable');

  allow();

  await untilSeen(bed, 'it is applied', () => bed.get('v1', 'ConfigMap', 'late'));
});
