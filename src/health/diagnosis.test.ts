import { describe, expect, it } from 'vitest';
import { aFault, aWorkload } from '../rollout/fixtures.test-support.ts';
import {
  canaryState,
  decidePromotion,
  decideVerification,
  isWaitingPointless,
} from '../rollout/post-promotion.ts';
import type { Cause } from './causes.ts';
import { causeOf, diagnose, sentence } from './diagnosis.ts';
import type { PodFault } from './workload-view.ts';

const rows: ReadonlyArray<readonly [string, PodFault, Cause]> = [
  ['a pause', aFault('DeploymentPaused'), 'Paused'],
  [
    'an image that is not there',
    aFault('ErrImagePull', { message: 'failed to resolve reference "x:2": not found' }),
    'ImageMissing',
  ],
  ['a name that is no image', aFault('InvalidImageName'), 'ImageMissing'],
  [
    'an image that is not there, as a kubelet tells it later',
    aFault('ImagePullBackOff', {
      message: 'Back-off pulling image "app:v2": ErrImagePull: app:v2: not found',
    }),
    'ImageMissing',
  ],
  [
    'a registry that does not answer, as a kubelet tells it later',
    aFault('ImagePullBackOff', {
      message:
        'Back-off pulling image "app:v2": ErrImagePull: failed to pull and unpack image: dial tcp 192.0.2.1:443: i/o timeout',
    }),
    'PullFails',
  ],
  ['a pull that is denied', aFault('ImagePullBackOff', { message: '401 Unauthorized' }), 'PullDenied'],
  ['a pull that fails', aFault('ErrImagePull', { message: 'dial tcp: i/o timeout' }), 'PullFails'],
  [
    'a missing ConfigMap',
    aFault('CreateContainerConfigError', { message: 'configmap "settings" not found' }),
    'ReferenceMissing',
  ],
  [
    'a missing copy',
    aFault('CreateContainerConfigError', { message: 'secret "db-primary" not found' }),
    'ConfigCopyMissing',
  ],
  [
    'a missing key',
    aFault('CreateContainerConfigError', { message: "couldn't find key a in ConfigMap shop/b-primary" }),
    'ReferenceMissing',
  ],
  [
    'a quota',
    aFault('FailedCreate', { container: undefined, message: 'pods "x" is forbidden: exceeded quota: few' }),
    'QuotaExceeded',
  ],
  [
    'a policy',
    aFault('FailedCreate', { container: undefined, message: 'violates PodSecurity "restricted"' }),
    'CreationRefused',
  ],
  ['no room', aFault('Unschedulable', { container: undefined }), 'Unschedulable'],
  ['a scheduling gate', aFault('SchedulingGated', { container: undefined }), 'GateClosed'],
  ['an eviction', aFault('Evicted', { container: undefined }), 'NodeLost'],
  ['a silent node', aFault('NodeNotReady', { container: undefined }), 'NodeLost'],
  ['a failing init container', aFault('CrashLoopBackOff', { init: true }), 'InitFails'],
  ['an exit for want of memory', aFault('OOMKilled'), 'OutOfMemory'],
  ['a crash loop for want of memory', aFault('CrashLoopBackOff', { lastReason: 'OOMKilled' }), 'OutOfMemory'],
  ['a crash loop', aFault('CrashLoopBackOff', { lastReason: 'Error' }), 'CrashLoop'],
  ['a word no kubelet has said yet', aFault('SomethingNew'), 'CrashLoop'],
  ['a probe that never passed', aFault('NotReadyYet'), 'ProbeFails'],
  ['a probe that stopped passing', aFault('ProbeFailing'), 'ProbeFails'],
  ['a slow pull', aFault('ContainerCreating'), 'SlowStart'],
];

describe('the cause of a fault', () => {
  it.each(rows)('%s', (_what, fault, cause) => {
    expect(causeOf(fault, ['app'])).toBe(cause);
  });

  it('any fault of a container that the other copy does not have is that of a sidecar', () => {
    const fault = aFault('ImagePullBackOff', { container: 'proxy' });
    expect(causeOf(fault, ['app'])).toBe('SidecarFails');
    expect(causeOf(fault, [])).toBe('PullFails');
  });
});

