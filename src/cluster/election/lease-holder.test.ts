import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { currentRun, goneReason, identityInPod, podOfIdentity } from './lease-holder.ts';

const holder = { name: 'holdfast-7d9f', uid: '5b2c' };
const running = { running: { startedAt: '2026-11-22T10:00:00Z' } };
const ended = { terminated: { exitCode: 137, reason: 'OOMKilled' } };

function container(state: object, more: object = {}) {
  return { name: 'holdfast', containerID: 'containerd://a', restartCount: 0, state, ...more };
}

function pod(status: object, metadata: object = {}): KubernetesObject {
  const own = { name: holder.name, namespace: 'delivery', uid: holder.uid };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...own, ...metadata }, status };
}

const alive = pod({ phase: 'Running', containerStatuses: [container(running)] });
const lived = currentRun(alive);

describe('the identity of a process in a pod', () => {
  it('names the pod, and distinguishes two processes of one pod', () => {
    const one = identityInPod(holder, 'holdfast-7d9f_0b1c');
    expect(podOfIdentity(one)).toEqual(holder);
    expect(identityInPod(holder, 'holdfast-7d9f_77aa')).not.toBe(one);
  });

  it.each(['', 'laptop_0b1c', 'holdfast-7d9f', 'a_b_c_d'])('is that of no pod: %j', (identity) => {
    expect(podOfIdentity(identity)).toBeUndefined();
  });
});

describe('a holder is certainly gone', () => {
  const gone: ReadonlyArray<[string, KubernetesObject | undefined]> = [
    ['its pod is not there', undefined],
    ['a pod of the same name has another uid', pod({ phase: 'Running' }, { uid: 'another' })],
    ['its pod has failed', pod({ phase: 'Failed', containerStatuses: [container(ended)] })],
    ['its pod was evicted, without a word of its containers', pod({ phase: 'Failed' })],
    ['its pod has succeeded', pod({ phase: 'Succeeded', containerStatuses: [container(ended)] })],
    ['its container has ended', pod({ phase: 'Running', containerStatuses: [container(ended)] })],
    [
      'its container waits for the next start',
      pod({
        phase: 'Running',
        containerStatuses: [container({ waiting: { reason: 'CrashLoopBackOff' } }, { lastState: ended })],
      }),
    ],
    [
      'another container runs in its place',
      pod({
        phase: 'Running',
        containerStatuses: [container(running, { containerID: 'containerd://b', restartCount: 1 })],
      }),
    ],
    [
      'its container was restarted, without an id',
      pod({ phase: 'Running', containerStatuses: [container(running, { restartCount: 1 })] }),
    ],
    [
      'its container has ended next to a running one',
      pod({
        phase: 'Running',
        containerStatuses: [{ name: 'istio-proxy', state: running }, container(ended)],
      }),
    ],
  ];

  it.each(gone)('when %s', (_, seen) => {
    expect(goneReason(seen, holder, lived)).toEqual(expect.any(String));
  });
});

describe('a holder may live', () => {
  const unsure: ReadonlyArray<[string, KubernetesObject, string | undefined]> = [
    ['its container runs', alive, lived],
    [
      'its pod is being deleted',
      pod(
        { phase: 'Running', containerStatuses: [container(running)] },
        { deletionTimestamp: '2026-11-22T10:00:30Z' },
      ),
      lived,
    ],
    [
      'its node is unreachable',
      pod({ phase: 'Unknown', reason: 'NodeLost', containerStatuses: [container(running)] }),
      lived,
    ],
    [
      'its pod was called failed from outside, after the node was lost, with a container that was last seen running',
      pod({ phase: 'Failed', containerStatuses: [container(running)] }),
      lived,
    ],
    [
      'kubelet lost track of its container',
      pod({
        phase: 'Running',
        containerStatuses: [container({ terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } })],
      }),
      lived,
    ],
    [
      'a container ended, and nobody knows that it was this one',
      pod({ phase: 'Running', containerStatuses: [container(ended)] }),
      undefined,
    ],
    ['nothing is said of its container yet', pod({ phase: 'Running' }), lived],
    [
      'a container next to it ended',
      pod({
        phase: 'Running',
        containerStatuses: [{ name: 'istio-proxy', state: ended }, container(running)],
      }),
      lived,
    ],
  ];

  it.each(unsure)('when %s', (_, seen, known) => {
    expect(goneReason(seen, holder, known)).toBeUndefined();
  });
});
