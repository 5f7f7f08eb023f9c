import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aFault, aWorkload } from '../rollout/fixtures.test-support.ts';
import { checkResults } from './check-results.ts';
import { compare, differences } from './expectation.ts';
import { hasConverged, isReady, whyNotReady } from './readiness.ts';

const expected = { digest: 'v1:a', readyPercent: 100 };

const edited = {
  manager: 'kubectl-edit',
  fields: [{ path: 'spec.replicas', expected: '2', actual: '3' }],
};

function namesOf(view: Parameters<typeof differences>[0], more = {}): string[] {
  return differences(view, { ...expected, ...more }).map(({ name }) => name);
}

describe('expected against actual', () => {
  it('finds nothing on a workload that has taken the release over', () => {
    expect(namesOf(aWorkload())).toEqual([]);
  });

  it('says only that a workload is absent when it is', () => {
    expect(differences(undefined, expected)).toEqual([
      {
        name: 'workload',
        expected: 'exists',
        actual: 'absent',
        met: false,
        severity: 'blocks',
        detail: 'it does not exist',
      },
    ]);
  });

  it.each([
    ['generation', { observed: false }],
    ['desired-replicas', { desiredReplicas: 0 }],
    ['updated-replicas', { updatedReplicas: 1, replicas: 1, availableReplicas: 1 }],
    ['old-replicas', { replicas: 3 }],
    ['available-replicas', { availableReplicas: 1 }],
    ['template', { digest: 'v1:b' }],
    ['images', { imagesMatch: false }],
    ['ready-pods', { updatedReadyReplicas: 0, endpoints: 0 }],
    ['endpoints', { endpoints: 1 }],
  ])('%s blocks traffic', (name, change) => {
    const found = differences(aWorkload(change), expected);
    expect(found.map((finding) => [finding.name, finding.severity])).toEqual([[name, 'blocks']]);
    expect(found[0]?.detail).toBeTruthy();
    if (name !== 'template') expect(hasConverged(aWorkload(change), 100)).toBe(false);
  });

  it('reports one image name that is two images, drift and faults, and lets traffic through', () => {
    const images = [{ container: 'app', image: 'web:1', found: ['web:1'], ids: ['web@1', 'web@2'] }];
    const view = aWorkload({ images, drift: edited, faults: [aFault('NotReadyYet')] });
    expect(namesOf(view)).toEqual(['image-ids', 'fields', 'faults']);
    expect(hasConverged(view, 100)).toBe(true);
    expect(differences(view, expected)[0]?.detail).toBe(
      'one image name is several images in the pods: web:1 is web@1 and web@2',
    );
  });

  it('compares the pods asked for with a range, and restarts with their bound, only where one is given', () => {
    const view = aWorkload({ restarts: 3 });
    expect(namesOf(view)).toEqual([]);
    expect(namesOf(view, { replicas: { min: 1, max: 5 }, maxRestarts: 3 })).toEqual([]);
    expect(namesOf(view, { replicas: { min: 3, max: 5 }, maxRestarts: 2 })).toEqual(['replicas', 'restarts']);
  });

  it('asks a scaled workload for the fewest pods of its range, and waits for no more', () => {
    const view = aWorkload({ desiredReplicas: 5, replicas: 4, updatedReplicas: 4 });
    expect(namesOf(view)).toEqual(['updated-replicas', 'available-replicas']);
    expect(namesOf(view, { replicas: { min: 2, max: 9 } })).toEqual([]);
    expect(namesOf(view, { replicas: { min: 3, max: 9 } })).toEqual(['available-replicas']);
    expect(namesOf(view, { replicas: { min: 6, max: 9 } })).toEqual([
      'updated-replicas',
      'available-replicas',
      'replicas',
    ]);
  });

  it('leaves endpoints out while there is no Service', () => {
    expect(compare(aWorkload({ endpoints: undefined }), expected).map(({ name }) => name)).not.toContain(
      'endpoints',
    );
  });

  it('needs as many endpoints as pods must be available, and never more than are ready', () => {
    const four = { desiredReplicas: 4, replicas: 4, updatedReplicas: 4, availableReplicas: 4 };
    const view = aWorkload({ ...four, updatedReadyReplicas: 4, endpoints: 2 });
    expect(namesOf(view, { readyPercent: 50 })).toEqual([]);
    expect(namesOf(view, { readyPercent: 75 })).toEqual(['endpoints']);
    expect(namesOf(view, { replicas: { min: 2, max: 9 } })).toEqual([]);
    expect(differences(view, expected)[0]?.detail).toBe(
      '2 of 4 ready pods are endpoints of the port that their Service names',
    );
    expect(namesOf(aWorkload({ updatedReadyReplicas: 1, endpoints: 1 }))).toEqual([]);
  });

  it('reports a port that nothing in the template names, and lets traffic through', () => {
    const view = aWorkload({ undeclaredPorts: [9999] });
    expect(differences(view, expected)).toMatchObject([
      {
        name: 'ports',
        severity: 'tells',
        actual: '9999',
        detail: expect.stringContaining('port 9999, which'),
      },
    ]);
    expect(hasConverged(view, 100)).toBe(true);
    expect(namesOf(aWorkload({ undeclaredPorts: [] }))).toEqual([]);
    expect(compare(aWorkload(), expected).map(({ name }) => name)).not.toContain('ports');
  });

  it('is one source of words: the worst fault first, then the first difference that blocks', () => {
    expect(whyNotReady(aWorkload({ readyReplicas: 1, availableReplicas: 1 }))).toBe(
      '1 of 2 pods are available',
    );
    expect(whyNotReady(aWorkload({ readyReplicas: 2, availableReplicas: 0 }))).toBe(
      '0 of 2 pods are available; 2 ready for less than minReadySeconds',
    );
    expect(whyNotReady(aWorkload({ availableReplicas: 1, faults: [aFault('CrashLoopBackOff')] }))).toBe(
      'CrashLoopBackOff in container app: CrashLoopBackOff it says',
    );
    expect(whyNotReady(undefined)).toBe('it does not exist');
  });
});

