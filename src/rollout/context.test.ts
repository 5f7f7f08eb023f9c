import { describe, expect, it } from 'vitest';
import { podsKey, progressKey } from './context.ts';
import { aWorkload } from './fixtures.test-support.ts';

/** A primary of three pods with so many of the new template, ready ones among them, and old ones. */
function pods(updated: number, ready: number, old = 0, digest = 'v1:a') {
  const all = { digest, desiredReplicas: 3, replicas: updated + old, updatedReplicas: updated };
  return aWorkload({ ...all, updatedReadyReplicas: ready, availableReplicas: ready + old });
}

/** How often the clock was restarted by these looks, the first one left out. */
function restarts(...looks: Array<ReturnType<typeof pods> | undefined>): number {
  let key: string | undefined;
  let count = 0;
  for (const view of looks) {
    const next = progressKey(key, view);
    if (key !== undefined && next !== key) count += 1;
    key = next;
  }
  return count;
}

describe('progress of a workload', () => {
  it('is a further pod made, a further one ready, and an old one gone', () => {
    expect(restarts(pods(0, 0, 3), pods(1, 0, 3), pods(1, 1, 3), pods(1, 1, 2), pods(2, 1, 2))).toBe(4);
  });

  it('is none while pods become ready and fall back again and again', () => {
    expect(restarts(pods(2, 0, 1), pods(2, 1, 1), pods(2, 0, 1), pods(2, 1, 1), pods(2, 0, 1))).toBe(1);
  });

  it('restarts when a complete workload loses a pod, and with another release', () => {
    expect(restarts(pods(3, 3), pods(3, 2), pods(3, 1), pods(3, 2))).toBe(1);
    expect(restarts(pods(3, 3), { ...pods(3, 3), desiredReplicas: 5 })).toBe(1);
    expect(restarts(pods(3, 2), pods(3, 2, 0, 'v1:b'))).toBe(1);
    expect(restarts(undefined, pods(1, 0))).toBe(1);
  });

  it('is none while a scaler asks for more pods and for fewer again and again', () => {
    const asked = (desiredReplicas: number) => ({ ...pods(desiredReplicas, 0), desiredReplicas });
    expect(restarts(asked(3), asked(5), asked(2), asked(5), asked(4), asked(5))).toBe(1);
  });

  it('does not take the counts of the template before for its own', () => {
    const justWritten = { ...pods(3, 3, 0, 'v1:b'), observed: false };
    expect(restarts(pods(3, 3), justWritten, pods(0, 0, 3, 'v1:b'), pods(1, 0, 3, 'v1:b'))).toBe(2);
  });

  it('counts from now on where another version left its key', () => {
    expect(progressKey('v1:a:3:3', pods(1, 0))).toBe(progressKey(undefined, pods(1, 0)));
  });

  it('changes with every change of the pods, which endpoints follow', () => {
    expect(podsKey(pods(2, 1, 1))).not.toBe(podsKey(pods(2, 0, 1)));
  });
});
