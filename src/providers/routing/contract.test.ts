/** What holds for every line of the table. A new provider adds one row in `fixtures.test-support.ts`, and nothing here. */
import { describe, expect, it } from 'vitest';
import { type CanarySpec, keepsSessions } from '../../api/canary/canary.ts';
import { unsupportedFields } from '../../api/canary/unsupported-fields.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import {
  abAnalysis,
  aContext,
  acceptedAll,
  canaryFor,
  fixtureOf,
  foundBy,
  initialTraffic,
  isSame,
  writtenOver,
} from './fixtures.test-support.ts';
import { percentOf } from './router.ts';
import { routers } from './table.ts';

const at = (canaryWeight: number): RouteTarget => ({
  ...initialTraffic,
  primaryWeight: 100 - canaryWeight,
  canaryWeight,
});

describe.each(routers.map((router) => [router.name, router] as const))('router %s', (name, router) => {
  const fixture = fixtureOf(router);
  const found = foundBy(router);
  const contextOf = (spec: Partial<CanarySpec> = {}): RouteContext => aContext(canaryFor(router, spec));
  const context = contextOf();
  /** A target with all traffic and one with a part, where the provider can divide requests. */
  const [some, more] = router.apexFollowsTraffic ? [100, 0] : [20, 65];
  const splits = router.apexFollowsTraffic ? [0, 100] : [0, 1, 20, 50, 99, 100];
  const write = (target: RouteTarget, live = found, generation = 2, about = context) =>
    writtenOver(live, router.objects(about, target, live), generation);
  const apply = (target: RouteTarget, live = found, generation = 2, about = context) =>
    acceptedAll(router, write(target, live, generation, about));
  const read = (live: readonly KubernetesObject[], about = context) => router.read(about, live);
  const errorsOf = (spec: Partial<CanarySpec>) =>
    router.check(canaryFor(router, spec)).filter(({ severity }) => severity === 'error');

  describe('what it is about', () => {
    it('has nothing against an ordinary Canary but warnings', () => {
      expect(errorsOf({})).toEqual([]);
    });

    it('names every object that it writes, in a kind that it is allowed to write', () => {
      const { canary, names } = context;
      const named =
        router.references?.(canary, names) ?? router.kinds.map((kind) => ({ ...kind, name: 'podinfo' }));
      const isNamed = ({ apiVersion, kind, metadata }: KubernetesObject) =>
        named.some((one) => one.apiVersion === apiVersion && one.kind === kind && one.name === metadata.name);
      const groups = router.resources.map((resource) => resource.slice(resource.indexOf('.') + 1));

      const written = router.objects(context, at(some), found);

      expect(written.length).toBeGreaterThan(0);
      expect([...written, ...found].filter((object) => !isNamed(object))).toEqual([]);
      expect(named.filter(({ kind }) => !router.kinds.some((one) => one.kind === kind))).toEqual([]);
      if (!router.apexFollowsTraffic && !router.isTarget)
        expect(written.filter(({ apiVersion }) => !groups.includes(apiVersion.split('/')[0] ?? ''))).toEqual(
          [],
        );
    });

    it('gives what it makes an owner, and the marks by which it is found and left alone', () => {
      if (router.isTarget || router.apexFollowsTraffic) return;
      for (const { metadata } of router.objects(context, at(some), found)) {
        expect(metadata.labels).toMatchObject({ 'holdfast.dev/canary': 'podinfo' });
        expect(metadata.annotations).toMatchObject({ 'kustomize.toolkit.fluxcd.io/reconcile': 'disabled' });
        if (metadata.namespace !== undefined)
          expect(metadata.ownerReferences).toMatchObject([{ uid: 'canary-uid', controller: true }]);
      }
    });

    it('reads and writes nothing when its template does not exist, and names what is missing', () => {
      if (!fixture.found || router.isTarget) return;

      expect(router.objects(context, initialTraffic, [])).toEqual([]);
      const reading = read([]);
      expect(reading?.accepted).toBe(false);
      for (const { kind, metadata } of fixture.found)
        expect(reading?.problem).toContain(`${kind} ${metadata.name}`);
    });
  });

  describe('weights', () => {
    it('are not read before its objects exist', () => {
      expect(read(router.isTarget ? [] : found)).toBeUndefined();
    });

    it('start with all traffic on the primary', () => {
      expect(read(apply(initialTraffic))).toEqual({ ...initialTraffic, accepted: true });
    });

    it.each(splits)('are read back as they were written: %i %% for the canary', (canaryWeight) => {
      expect(read(apply(at(canaryWeight)))).toEqual({ ...at(canaryWeight), accepted: true });
      expect(read(apply(at(canaryWeight), apply(at(some)), 3))).toEqual({
        ...at(canaryWeight),
        accepted: true,
      });
    });

    it.each([
      [50.5, 49.5],
      [-10, 110],
      [50, 40],
      [0, 0],
      [Number.NaN, 100],
    ])('that are %d and %d are refused', (primaryWeight, canaryWeight) => {
      expect(() =>
        router.objects(context, { ...initialTraffic, primaryWeight, canaryWeight }, found),
      ).toThrow(RangeError);
    });

    it('that cannot be read are reported instead of guessed', () => {
      if (router.isTarget) return;
      const own = router.objects(context, initialTraffic, found);
      const broken = apply(initialTraffic).map((object) => {
        if (!own.some((one) => isSame(one, object))) return object;
        const { metadata, ...rest } = object;
        const spec = fixture.unreadable ?? { selector: { app: 'x' }, rules: [], routes: [] };
        return { ...rest, metadata: { ...metadata, annotations: {} }, spec };
      });

      const reading = read(broken);

      expect(reading?.accepted).toBe(false);
      expect(reading?.problem).toContain('podinfo');
    });

    it('of an object of the same name in another namespace are not its own', () => {
      const live = apply(initialTraffic).map((object) => ({
        ...object,
        metadata: { ...object.metadata, namespace: 'other' },
      }));

      expect(read(live)?.accepted ?? false).toBe(false);
    });

    it('at the end of a release leave the route as it was before', () => {
      const before = apply(initialTraffic);
      const after = apply(initialTraffic, apply(at(100), apply(at(some), before, 3), 4), 5);

      expect(read(after)).toEqual({ ...initialTraffic, accepted: true });
      expect(after.map(({ spec }) => spec)).toEqual(before.map(({ spec }) => spec));
      expect(router.objects(context, initialTraffic, after)).toEqual(
        router.objects(context, initialTraffic, before),
      );
    });

    it('stay on the target when the Canary is deleted', () => {
      const going = aContext(context.canary);
      going.canary = {
        ...context.canary,
        metadata: { ...context.canary.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
      };

      const handedBack = apply(at(100), apply(at(some)), 3, going);

      expect(read(handedBack, going)).toEqual({ ...at(100), accepted: true });
    });
  });

  describe('another writer', () => {
    const live = apply(at(some));
    /** The reading after each object was changed in this way. */
    const changed = (change: (object: KubernetesObject) => KubernetesObject) => live.map(change);

    it('who adds labels, annotations or fields changes no weight, and they stay', () => {
      const touched = changed((object) => ({
        ...object,
        metadata: {
          ...object.metadata,
          labels: { ...object.metadata.labels, 'example.com/team': 'shop' },
          annotations: { ...object.metadata.annotations, 'example.com/note': 'kept' },
        },
        spec: { ...(object.spec as object), ingressClassName: 'internal', unheardOf: { by: 'Holdfast' } },
      }));

      expect(read(touched)).toEqual(read(live));
      const repaired = write(at(some), touched, 3);
      expect(read(acceptedAll(router, repaired))).toEqual(read(live));
      for (const { metadata, spec } of repaired) {
        expect(metadata.labels).toMatchObject({ 'example.com/team': 'shop' });
        expect(metadata.annotations).toMatchObject({ 'example.com/note': 'kept' });
        expect(spec).toMatchObject({ ingressClassName: 'internal', unheardOf: { by: 'Holdfast' } });
      }
      if (!fixture.found)
        expect(router.objects(context, at(some), touched)).toEqual(router.objects(context, at(some), live));
    });

    it('who moves the weights is seen, and put back', () => {
      const drifted = apply(at(more), live, 3);

      expect(read(drifted)?.canaryWeight).toBe(more);
      expect(read(apply(at(some), drifted, 4))).toEqual(read(live));
    });

    it('who empties a part of an object: the repair leaves the live weights as they are', () => {
      const reading = read(live);
      const own = router.objects(context, at(some), found);
      for (const object of live.filter((one) => own.some((each) => isSame(each, one))))
        for (const field of Object.keys(object.spec as object)) {
          const { [field]: _, ...spec } = object.spec as Record<string, unknown>;
          const damaged = live.map((one) => (one === object ? { ...object, spec } : one));
          const seen = read(damaged);
          const repaired = apply(seen && !seen.problem ? seen : at(some), damaged, 3);

          expect(read(repaired), field).toEqual(reading);
        }
    });

    it.each([null, 'x', [null]])(
      'who writes %j in place of a field: it is told, and written over',
      (value) => {
        const own = router.objects(context, at(some), found);
        const isOwn = (object: KubernetesObject) => own.some((one) => isSame(one, object));
        const damages = live.filter(isOwn).flatMap((object) =>
          Object.keys(object.spec as object).map((field) => {
            const damaged = { ...object, spec: { ...(object.spec as object), [field]: value } };
            return live.map((one) => (one === object ? damaged : one));
          }),
        );
        for (const damaged of damages) {
          const reading = read(damaged);

          if (reading?.accepted) expect(reading).toEqual(read(live));
          else expect(reading?.problem).toContain('podinfo');
          expect(read(apply(at(some), damaged, 3))).toEqual(read(live));
        }
      },
    );

    it('after one of the objects was deleted, the others are not read as a route that sends requests elsewhere', () => {
      for (const gone of router.objects(context, at(some), found)) {
        const rest = live.filter((object) => !isSame(object, gone));

        const reading = read(rest);

        if (reading?.accepted && !router.isTarget) expect(reading.canaryWeight).toBe(some);
        if (!router.isTarget) expect(read(apply(at(some), rest, 3))).toEqual(read(live));
      }
    });

    it('who takes the place of a write that stopped in the middle: old or new weights are read, and the next write is whole', () => {
      const wanted = router.objects(context, at(more), live);
      for (let count = 0; count <= wanted.length; count += 1) {
        const part = acceptedAll(router, writtenOver(live, wanted.slice(0, count), 3));

        const reading = read(part);

        if (reading?.accepted) expect([some, more]).toContain(reading.canaryWeight);
        expect(read(apply(at(more), part, 4))).toEqual({ ...at(more), accepted: true });
      }
    });
  });

  describe('what it does with requests', () => {
    it('by match, or refuses such a Canary and names the field', () => {
      const refused = errorsOf({ analysis: abAnalysis }).map(({ path }) => path.replace(/\[.*/, ''));
      if (refused.length > 0) return expect(refused).toEqual(['spec.analysis.match']);
      const about = contextOf({ analysis: abAnalysis });
      const readings = [true, false].map((matched) =>
        read(apply({ ...at(100), matched }, found, 2, about), about),
      );

      expect(readings.map((reading) => reading?.canaryWeight)).toEqual([100, 100]);
      if (router.apexFollowsTraffic)
        return expect(router.check(about.canary).map(({ path }) => path)).toContain('spec.analysis.match');
      expect(readings.map((reading) => reading?.matched)).toEqual([true, false]);
      const objects = JSON.stringify(router.objects(about, { ...at(100), matched: true }, found));
      expect(objects).toContain('x-user');
      expect(objects).toContain('insider');
      const ended = apply(initialTraffic, apply({ ...at(100), matched: true }, found, 2, about), 3, about);
      expect(read(ended, about)).toEqual({ ...initialTraffic, accepted: true });
    });

    it('by match and weight, with steps instead of iterations, or refuses such a Canary', () => {
      const { iterations: _, ...others } = abAnalysis;
      const analysis = { ...others, stepWeight: 20 };
      const refused = errorsOf({ analysis }).map(({ path }) => path.replace(/\[.*/, ''));
      if (refused.length > 0 || router.apexFollowsTraffic) return;
      const about = contextOf({ analysis });
      const target = { ...at(some), matched: true };

      expect(read(apply(target, found, 2, about), about)).toEqual({ ...target, accepted: true });
      expect(JSON.stringify(router.objects(about, target, found))).toContain('insider');
    });

    it('mirrored, or says that the field does nothing', () => {
      const analysis = { interval: '10s', threshold: 2, mirror: true, iterations: 5 };
      const about = contextOf({ analysis });
      const reading = read(apply({ ...initialTraffic, mirrored: true }, found, 2, about), about);

      const ignored = unsupportedFields(about.canary, router.ignores(about.canary));
      expect(reading?.mirrored).toBe(!ignored.includes('spec.analysis.mirror'));
      expect(read(apply(initialTraffic, found, 2, about), about)?.mirrored).toBe(false);
    });

    it('of users who stay on their side, or says that the field does nothing', () => {
      const sessionAffinity = { cookieName: 'side' };
      const analysis = { interval: '10s', threshold: 2, stepWeight: 20, sessionAffinity };
      const about = contextOf({ analysis });
      const reported = [
        ...router.check(about.canary).map(({ path }) => path),
        ...router.ignores(about.canary),
      ];
      if (!keepsSessions(name)) return expect(reported).toContain('spec.analysis.sessionAffinity');

      const kept = apply({ ...at(20), sessions: { kind: 'keep', canary: 'side=abc' } }, found, 2, about);
      const ended = apply(
        { ...initialTraffic, sessions: { kind: 'end', previous: 'side=abc' } },
        kept,
        3,
        about,
      );

      expect(read(kept, about)).toEqual({ ...at(20), accepted: true });
      expect(JSON.stringify(kept)).toContain('side=abc; Max-Age=86400');
      expect(read(ended, about)).toEqual({ ...initialTraffic, accepted: true });
      expect(JSON.stringify(ended)).toContain('side=abc; Max-Age=-1');
    });
  });
});

it.each([
  [1, 1, 50],
  [996, 4, 1],
  [4, 996, 99],
  [1_000, 0, 0],
  [0, 3, 100],
])(
  'weights %i/%i of another writer read as %i of 100: a side that gets requests has a share',
  (primary, canary, percent) => {
    expect(percentOf(primary, canary)).toEqual({ primaryWeight: 100 - percent, canaryWeight: percent });
  },
);

/** Providers whose objects name a port of each side's Service. */
const naming: Readonly<Record<string, Partial<CanarySpec>>> = {
  'gatewayapi:v1': {},
  'gatewayapi:v1beta1': {},
  contour: {},
  traefik: {},
  istio: { service: { port: 9898, portDiscovery: true, gateways: ['public'] } },
  gloo: {},
  kuma: {},
};

it.each(Object.entries(naming))(
  'router %s leads to the port that the Service of each side has',
  (name, spec) => {
    const router = routers.find((one) => one.name === name)!;
    const context = aContext(canaryFor(router, spec));
    const ports = { primary: 7001, canary: 7002 };

    const written = router.objects({ ...context, ports }, at(20), foundBy(router));

    const parts = recordsIn(written).map((part) => JSON.stringify(part).replaceAll(/upstream-\d+/g, ''));
    const sides = [
      ['podinfo-primary', '7001', 'podinfo-canary', '7002'],
      ['podinfo-canary', '7002', 'podinfo-primary', '7001'],
    ] as const;
    for (const [service, port, otherService, otherPort] of sides) {
      const own = parts.filter((part) => part.includes(service) && !part.includes(otherService));
      expect(own.some((part) => part.includes(port))).toBe(true);
      expect(own.filter((part) => part.includes(otherPort) || part.includes('9898'))).toEqual([]);
    }
  },
);

function recordsIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(recordsIn);
  return Array.isArray(value) ? inner : [value, ...inner];
}

/** Without a controller that answers on the objects, they count as accepted when they are written. */
const answered = routers.filter((router) => fixtureOf(router).answer !== undefined);

describe.each(answered.map((router) => [router.name, router] as const))(
  'acceptance by router %s',
  (_, router) => {
    const context = aContext(canaryFor(router));
    const found = foundBy(router);
    const write = (canaryWeight: number, live = found, generation = 2) =>
      writtenOver(live, router.objects(context, at(canaryWeight), live), generation);
    const accept = (objects: readonly KubernetesObject[]) => acceptedAll(router, objects);

    it('does not take a route for accepted that no controller has seen', () => {
      const written = write(50).map(({ status: _status, ...object }) => object);

      const reading = router.read(context, written);

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

        expect(router.read(context, before)).toMatchObject({ canaryWeight: from, accepted: true });
        expect(router.read(context, written)).toMatchObject({
          accepted: false,
          problem: expect.stringContaining('generation 3'),
        });
        expect(router.read(context, seen)).toMatchObject({ canaryWeight: to, accepted: true });
        expect(router.read(context, seen)?.problem).toBeUndefined();
      },
    );

    it('ignores a status about an older generation, whether good or bad', () => {
      const good = accept(write(20));
      const bad = good.map((object) => ({ ...object, status: JSON.parse(turned(object.status)) as object }));

      const readings = [good, bad].map((live) => router.read(context, write(50, live, 3)));

      expect(
        readings.map((reading) => [reading?.accepted, /generation 3/.test(reading?.problem ?? '')]),
      ).toEqual([
        [false, true],
        [false, true],
      ]);
    });

    it('takes no part of an answer for all of it', () => {
      const { needs = [] } = fixtureOf(router);
      const whole = accept(write(20));

      for (const type of needs) {
        const reading = router.read(
          context,
          whole.map((object) => withoutCondition(object, type)),
        );
        expect(reading?.accepted).toBe(false);
        expect(reading?.problem).toContain('podinfo');
      }
      expect(needs.length).toBeGreaterThan(0);
    });
  },
);

/** The same answer as a refusal. */
function turned(status: unknown): string {
  return JSON.stringify(status ?? null)
    .replaceAll('"True"', '"False"')
    .replaceAll('"valid"', '"invalid"');
}

function withoutCondition(object: KubernetesObject, type: string): KubernetesObject {
  const kept = (key: string, value: unknown) =>
    key === 'conditions' ? (value as Array<{ type: string }>).filter((one) => one.type !== type) : value;
  return { ...object, status: JSON.parse(JSON.stringify(object.status ?? null, kept)) as object };
}