describe('a diagnosis', () => {
  const crash = aFault('CrashLoopBackOff');
  const failing = aWorkload({ availableReplicas: 0, updatedReadyReplicas: 0, endpoints: 0, faults: [crash] });

  it('names cause and evidence, and finds the fault on the canary of the same release', () => {
    const canary = aWorkload({ name: 'web', faults: [{ ...crash, pod: 'web-1' }] });
    expect(diagnose(failing, canary)).toEqual({
      cause: 'CrashLoop',
      evidence: [
        'web-primary-1: CrashLoopBackOff in container app: CrashLoopBackOff it says',
        'canary web-1: CrashLoopBackOff in container app: CrashLoopBackOff it says',
      ],
      onCanaryToo: true,
    });
  });

  it.each([
    ['another release', aWorkload({ digest: 'v1:b', faults: [crash] })],
    ['another fault', aWorkload({ faults: [aFault('ImagePullBackOff')] })],
    ['another container', aWorkload({ faults: [{ ...crash, container: 'cache' }] })],
    ['no fault', aWorkload()],
  ])('a canary with %s does not show it', (_what, canary) => {
    expect(diagnose(failing, canary).onCanaryToo).toBe(false);
  });

  it('a canary pod that only starts is no sign that the release is bad', () => {
    const slow = aFault('NotReadyYet');
    const canary = aWorkload({ faults: [slow] });
    expect(diagnose({ ...failing, faults: [slow] }, canary).onCanaryToo).toBe(false);
  });

  it('without a fault it is the deadline alone, with what differs as evidence', () => {
    const stuck = aWorkload({ readyReplicas: 1, availableReplicas: 1, progressDeadlineExceeded: true });
    const found = diagnose(stuck, undefined);
    expect(found).toEqual({
      cause: 'ProgressStopped',
      evidence: ['its controller gave up: ProgressDeadlineExceeded'],
      onCanaryToo: false,
    });
    expect(sentence(found, stuck)).toBe(
      'it makes no progress, and no pod shows a fault: 1 of 2 pods are available',
    );
  });

  it('keeps its evidence short', () => {
    const faults = Array.from({ length: 50 }, (_, index) => ({ ...crash, pod: `p-${index}` }));
    expect(diagnose({ ...failing, faults }, aWorkload({ faults })).evidence).toHaveLength(6);
  });
});

describe('the decision', () => {
  const none = { onCanaryToo: false };

  it.each([
    ['healthy', aWorkload(), none, 'hold'],
    ['sameFault', aWorkload(), { onCanaryToo: true }, 'revert'],
    ['notReady', aWorkload({ availableReplicas: 0 }), none, 'revert'],
    ['notReady', aWorkload({ updatedReadyReplicas: 0 }), none, 'revert'],
    ['otherRelease', aWorkload({ digest: 'v1:b' }), none, 'revert'],
    ['otherRelease', undefined, none, 'revert'],
  ] as const)('auto, canary %s', (state, target, twin, action) => {
    expect(canaryState({ target }, 'v1:a', 100, twin)).toBe(state);
    expect(decidePromotion('auto', state).action).toBe(action);
  });

  it('takes a scaled canary for healthy while pods beyond its fewest are on their way', () => {
    const side = { minReplicas: 2, maxReplicas: 9, restoreMinReplicas: 1, paused: false };
    const scaler = {
      kind: 'HorizontalPodAutoscaler' as const,
      name: 'web',
      canary: side,
      primary: side,
      settleMs: 0,
    };
    const stateOf = (more: Parameters<typeof aWorkload>[0]) =>
      canaryState({ target: aWorkload(more), scaler }, 'v1:a', 100, none);
    expect(stateOf({ desiredReplicas: 5, replicas: 4, updatedReplicas: 4 })).toBe('healthy');
    expect(stateOf({ desiredReplicas: 3, observed: false, updatedReadyReplicas: 0 })).toBe('healthy');
    expect(stateOf({ availableReplicas: 1 })).toBe('notReady');
    expect(stateOf({ observed: false, updatedReadyReplicas: 0, readyReplicas: 0 })).toBe('notReady');
  });

  it('hold, halt and revert do what they say whatever the canary does', () => {
    for (const state of ['healthy', 'sameFault', 'notReady', 'otherRelease'] as const) {
      expect(decidePromotion('hold', state).action).toBe('hold');
      expect(decidePromotion('halt', state).action).toBe('hold');
      expect(decidePromotion('revert', state).action).toBe('revert');
    }
    expect(decideVerification('hold').action).toBe('hold');
    expect(decideVerification('halt').action).toBe('hold');
    expect(decideVerification('revert').action).toBe('revert');
    expect(decideVerification('auto').action).toBe('revert');
  });

  it('does not wait for the deadline only where the release is to blame and both copies show it', () => {
    const found = { evidence: [], onCanaryToo: true };
    expect(isWaitingPointless({ ...found, cause: 'CrashLoop' })).toBe(true);
    expect(isWaitingPointless({ ...found, cause: 'QuotaExceeded' })).toBe(false);
    expect(isWaitingPointless({ ...found, cause: 'CrashLoop', onCanaryToo: false })).toBe(false);
  });
});
