import { describe, expect, it } from 'vitest';
import { aWorkload } from '../rollout/fixtures.test-support.ts';
import { failsAtOnce, isReady, replacedPods } from './readiness.ts';

/** Four pods, all new and available, unless said otherwise. */
function four(more: Parameters<typeof aWorkload>[0] = {}) {
  const all = { desiredReplicas: 4, replicas: 4, updatedReplicas: 4, readyReplicas: 4, availableReplicas: 4 };
  return aWorkload({ ...all, ...more });
}

describe('a workload is ready (flagger-behaviour 2.6)', () => {
  it.each([
    ['with all its pods', {}, 100, true],
    ['not before its controller has seen the change', { observed: false }, 100, false],
    ['not while pods of the new template are missing', { updatedReplicas: 3, replicas: 3 }, 100, false],
    ['not while old pods are terminating', { replicas: 5 }, 100, false],
    ['not with one pod less than the threshold asks for', { availableReplicas: 3 }, 100, false],
    ['with half of its pods at a threshold of 50', { availableReplicas: 2 }, 50, true],
    ['not with less than half at a threshold of 50', { availableReplicas: 1 }, 50, false],
    ['not without any, whatever the threshold', { availableReplicas: 0 }, 0, false],
    ['not at zero pods, which Flagger takes for ready', { ...none() }, 100, false],
  ] as const)('%s', (_what, view, percent, ready) => {
    expect(isReady(four(view), percent)).toBe(ready);
  });

  it('never when it is not there', () => {
    expect(isReady(undefined, 0)).toBe(false);
  });
});

describe('pods that are replaced say nothing of the release', () => {
  const starting = { pod: 'web-5', container: 'app', reason: 'NotReadyYet', message: 'runs', restarts: 0 };
  const short = { readyReplicas: 3, availableReplicas: 3 };

  it.each([
    ['while one starts in the place of one that was evicted', { ...short, faults: [starting] }, true],
    ['while it is ready, and not available yet', { availableReplicas: 3 }, true],
    [
      'not where it starts again after it ended',
      { ...short, faults: [{ ...starting, lastReason: 'Error' }] },
      false,
    ],
    [
      'not where another one crashes',
      { ...short, faults: [starting, { ...starting, pod: 'web-1', reason: 'CrashLoopBackOff' }] },
      false,
    ],
    ['not while one is missing that nobody starts', { ...short, replicas: 3, updatedReplicas: 3 }, false],
    ['not while none serves', { readyReplicas: 0, availableReplicas: 0, faults: [starting] }, false],
  ])('%s', (_what, view, isReplaced) => {
    expect(replacedPods(four(view), 100).has('available-replicas')).toBe(isReplaced);
  });
});

describe('a primary that serves fails at once', () => {
  const fault = {
    pod: 'web-1',
    container: 'app',
    reason: 'CrashLoopBackOff',
    message: 'exit code 1',
    restarts: 4,
  };

  it.each([
    ['with one of three pods at a threshold of 50, which is rounded down', 1, 3, 50, false],
    ['with none of three', 0, 3, 50, true],
    ['with two of four at a threshold of 75', 2, 4, 75, true],
    ['with three of four at a threshold of 75', 3, 4, 75, false],
  ] as const)('%s: %d of %d', (_what, available, desired, percent, fails) => {
    const counts = { desiredReplicas: desired, readyReplicas: available, availableReplicas: available };
    expect(failsAtOnce(four({ ...counts, faults: [fault] }), percent)).toBe(fails);
    expect(failsAtOnce(four({ ...counts, faults: [] }), percent)).toBe(false);
  });

  const scaled = { desiredReplicas: 10, replicas: 4, readyReplicas: 3, availableReplicas: 3 };
  const starting = (reason: string, more = {}) =>
    Array.from({ length: 6 }, (_, index) => ({ ...fault, pod: `web-${index + 5}`, reason, ...more }));

  it.each([
    ['are not created yet', scaled, [], false],
    ['start', { ...scaled, replicas: 10 }, starting('ContainerCreating'), false],
    ['find no node', { ...scaled, replicas: 10 }, starting('Unschedulable'), false],
    ['crash, too', { ...scaled, replicas: 10 }, starting('CrashLoopBackOff'), true],
    ['run once more', { ...scaled, replicas: 10 }, starting('NotReadyYet', { lastReason: 'Error' }), true],
  ])('one of four crashes, and six that a scaler added %s', (_what, counts, others, fails) => {
    expect(failsAtOnce(four({ ...counts, faults: [fault, ...others] }), 50)).toBe(fails);
  });

  it.each(['ErrImageNeverPull', 'RunContainerError'])('also with %s, which no wait ends', (reason) => {
    const nothing = { readyReplicas: 0, availableReplicas: 0, faults: [{ ...fault, reason }] };
    expect(failsAtOnce(four(nothing), 100)).toBe(true);
  });
});

function none() {
  return { desiredReplicas: 0, replicas: 0, updatedReplicas: 0, readyReplicas: 0, availableReplicas: 0 };
}
