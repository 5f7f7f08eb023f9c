import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import { contour } from './contour.ts';
import { aContext, acceptedBy } from './fixtures.test-support.ts';
import { gatewayApi } from './gateway-api.ts';
import type { RoutingProvider } from './router.ts';

const allToCanary: RouteTarget = { primaryWeight: 0, canaryWeight: 100, mirrored: false, matched: false };
const metadata = { name: 'podinfo', namespace: 'shop' };
const parentRefs = [{ name: 'public' }];
const match = (value: string) => [{ path: { type: 'PathPrefix', value } }];

/** Routes of others: one with two rules, and one with backends without a weight. */
const httpRoute: KubernetesObject = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata,
  spec: {
    parentRefs,
    rules: [
      { matches: match('/old'), backendRefs: [{ name: 'old', port: 80 }] },
      { matches: match('/'), backendRefs: [{ name: 'podinfo', port: 9898 }] },
    ],
  },
};
const httpProxy: KubernetesObject = {
  apiVersion: 'projectcontour.io/v1',
  kind: 'HTTPProxy',
  metadata,
  spec: {
    virtualhost: { fqdn: 'shop.example.com' },
    routes: [
      { conditions: [{ prefix: '/old' }], services: [{ name: 'old', port: 80 }] },
      { services: [{ name: 'podinfo', port: 9898 }] },
    ],
  },
};

interface Kind {
  readonly router: RoutingProvider;
  readonly foreign: KubernetesObject;
}

function write(
  { router }: Kind,
  live: KubernetesObject,
  others: RouteTarget['others'],
  context = aContext(),
): KubernetesObject {
  const [written] = router.objects(context, { ...allToCanary, others }, [live]);
  // Server-side apply leaves fields of others alone, and a list is written whole.
  const spec = { ...(live.spec as object), ...(written?.spec as object) };
  const object = { ...live, ...written, spec } as KubernetesObject;
  return object.kind === 'HTTPRoute'
    ? acceptedBy({ ...object, spec: { parentRefs, ...spec } })
    : acceptedBy(object);
}

/** `name=weight` of every backend, rule by rule. */
function backends({ spec }: KubernetesObject): string[] {
  type Backends = Array<{ name: string; weight?: number }>;
  const { rules, routes } = spec as Record<string, Array<{ backendRefs?: Backends; services?: Backends }>>;
  return (rules ?? routes ?? []).map(({ backendRefs, services }) =>
    (backendRefs ?? services ?? []).map(({ name, weight = '-' }) => `${name}=${weight}`).join(' '),
  );
}

describe.each([
  { router: gatewayApi, foreign: httpRoute, unweighted: '-' },
  { router: contour, foreign: httpProxy, unweighted: '1' },
])('a route of $router.name that names backends of others', ({ unweighted, ...kind }) => {
  const { router, foreign } = kind;
  const read = (object: KubernetesObject, context: RouteContext = aContext()) =>
    router.read(context, [object]);

  it('is said to be led elsewhere', () => {
    expect(read(acceptedBy(foreign))).toMatchObject({ others: 'alone', accepted: false });
  });

  it('retains its rules while both sides are named in it without requests', () => {
    const named = write(kind, foreign, 'serving');

    expect(backends(named)).toEqual([`old=${unweighted} podinfo-primary=0 podinfo-canary=0`, 'podinfo=-']);
    expect(named.spec).toMatchObject(
      foreign.kind === 'HTTPRoute' ? { parentRefs } : { virtualhost: { fqdn: 'shop.example.com' } },
    );
    expect(read(named)).toMatchObject({ others: 'serving', accepted: false });
    expect(backends(write(kind, named, 'serving'))).toEqual(backends(named));
  });

  it('names them still when both sides have the requests, and then no more', () => {
    const moved = write(kind, write(kind, foreign, 'serving'), 'idle');
    expect(backends(moved)).toEqual(['podinfo-primary=0 podinfo-canary=100 old=0 podinfo=0']);
    expect(read(moved)).toMatchObject({ others: 'idle', canaryWeight: 100, accepted: true });

    const alone = write(kind, moved, undefined);
    expect(backends(alone)).toEqual(['podinfo-primary=0 podinfo-canary=100']);
    expect(read(alone)?.others).toBeUndefined();
  });

  it('is handed over in the same way to its successor', () => {
    const context = { ...aContext(), successor: foreign };
    const own = write(kind, { ...foreign, spec: {} }, undefined);
    expect([router.isSucceededBy?.(context, foreign), router.isSucceededBy?.(context, own)]).toEqual([
      true,
      false,
    ]);

    const named = write(kind, own, 'idle', context);
    expect(backends(named)).toEqual(['podinfo-primary=0 podinfo-canary=100 old=0 podinfo=0']);
    expect(read(named, context)).toMatchObject({ others: 'idle', canaryWeight: 100, accepted: true });

    const moved = write(kind, named, 'serving', context);
    expect(backends(moved)).toEqual(backends(write(kind, foreign, 'serving')));
    expect(read(moved, context)).toMatchObject({ others: 'serving', canaryWeight: 100, accepted: true });
  });

  it('is not being handed over to a successor of which it does not name every backend', () => {
    const [first, ...more] = backends(foreign);
    expect([first, more.length]).toEqual(['old=-', 1]);
    const list = foreign.kind === 'HTTPRoute' ? 'rules' : 'routes';
    const spec = foreign.spec as Record<string, unknown[]>;
    const part = { ...foreign, spec: { ...spec, [list]: spec[list]?.slice(0, 1) } } as KubernetesObject;
    const moved = write(kind, part, 'idle');

    expect(read(moved, { ...aContext(), successor: foreign })?.others).toBeUndefined();
    expect(read(moved)?.others).toBe('idle');
  });
});
