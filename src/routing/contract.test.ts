import { describe, expect, it } from 'vitest';
import { aCanary, aContext, acceptedBy, anAbCanary, initialTraffic } from './fixtures.test-support.ts';
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

  it('waits for the data plane to take the current generation', () => {
    if (router.apexFollowsTraffic) return;
    const live = router.objects(aContext(), initialTraffic, []).map((object) => {
      const seen = acceptedBy(object, 1);
      return { ...seen, metadata: { ...seen.metadata, generation: 2 } };
    });

    const reading = router.read(aContext(), live);

    expect(reading).toMatchObject({ accepted: false, primaryWeight: 100 });
    expect(reading?.problem).toMatch(/generation/);
  });
});
