import { setTimeout as sleep } from 'node:timers/promises';
import type { Difference, Ended } from './events.ts';
import type { Play } from './performance.ts';
import { story } from './story.ts';
import { differencesOf, type Expectation } from './verdict.ts';
import { readWorld } from './world.ts';

/** Longest time until what is still ending has ended: old pods, the last status. */
const settleMs = 15_000;
const lookMs = 250;

/** Compares the cluster with what the story must have led to, and adds what was seen on the way. */
export async function judge(show: Play): Promise<Ended> {
  const final = await finalDifferences(show);
  const totals = show.traffic?.totals();
  await show.traffic?.stop();
  const differences = [...final, ...trafficDifferences(totals), ...show.journal.differences()];
  const ok = differences.length === 0;
  return {
    type: 'ended',
    ok,
    differences,
    ...show.journal.facts(),
    requests: totals?.requests ?? null,
    failedRequests: totals?.failed ?? null,
    log: ok ? '' : show.setting.logPath,
  };
}

async function finalDifferences(show: Play): Promise<Difference[]> {
  const { connection, stage, setting, audience } = show;
  const expected = expectationOf(show);
  const deadlineMs = Date.now() + settleMs;
  for (;;) {
    const world = await readWorld(connection.client, setting.options.namespace, stage.provider);
    const differences = differencesOf(world, expected);
    if (differences.length === 0 || Date.now() > deadlineMs) return differences;
    await sleep(lookMs, undefined, { signal: audience.signal });
  }
}

function trafficDifferences(totals: { requests: number; failed: number } | undefined): Difference[] {
  if (!totals || (totals.failed === 0 && totals.requests > 0)) return [];
  const found =
    totals.requests === 0 ? 'none was ever answered' : `${totals.failed} of ${totals.requests} failed`;
  return [{ what: 'sampled requests', expected: '0 failed', found }];
}

function expectationOf({ commits, setting, goodDigest }: Play): Expectation {
  return {
    image: setting.options.image,
    goodEnv: story.find(({ name }) => name === 'v2')?.env ?? {},
    goodDigest,
    badVersion: 'v3',
    badCommit: commits.commitOf('v3'),
    headCommit: commits.commitOf('revert'),
  };
}
