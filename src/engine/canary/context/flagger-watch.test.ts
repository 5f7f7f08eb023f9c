import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../../sandbox/virtual-clock.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { OpenWatch, WatchQuery } from '../../../contracts/cluster.ts';
import { watchFlagger } from './flagger-watch.ts';

const HOUR_MS = 3_600_000;

/** Nobody is there any more who renews the Lease that Flagger left so long ago, by its own clock. */
function leftLease(agoMs: number) {
  const clock = createVirtualClock();
  const lease: KubernetesObject = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'flagger-system', name: 'flagger-leader-election', uid: 'lease' },
    spec: {
      holderIdentity: 'flagger-0',
      leaseDurationSeconds: 60,
      renewTime: new Date(clock.nowMs() - agoMs).toISOString(),
    },
  };
  const openWatch = ({ kind }: WatchQuery) => ({
    synced: () => true,
    isRefused: () => false,
    problem: () => undefined,
    list: () => (kind === 'Lease' ? [lease] : []),
    onChange: () => undefined,
    close: () => undefined,
  });
  return { clock, flagger: watchFlagger(openWatch as unknown as OpenWatch, clock, []) };
}

test.each([
  ['is right', 0],
  ['was an hour ahead', -HOUR_MS],
])(
  'a Flagger that is gone, and whose clock %s, is waited for as long as its Lease lasts',
  async (_name, agoMs) => {
    const { clock, flagger } = leftLease(agoMs);
    expect(flagger.actsOn('shop')).toBe('flagger-0 renews Lease flagger-system/flagger-leader-election');
    await clock.advance(66_000);
    expect(flagger.actsOn('shop')).toBeUndefined();
  },
);
