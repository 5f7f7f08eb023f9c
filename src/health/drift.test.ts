import { describe, expect, it } from 'vitest';
import { aWorkload } from '../rollout/fixtures.test-support.ts';
import { differences } from './expectation.ts';
import { hasConverged, whyNotReady } from './readiness.ts';
import type { ConfigCopyView } from './workload-view.ts';

function aCopy(state: ConfigCopyView['state'], name = 'settings-primary'): ConfigCopyView {
  const fields = [
    { path: 'data.level', expected: 'info', actual: 'debug' },
    { path: 'data.mode', expected: 'safe', actual: undefined },
  ];
  const drift = state === 'foreign' ? { manager: 'kubectl-edit', fields } : undefined;
  return { kind: 'ConfigMap', name, state, drift };
}

function found(...configCopies: ConfigCopyView[]) {
  return differences(aWorkload({ configCopies }), { readyPercent: 100 });
}

describe('config copies compared with the release', () => {
  it('differ in nothing as written, and are no finding where there are none', () => {
    expect(found(aCopy('asWritten'))).toEqual([]);
    expect(found()).toEqual([]);
  });

  it.each([
    ['missing', 'ConfigMap settings-primary is missing'],
    ['otherRelease', 'ConfigMap settings-primary is that of another release'],
  ] as const)('that are %s block traffic, as a count with its bound', (state, detail) => {
    const [finding, ...others] = found(aCopy('asWritten', 'other-primary'), aCopy(state));
    expect(finding).toEqual({
      name: 'config-copies',
      expected: 'at least 2',
      actual: '1',
      value: 1,
      min: 2,
      met: false,
      severity: 'blocks',
      detail,
    });
    expect(others).toEqual([]);
    expect(hasConverged(aWorkload({ configCopies: [aCopy(state)] }), 100)).toBe(false);
    expect(whyNotReady(aWorkload({ configCopies: [aCopy(state)] }))).toBe(detail);
  });

  it('that another manager changed are reported with key and value, and let traffic through', () => {
    const [finding] = found(aCopy('foreign'));
    expect(finding).toMatchObject({
      name: 'config-values',
      value: 1,
      max: 0,
      severity: 'tells',
      detail:
        'kubectl-edit changed data.level (debug, not info), data.mode (gone, not safe) of ConfigMap settings-primary',
    });
    expect(hasConverged(aWorkload({ configCopies: [aCopy('foreign')] }), 100)).toBe(true);
  });
});
