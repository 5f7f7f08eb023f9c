import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { newsOfSource, problemOf } from './status.ts';

const nowMs = Date.parse('2026-01-01T12:00:00Z');
const minuteAgo = '2026-01-01T11:59:00Z';

function condition(type: string, status: Condition['status'], reason: string, since = minuteAgo): Condition {
  return { type, status, reason, message: `${reason} it says`, lastTransitionTime: since };
}

const source: Source = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'shop' },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' } },
};

describe('the problem that people know of', () => {
  it('is one as soon as the Source cannot be rendered or applied', () => {
    const conditions = [condition('Ready', 'False', 'InvalidManifests', '2026-01-01T12:00:00Z')];
    expect(problemOf(undefined, conditions, nowMs)).toEqual({
      reason: 'InvalidManifests',
      time: '2026-01-01T12:00:00.000Z',
    });
  });

  it('is one after a minute where a server does not answer', () => {
    const at = (since: string) => [
      condition('Ready', 'False', 'Unreachable', since),
      condition('Fetched', 'False', 'Unreachable', since),
    ];
    expect(problemOf(undefined, at('2026-01-01T11:59:30Z'), nowMs)).toBeUndefined();
    expect(problemOf(undefined, at(minuteAgo), nowMs)).toMatchObject({ reason: 'Unreachable' });
    // The clock of a leader of before was an hour ahead.
    expect(problemOf(undefined, at('2026-01-01T13:00:00Z'), nowMs)).toMatchObject({ reason: 'Unreachable' });
  });

  it('stays the same until there is another one or the Source is Ready', () => {
    const before = { reason: 'Forbidden', time: minuteAgo };
    expect(problemOf(before, [condition('Ready', 'False', 'Forbidden')], nowMs)).toBe(before);
    expect(problemOf(before, [condition('Ready', 'Unknown', 'Progressing')], nowMs)).toBe(before);
    expect(problemOf(before, [condition('Ready', 'False', 'Invalid')], nowMs)).toMatchObject({
      reason: 'Invalid',
    });
    expect(problemOf(before, [condition('Ready', 'True', 'Applied')], nowMs)).toBeUndefined();
  });

  it.each([
    ['Unreachable', 'Timeout'],
    ['Timeout', 'Unreachable'],
  ])('stays the same while a Git server does not answer, %s or %s', (known, reason) => {
    const before = { reason: known, time: minuteAgo };
    const conditions = [condition('Ready', 'False', reason), condition('Fetched', 'False', reason)];
    expect(problemOf(before, conditions, nowMs)).toBe(before);
    const refused = [condition('Ready', 'False', 'Unauthorized')];
    expect(problemOf(before, refused, nowMs)).toMatchObject({ reason: 'Unauthorized' });
  });

  it.each(['Suspended', 'DependencyNotReady', 'CanaryRejected'])('is none where it is %s', (reason) => {
    expect(problemOf(undefined, [condition('Ready', 'False', reason)], nowMs)).toBeUndefined();
  });
});

describe('the news', () => {
  const problem = { reason: 'Forbidden', time: minuteAgo };
  const told = { ...source, status: { problem } };

  it('is told when the problem is new or another one, and when it is over', () => {
    const bad = { conditions: [condition('Ready', 'False', 'Forbidden')], problem };
    expect(newsOfSource(source, bad, nowMs)).toMatchObject({
      severity: 'error',
      reason: 'Forbidden',
      message: 'Source shop/shop: Forbidden it says',
    });
    const good = { conditions: [condition('Ready', 'True', 'Applied')] };
    expect(newsOfSource(told, good, nowMs)).toMatchObject({ severity: 'info', outcome: 'Succeeded' });
  });

  it('is none while nothing changes', () => {
    expect(newsOfSource(told, { problem }, nowMs)).toBeUndefined();
    expect(newsOfSource(source, {}, nowMs)).toBeUndefined();
  });
});
