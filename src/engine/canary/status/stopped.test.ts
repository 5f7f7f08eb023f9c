import { describe, expect, test } from 'vitest';
import type { Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import { stamp } from '../../../api/time.ts';
import { aCanary } from '../../../workload/shared/fixtures.test-support.ts';
import { EngineError, type Failure } from '../../failure.ts';
import { reportDueMs, withStopped } from './stopped.ts';

const nowMs = Date.parse('2026-01-02T00:00:00Z');
const parts = { clock: { nowMs: () => nowMs }, options: {} } as Parameters<typeof withStopped>[0];
const refused = new EngineError('Forbidden', 'create Secret shop/web: forbidden');
const ago = (ms: number) => stamp(nowMs - ms);
const [second, minute, day] = [1_000, 60_000, 86_400_000];

/** Stalled for so long, while this release was under way and these had been told. */
function stalled(
  forMs: number,
  {
    digest = '',
    told = {},
    reason = 'Forbidden',
  }: { digest?: string; told?: Record<string, number>; reason?: string },
): Canary {
  const incidents = Object.entries(told).map(([key, ms]) => ({ key, time: ago(ms), outcome: 'Stopped' }));
  const condition = { type: 'Stalled', status: 'True', reason, message: '', lastTransitionTime: ago(forMs) };
  const run = digest ? { digest, commit: `commit of ${digest}` } : undefined;
  return { ...aCanary({}), status: { conditions: [condition], incidents, run } as unknown as CanaryStatus };
}

function toldOf(canary: Canary, failure: Failure | undefined = refused): string[] {
  const { incidents: before = [] } = canary.status ?? {};
  const { incidents = [] } = withStopped(parts, canary, canary.status ?? {}, failure);
  return incidents
    .slice(0, incidents.length - before.length)
    .map(({ key, commit }) => `${key} ${commit}`.trim());
}

describe('what stops a Canary', () => {
  const first = { 'stopped/Forbidden/one': 10 * minute };

  test.each<[string, Canary, string[]]>([
    ['is told after a minute', stalled(minute, { digest: 'one' }), ['stopped/Forbidden/one commit of one']],
    ['is not told sooner', stalled(minute - second, { digest: 'one' }), []],
    ['is told without a release, too', stalled(minute, {}), ['stopped/Forbidden']],
    ['is told once while it goes on', stalled(10 * minute, { digest: 'one', told: first }), []],
    [
      'is told once while it goes on for the next release',
      stalled(11 * minute, { digest: 'two', told: first }),
      [],
    ],
    [
      'is told of the next release that it stops',
      stalled(5 * minute, { digest: 'two', told: first }),
      ['stopped/Forbidden/two commit of two'],
    ],
    ['is not told again of the same release soon', stalled(5 * minute, { digest: 'one', told: first }), []],
    [
      'is told again of the same release a day later',
      stalled(5 * minute, { digest: 'one', told: { 'stopped/Forbidden/one': day } }),
      [`stopped/Forbidden/one/${stamp(nowMs)} commit of one`],
    ],
    [
      'is told beside what was told of another reason meanwhile',
      stalled(5 * minute, {
        digest: 'one',
        told: { 'stopped/ForbiddenToo/one': minute, 'Failed/one': second },
      }),
      ['stopped/Forbidden/one commit of one'],
    ],
    ['is not told of a reason that has just changed', stalled(day, { reason: 'InvalidSpec' }), []],
  ])('%s', (_, canary, expected) => {
    expect(toldOf(canary)).toEqual(expected);
  });

  test('is not told where it ends by itself, or has ended', () => {
    const canary = stalled(day, { digest: 'one' });
    expect(toldOf(canary, { ...refused, reason: 'Forbidden', message: '', transient: true })).toEqual([]);
    expect(withStopped(parts, canary, { phase: 'Succeeded' }, undefined)).toEqual({ phase: 'Succeeded' });
  });

  test.each<[string, Canary, number | undefined]>([
    ['when it has just begun', aCanary({}), minute],
    ['when it began sooner', stalled(minute - second, {}), second],
    ['never again once it was', stalled(minute, {}), undefined],
  ])('is looked at again in time to be told: %s', (_, canary, expected) => {
    expect(reportDueMs(parts, canary, refused)).toBe(expected);
  });
});
