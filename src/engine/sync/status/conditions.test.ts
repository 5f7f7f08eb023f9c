import { describe, expect, it } from 'vitest';
import { healthyNews, stalledNews } from './conditions.ts';

it.each([
  [0, '0 Canaries'],
  [1, '1 Canary'],
  [2, '2 Canaries'],
])('the health of a Source with %d Canaries counts them', (count, words) => {
  const canaries = new Set(Array.from({ length: count }, (_, index) => `shop/web-${index}`));

  const news = healthyNews({ snapshot: {} as never, health: undefined, canaries }, []);

  expect(news.message).toBe(`${words}, none rejected or held`);
});

describe('a Source is Stalled', () => {
  const nowMs = Date.parse('2026-01-01T12:00:00Z');
  const before = { type: 'Stalled', status: 'True', reason: 'NotFound', message: 'it said' } as const;
  const stalled = (reason: string, since: string, failures: readonly object[] = [], was?: typeof before) => {
    const ready = { status: 'False', reason, message: 'it says' } as const;
    const state = { result: { failures } as never, notReadySinceMs: Date.parse(since) };
    return stalledNews(ready, state, was, nowMs);
  };

  it('at once where its spec is invalid, which nothing polls', () => {
    const ready = { status: 'False', reason: 'InvalidSpec', message: 'spec.url: no host' } as const;
    expect(stalledNews(ready, {}, undefined, nowMs)).toEqual({ ...ready, status: 'True' });
  });

  it.each([
    ...['Unauthorized', 'SecretNotFound', 'HistoryRewritten', 'InvalidManifests'],
    ...['VariablesNotFound', 'DecryptionKeyNotFound', 'DependencyCycle', 'DependencyNotFound'],
  ])('once it was not Ready for five minutes, for what only a person ends: %s', (reason) => {
    expect(stalled(reason, '2026-01-01T11:55:01Z')).toBeUndefined();
    expect(stalled(reason, '2026-01-01T11:55:00Z')).toMatchObject({ status: 'True', reason });
  });

  it('so long after an object was refused for good, and not where the next try may be taken', () => {
    const refused = (transient: boolean) => [{ reason: 'Forbidden', transient }];
    expect(stalled('Forbidden', '2026-01-01T11:50:00Z', refused(false))).toMatchObject({
      reason: 'Forbidden',
    });
    expect(stalled('Forbidden', '2026-01-01T11:50:00Z', refused(true))).toBeUndefined();
    expect(stalled('Unreachable', '2026-01-01T11:50:00Z', refused(false))).toBeUndefined();
  });

  it.each(['Unreachable', 'Timeout', 'Suspended', 'DependencyNotReady', 'HealthTimeout'])(
    'never for what ends by itself or is intended: %s',
    (reason) => {
      expect(stalled(reason, '2026-01-01T08:00:00Z')).toBeUndefined();
    },
  );

  it('at once where it was before another process took over', () => {
    expect(stalled('Unauthorized', '2026-01-01T11:59:59Z', [], before)).toMatchObject({
      reason: 'Unauthorized',
    });
    expect(stalled('Unreachable', '2026-01-01T11:59:59Z', [], before)).toBeUndefined();
  });

  it('never while it is Ready, or about to be', () => {
    for (const status of ['True', 'Unknown'] as const)
      expect(stalledNews({ status, reason: 'Unauthorized', message: '' }, {}, before, nowMs)).toBeUndefined();
  });
});
