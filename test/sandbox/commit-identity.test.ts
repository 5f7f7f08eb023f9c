import { afterEach, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/server/app.ts';
import {
  canary,
  createSource,
  deployment,
  eventually,
  failPods,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let app: App;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

async function release(version: number, phase: string): Promise<string> {
  const files = { 'web.json': deployment(`shop/web:${version}`) };
  const commit = await bed.commit(
    `v${version}`,
    version === 1 ? { ...files, 'canary.json': canary() } : files,
  );
  if (version === 1) {
    await createSource(bed);
    app = await bed.start();
  }
  await waitForPhase(bed, phase);
  await bed.pass(5_000);
  return commit;
}

/** Commits that change an object of no Canary, or nothing that Kubernetes knows; waits until the last one is applied. */
async function unrelated(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const note = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'note', namespace: 'shop' } };
    const isNote = index % 2 === 0;
    const files: Record<string, string> = isNote
      ? { 'note.json': JSON.stringify({ ...note, data: { index: `${index} ${bed.clock.nowMs()}` } }) }
      : { 'README.md': `note ${index} ${bed.clock.nowMs()}` };
    const commit = await bed.commit(`unrelated ${index}`, files);
    await applied(commit);
  }
  await bed.pass(5_000);
}

async function applied(commit: string): Promise<void> {
  await eventually(
    'the Source says where head stands',
    async () => statusOf(await bed.source()).appliedCommit === commit,
  );
}

/** Writes that are about the Canary: its status, its workloads, Services and records. */
function writesOfCanary(): string[] {
  return bed.sandbox.requests
    .writes()
    .filter(
      ({ userAgent, path }) => userAgent.startsWith('holdfast/') && !/leases|events|sources|note/.test(path),
    )
    .map(({ method, path }) => `${method} ${path}`);
}

async function version(): Promise<string | undefined> {
  return (await bed.canary())?.metadata.resourceVersion;
}

test('commits that are about something else write nothing of a Canary (issue 11, 19)', async () => {
  await release(1, 'Initialized');
  const v2 = await release(2, 'Succeeded');
  const before = await version();
  bed.sandbox.requests.clear();
  await unrelated(12);
  expect(writesOfCanary()).toEqual([]);
  expect(await version()).toBe(before);
  expect(statusOf(await bed.canary())).toMatchObject({ lastAppliedCommit: v2, lastPromotedCommit: v2 });
});

test('the commit that brought a bad release is named, whatever came after it, and after a restart', async () => {
  await release(1, 'Initialized');
  await release(2, 'Succeeded');
  failPods(bed, 'shop/web:3', 'NotReady');
  const v3 = await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await eventually('it is tried', async () => statusOf(await bed.canary()).lastAppliedCommit === v3);
  await unrelated(2);
  await waitForPhase(bed, 'Failed');
  await bed.pass(5_000);
  const named = async () => {
    const { lastAppliedCommit, rejected, incidents, message } = statusOf(await bed.canary()) as {
      lastAppliedCommit: string;
      rejected: Array<{ commit: string }>;
      incidents: Array<{ commit: string; subject: string }>;
      message: string;
    };
    const [{ commit, subject } = { commit: '', subject: '' }] = incidents;
    return [
      lastAppliedCommit,
      ...rejected.map((one) => one.commit),
      commit,
      subject,
      message.includes(v3.slice(0, 7)),
    ];
  };
  expect(await named()).toEqual([v3, v3, v3, 'v3', true]);

  const before = await version();
  bed.sandbox.requests.clear();
  await unrelated(6);
  await app.drain();
  const meanwhile = await bed.commit('while nobody looked', { 'README.md': 'meanwhile' });
  await bed.start();
  await applied(meanwhile);
  await unrelated(2);
  // What Git holds of the Canary is applied once after a start, which changes nothing.
  expect(writesOfCanary().filter((write) => write.endsWith('/status'))).toEqual([]);
  expect(await version()).toBe(before);
  expect(await named()).toEqual([v3, v3, v3, 'v3', true]);
});

test('a release that comes back is of the commit that brought it back', async () => {
  await release(1, 'Initialized');
  await release(2, 'Succeeded');
  const back = await bed.commit('Revert "v2"', { 'web.json': deployment('shop/web:1') });
  await applied(back);
  await unrelated(1);
  await eventually(
    'the older release is live again',
    async () => {
      const { phase, lastAppliedCommit, lastPromotedCommit } = statusOf(await bed.canary());
      return phase === 'Succeeded' && lastAppliedCommit === back && lastPromotedCommit === back;
    },
    { seen: async () => statusOf(await bed.canary()) },
  );
});