describe('in a check after promotion', () => {
  const time = '2026-01-01T00:00:00.000Z';

  it('every count takes part with its value and bound', () => {
    const results = checkResults(compare(aWorkload({ restarts: 3 }), { ...expected, maxRestarts: 2 }), time);
    expect(results).toContainEqual({ name: 'available-replicas', value: 2, min: 2, verdict: 'pass', time });
    expect(results.filter(({ verdict }) => verdict === 'fail')).toEqual([
      {
        name: 'restarts',
        value: 3,
        max: 2,
        verdict: 'fail',
        detail: 'a container restarted 3 times, at most 2 are expected',
        time,
      },
    ]);
  });

  it('a difference that is only reported passes with its detail', () => {
    const [drift] = checkResults(differences(aWorkload({ drift: edited }), expected), time);
    expect(drift).toEqual({
      name: 'fields',
      verdict: 'pass',
      detail: 'kubectl-edit changed spec.replicas (3, not 2) of the workload',
      time,
    });
  });
});

describe('for any counts', () => {
  const counts = fc.record({
    observed: fc.boolean(),
    desiredReplicas: fc.nat(4),
    replicas: fc.nat(6),
    updatedReplicas: fc.nat(4),
    availableReplicas: fc.nat(6),
    updatedReadyReplicas: fc.nat(4),
    imagesMatch: fc.boolean(),
  });

  /** The rule in one expression, as the design has it (section 4, converge). */
  function modelConverged(view: ReturnType<typeof aWorkload>, percent: number): boolean {
    const enough = Math.max(1, Math.floor((view.updatedReplicas * percent) / 100));
    const isComplete = view.updatedReplicas >= view.desiredReplicas && view.replicas <= view.updatedReplicas;
    const isUp = view.availableReplicas >= enough && view.updatedReadyReplicas >= 1;
    return view.observed && view.desiredReplicas >= 1 && isComplete && isUp && view.imagesMatch;
  }

  it('nothing that blocks differs exactly when the workload has converged', () => {
    fc.assert(
      fc.property(counts, fc.constantFrom(50, 100), (more, percent) => {
        const view = aWorkload({ ...more, endpoints: more.updatedReadyReplicas });
        const blocking = differences(view, { readyPercent: percent }).filter(
          ({ severity }) => severity === 'blocks',
        );
        expect(blocking.length === 0).toBe(modelConverged(view, percent));
        expect(hasConverged(view, percent)).toBe(modelConverged(view, percent));
        if (hasConverged(view, percent)) expect(isReady(view, percent)).toBe(true);
      }),
    );
  });
});
