import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import {
  aCanary,
  aContext,
  acceptedBy,
  anAbCanary,
  foundBy,
  initialTraffic,
  writtenOver,
} from './fixtures.test-support.ts';
import { routers } from './table.ts';

/** What must hold for every provider that writes an object of its own. */
const withObjects = routers.filter(({ isTarget }) => !isTarget);

describe.each(withObjects.map((router) => [router.name, router] as const))('router %s', (_, router) => {
  const splits = router.apexFollowsTraffic ? [0, 100] : [0, 1, 20, 50, 99, 100];

  it('has nothing against an ordinary Canary but warnings', () => {
    expect(router.check(aCanary()).filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  it('reads nothing before its objects exist', () => {
    expect(router.read(aContext(), [])).toBeUndefined();
  });

  it('starts with all traffic on the primary', () => {
    const live = router.objects(aContext(), initialTraffic, []).map((object) => acceptedBy(object));

    expect(router.read(aContext(), live)).toEqual({
      primaryWeight: 100,
      canaryWeight: 0,
      mirrored: false,
      matched: false,
      accepted: true,
    });
  });

  it.each(splits)('reads back %i %% for the canary as it was written', (canaryWeight) => {
    const target = { ...initialTraffic, primaryWeight: 100 - canaryWeight, canaryWeight };

    const live = router.objects(aContext(), target, []).map((object) => acceptedBy(object));

    expect(router.read(aContext(), live)).toMatchObject({ primaryWeight: 100 - canaryWeight, canaryWeight });
  });

  it('reads an A/B test as all traffic for the canary, and tells it from truly all traffic', () => {
    const context = aContext(anAbCanary());
    const all = { ...initialTraffic, primaryWeight: 0, canaryWeight: 100 };

    const readings = [true, false].map((matched) =>
      router.read(
        context,
        router.objects(context, { ...all, matched }, []).map((object) => acceptedBy(object)),
      ),
    );

    expect(readings.map((reading) => reading?.canaryWeight)).toEqual([100, 100]);
    if (!router.apexFollowsTraffic)
      expect(readings.map((reading) => reading?.matched)).toEqual([true, false]);
  });

  it.each([
    [50.5, 49.5],
    [-10, 110],
    [50, 40],
    [0, 0],
    [Number.NaN, 100],
  ])('refuses the weights %d and %d', (primaryWeight, canaryWeight) => {
    expect(() => router.objects(aContext(), { ...initialTraffic, primaryWeight, canaryWeight }, [])).toThrow(
      RangeError,
    );
  });

  it('keeps weights whatever foreign metadata the live objects carry', () => {
    const target = router.apexFollowsTraffic
      ? { ...initialTraffic, primaryWeight: 0, canaryWeight: 100 }
      : { ...initialTraffic, primaryWeight: 80, canaryWeight: 20 };
    const wanted = router.objects(aContext(), target, []);
    const live = wanted.map((object) => {
      const touched = acceptedBy(object);
      return { ...touched, metadata: { ...touched.metadata, labels: { foreign: 'label' }, annotations: {} } };
    });

    expect(router.read(aContext(), live)).toMatchObject({ canaryWeight: target.canaryWeight });
    expect(router.objects(aContext(), target, live)).toEqual(wanted);
  });

  it('reports weights it cannot read instead of guessing', () => {
    const broken = router
      .objects(aContext(), initialTraffic, [])
      .map((object) => ({ ...acceptedBy(object), spec: { selector: { app: 'x' }, rules: [], routes: [] } }));

    const reading = router.read(aContext(), broken);

    expect(reading?.accepted).toBe(false);
    expect(reading?.problem).toContain('podinfo');
  });

  it('does not take an object of the same name in another namespace for its own', () => {
    const live = router
      .objects(aContext(), initialTraffic, [])
      .map((object) => ({ ...object, metadata: { ...object.metadata, namespace: 'other' } }));

    expect(router.read(aContext(), live)).toBeUndefined();
  });
});

/** Where the objects themselves are the data plane's, nobody has to accept them. */
const answered = routers.filter(({ apexFollowsTraffic }) => !apexFollowsTraffic);

describe.each(answered.map((router) => [router.name, router] as const))(
  'acceptance by router %s',
  (_, router) => {
    const at = (canaryWeight: number) => ({
      ...initialTraffic,
      primaryWeight: 100 - canaryWeight,
      canaryWeight,
    });
    const found = foundBy(router);
    const write = (canaryWeight: number, live = found, generation = 2) =>
      writtenOver(live, router.objects(aContext(), at(canaryWeight), live), generation);
    const accept = (objects: readonly KubernetesObject[]) =>
      objects.map((object) => acceptedBy(object, object.metadata.generation));

    it('does not take a route for accepted that no controller has seen', () => {
      const written = write(50).map(({ status: _status, ...object }) => object);

      const reading = router.read(aContext(), written);

      expect(reading?.accepted).toBe(false);
      expect(reading?.problem).toMatch(/podinfo.*(see that|yet)/);
    });

    it.each([
      [0, 50],
      [50, 100],
      [50, 0],
      [100, 0],
    ])(
      'from %i to %i percent: not accepted until the status is of the generation that was written',
      (from, to) => {
        const before = accept(write(from));
        const written = write(to, before, 3);
        const seen = accept(written);

        expect(router.read(aContext(), before)).toMatchObject({ canaryWeight: from, accepted: true });
        expect(router.read(aContext(), written)).toMatchObject({
          accepted: false,
          problem: expect.stringContaining('generation 3'),
        });
        expect(router.read(aContext(), seen)).toMatchObject({ canaryWeight: to, accepted: true });
        expect(router.read(aContext(), seen)?.problem).toBeUndefined();
      },
    );

    it('takes no word about an older generation for one about this, be it good or bad', () => {
      const good = accept(write(20));
      const bad = good.map((object) => ({ ...object, status: JSON.parse(turned(object.status)) as object }));

      const readings = [good, bad].map((live) => router.read(aContext(), write(50, live, 3)));

      expect(
        readings.map((reading) => [reading?.accepted, /generation 3/.test(reading?.problem ?? '')]),
      ).toEqual([
        [false, true],
        [false, true],
      ]);
    });

    it('takes no part of an answer for all of it', () => {
      const whole = accept(write(20));

      const parts = whole.flatMap((object) => withoutOneCondition(object)).map((object) => [object]);

      expect(parts.length).toBeGreaterThan(0);
      for (const part of parts) {
        const reading = router.read(aContext(), part);
        expect(reading?.accepted).toBe(false);
        expect(reading?.problem).toContain('podinfo');
      }
    });
  },
);

/** The same answer as a refusal. */
function turned(status: unknown): string {
  return JSON.stringify(status).replaceAll('"True"', '"False"').replaceAll('"valid"', '"invalid"');
}

/** The answer without each of the conditions that a controller always gives. ResolvedRefs is not one: see gateway-api.test.ts. */
function withoutOneCondition(object: KubernetesObject): KubernetesObject[] {
  const needed = ['Valid', 'RoutesReady', 'Accepted'].filter((type) =>
    JSON.stringify(object.status).includes(`"type":"${type}"`),
  );
  return needed.map((type) => {
    const kept = (key: string, value: unknown) =>
      key === 'conditions' ? (value as Array<{ type: string }>).filter((one) => one.type !== type) : value;
    return { ...object, status: JSON.parse(JSON.stringify(object.status, kept)) as object };
  });
}
