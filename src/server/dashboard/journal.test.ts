import { expect, test } from 'vitest';
import type { CanaryStatus, CheckResult } from '../../api/canary/status.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { createJournal } from './journal.ts';

function canary(status: CanaryStatus, uid = '1'): KubernetesObject {
  const metadata = { namespace: 'shop', name: `web-${uid}`, uid };
  return { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status };
}

function check(value: number | undefined, time: string): CheckResult {
  return { name: 'success-rate', verdict: 'pass', min: 99, time, ...(value === undefined ? {} : { value }) };
}

test('weights, failed checks and new values of checks become a timeline that extends to now', () => {
  let nowMs = 1_000;
  const journal = createJournal(() => nowMs);
  const see = (status: CanaryStatus) => {
    nowMs += 1_000;
    journal.note(canary({ phase: 'Progressing', ...status }));
  };
  see({ canaryWeight: 0, failedChecks: 0 });
  see({ canaryWeight: 20, failedChecks: 0, checks: [check(99.5, 'a')] });
  // A repeated answer adds no value, and an unchanged status no moment.
  see({ canaryWeight: 40, failedChecks: 0, checks: [check(99.5, 'a')] });
  see({ canaryWeight: 40, failedChecks: 0, checks: [check(99.5, 'a')], message: 'another' });
  const last = { canaryWeight: 40, failedChecks: 1, checks: [check(42, 'b')] };
  see(last);
  nowMs = 60_000;
  const timeline = journal.timelineOf(canary({ phase: 'Progressing', ...last }));
  expect(timeline).toEqual({
    since: '1970-01-01T00:00:01.000Z',
    timesSeconds: [2, 3, 4, 6, 60],
    weightsPercent: [0, 20, 40, 40, 40],
    failedChecks: [0, 0, 0, 1, 1],
    checks: [{ name: 'success-rate', values: [null, 99.5, null, 42, null], min: 99, max: undefined }],
  });
});

test('the oldest moments of a Canary, and the Canaries without changes for longest, are dropped', () => {
  const journal = createJournal(() => 0);
  const lengthOf = (uid: string) => journal.timelineOf(canary({}, uid)).timesSeconds.length;
  for (let weight = 0; weight < 400; weight += 1)
    journal.note(canary({ phase: 'Progressing', canaryWeight: weight }));
  expect(lengthOf('1')).toBe(301);
  expect(journal.timelineOf(canary({})).weightsPercent[0]).toBe(100);
  for (let each = 2; each <= 102; each += 1)
    for (let weight = 0; weight < 300; weight += 1)
      journal.note(canary({ phase: 'Progressing', canaryWeight: weight }, String(each)));
  expect(['1', '2', '3', '102'].map(lengthOf)).toEqual([1, 1, 301, 301]);
  journal.forget(canary({}, '102'));
  expect(lengthOf('102')).toBe(1);
});
