import { describe, expect, test } from 'vitest';
import { postPromotionAnnotation } from '../../../api/canary/canary.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { KeysOf } from '../../../contracts/cluster.ts';
import { canaryInForce, specsOf } from './spec-in-force.ts';

const good = {
  provider: 'kubernetes',
  targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
  service: { port: 80 },
  analysis: { interval: '1m', threshold: 2, iterations: 2 },
};

function canary(more: {
  spec?: unknown;
  status?: Record<string, unknown>;
  metadata?: Partial<KubernetesObject['metadata']>;
}): KubernetesObject {
  const { spec = good, status, metadata } = more;
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'web', namespace: 'shop', generation: 2, ...metadata },
    spec,
    ...(status ? { status } : {}),
  };
}

function inForce(object: KubernetesObject, others: readonly KubernetesObject[] = []) {
  const known = { kinds: [], apexFollowsTraffic: true, check: () => [] };
  const parts = {
    canaries: {
      byKey: (keysOf: KeysOf, key: string) => [object, ...others].filter((one) => keysOf(one).includes(key)),
    },
    options: {
      minIntervalMs: 100,
      defaultProvider: 'kubernetes',
      selectorLabels: ['app'],
      includeLabelPrefixes: [],
    },
    routing: (provider: string) => (provider === 'kubernetes' ? known : undefined),
  } as unknown as Parameters<typeof canaryInForce>[0];
  return canaryInForce(parts, object);
}

const kept = { specInForce: { generation: 1, spec: good } };
/** With a release that proved itself. */
const proven = { ...kept, lastKnownGood: { commit: 'abc', digest: 'v1:a', promotedTime: '', record: 'r' } };
const bad: ReadonlyArray<readonly [string, Record<string, unknown>, RegExp]> = [
  ['does not parse', { ...good, targetRef: { kind: 'Deployment' } }, /spec\.targetRef/],
  ['fails a check', { ...good, analysis: { ...good.analysis, iterations: 0.5 } }, /spec\.analysis/],
  ['names a provider that is not known', { ...good, provider: 'smoke-signals' }, /spec\.provider/],
];

describe('the last valid spec stays in force while the newest one', () => {
  test.each(bad)('%s', (_, spec, field) => {
    const metadata = {
      annotations: { 'holdfast.dev/abort': 'abc' },
      deletionTimestamp: '2026-01-01T00:00:00Z',
    };
    const found = inForce(canary({ spec, status: kept, metadata }));
    if ('failure' in found) throw found.failure;
    expect(found.canary.spec.analysis.iterations).toBe(2);
    expect(found.canary.metadata).toMatchObject({ generation: 2, ...metadata });
    expect(found.specInForce).toEqual(kept.specInForce);
    expect(found.invalid?.message).toMatch(field);
    expect(found.invalid?.message).toContain('the spec of generation 1 stays in force');
  });
});

test.each(bad)('without any valid spec ever, one that %s stops the Canary', (_, spec, field) => {
  const found = inForce(canary({ spec }));
  expect('failure' in found && found.failure.message).toMatch(field);
});

test('a Canary is suspended, and hands back, also by a spec that cannot be acted on, and goes on only with one that can', () => {
  const asked = { suspend: true, revertOnDeletion: true };
  const stop = inForce(canary({ spec: { ...good, provider: 'smoke-signals', ...asked }, status: kept }));
  if ('failure' in stop) throw stop.failure;
  expect(stop.canary.spec).toEqual({ ...good, ...asked });
  expect(stop.specInForce).toEqual(kept.specInForce);

  const stopped = { specInForce: { generation: 1, spec: { ...good, suspend: true } } };
  const goOn = inForce(canary({ spec: { ...good, provider: 'smoke-signals' }, status: stopped }));
  if ('failure' in goOn) throw goOn.failure;
  expect(goOn.canary.spec.suspend).toBe(true);
});

test('a kept spec that cannot be acted on either is not acted on', () => {
  const status = { specInForce: { generation: 1, spec: { ...good, analysis: {} } } };
  const found = inForce(canary({ spec: { ...good, provider: 'smoke-signals' }, status }));
  expect('failure' in found && found.failure.message).toContain('smoke-signals');
});

test('a valid spec is the one in force, and is kept with the generation that brought it', () => {
  const found = inForce(canary({ status: kept }));
  if ('failure' in found) throw found.failure;
  expect(found.invalid).toBeUndefined();
  expect(found.specInForce).toMatchObject({ generation: 2, spec: good });
});

test('what an annotation said of the spec is kept with it, and goes when that can no longer be read', () => {
  const annotations = { [postPromotionAnnotation]: 'onFailure: hold' };
  const first = inForce(canary({ metadata: { annotations, generation: 1 } }));
  if ('failure' in first) throw first.failure;
  const broken = { [postPromotionAnnotation]: 'onFailure: [' };
  const second = inForce(
    canary({ metadata: { annotations: broken }, status: { specInForce: first.specInForce } }),
  );
  if ('failure' in second) throw second.failure;
  expect(second.canary.spec.postPromotion).toMatchObject({ onFailure: 'hold' });
  expect(second.invalid?.reason).toBe('InvalidSpec');
});

test('a target that an older Canary has is no spec that the last one stands in for', () => {
  const older = canary({ metadata: { name: 'older', creationTimestamp: '2020-01-01T00:00:00Z' } });
  const found = inForce(canary({ status: kept, metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } }), [
    older,
  ]);
  expect('failure' in found && found.failure.reason).toBe('TargetConflict');
});

test('a Canary of another namespace, of another kind of target, or on its way out has nobody’s target', () => {
  const created = { creationTimestamp: '2020-01-01T00:00:00Z' };
  const others = [
    canary({ metadata: { ...created, name: 'older', namespace: 'other' } }),
    canary({ metadata: { ...created, name: 'older', deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    canary({
      metadata: { ...created, name: 'older' },
      spec: { ...good, targetRef: { ...good.targetRef, kind: 'DaemonSet' } },
    }),
  ];
  const found = inForce(canary({ metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } }), others);
  expect('failure' in found && found.failure).toBe(false);
});

test('a Canary on its way out has its target until its traffic is handed back', () => {
  const metadata = { creationTimestamp: '2020-01-01T00:00:00Z', deletionTimestamp: '2026-01-01T00:00:00Z' };
  const others = [
    canary({ metadata: { ...metadata, name: 'older', finalizers: ['finalizer.flagger.app'] } }),
  ];
  const found = inForce(canary({ metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } }), others);
  expect('failure' in found && found.failure).toMatchObject({ reason: 'TargetConflict', transient: true });
});

test('names are looked for in both specs while they differ', () => {
  const renamed = canary({ spec: { ...good, targetRef: { ...good.targetRef, name: 'api' } }, status: kept });
  expect(specsOf(renamed).map(({ spec }) => (spec as typeof good).targetRef.name)).toEqual(['api', 'web']);
  expect(specsOf(canary({ status: { specInForce: { generation: 2, spec: good } } }))).toHaveLength(1);
  expect(specsOf(canary({}))).toHaveLength(1);
});

describe('another target', () => {
  const spec = { ...good, targetRef: { ...good.targetRef, name: 'web2' } };

  test('is refused once a release proved itself, and the former one stays in force', () => {
    const found = inForce(canary({ spec, status: proven }));
    if ('failure' in found) throw found.failure;
    expect(found.canary.spec.targetRef.name).toBe('web');
    expect(found.invalid?.message).toMatch(/^spec\.targetRef: .*Deployment web;.*Deployment web2/);
  });

  test('that is refused is still the one of the Canary that has it', () => {
    const older = canary({
      metadata: { name: 'older', creationTimestamp: '2020-01-01' },
      spec,
      status: proven,
    });
    const newer = (name: string) => {
      const targetRef = { ...good.targetRef, name };
      const metadata = { name: 'newer', creationTimestamp: '2026-01-01' };
      const found = inForce(canary({ metadata, spec: { ...good, targetRef } }), [older]);
      return 'failure' in found ? found.failure.reason : 'in force';
    };
    expect([newer('web2'), newer('web')]).toEqual(['in force', 'TargetConflict']);
  });

  test('is taken before that', () => {
    const found = inForce(canary({ spec, status: kept }));
    expect('failure' in found ? found.failure : found.canary.spec.targetRef.name).toBe('web2');
  });
});

describe('another provider, Service or route', () => {
  const others = [
    ['spec.provider', { provider: 'gatewayapi:v1' }],
    ['spec.service.name', { service: { port: 80, name: 'shop' } }],
    [
      'spec.routeRef',
      { routeRef: { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', name: 'shop' } },
    ],
  ] as const;

  test.each(others)('%s waits while the canary has traffic', (path, change) => {
    const found = inForce(canary({ spec: { ...good, ...change }, status: { ...proven, canaryWeight: 40 } }));
    if ('failure' in found) throw found.failure;
    expect(found.canary.spec).toMatchObject(good);
    expect(found.invalid).toMatchObject({ reason: 'InvalidSpec', transient: true });
    expect(found.invalid?.message).toMatch(
      new RegExp(`^${path}: takes effect once the canary has no traffic`),
    );
  });

  test('waits while requests are copied to the canary', () => {
    const mirrored = { ...good, analysis: { ...good.analysis, mirror: true } };
    const specInForce = { generation: 1, spec: mirrored };
    const spec = { ...mirrored, service: { port: 80, name: 'shop' } };
    const found = [0, 1].map((iterations) => {
      const status = { ...proven, specInForce, canaryWeight: 0, iterations };
      const read = inForce(canary({ spec, status }));
      return 'failure' in read ? read.failure : read.canary.spec.service?.name;
    });
    expect(found).toEqual(['shop', undefined]);
  });

  test('is told in the same words at each step, so that each step is no event', () => {
    const messages = [20, 40].map((canaryWeight) => {
      const spec = { ...good, provider: 'gatewayapi:v1' };
      const found = inForce(canary({ spec, status: { ...proven, canaryWeight } }));
      return 'failure' in found ? undefined : found.invalid?.message;
    });
    expect(messages[0]).toBeDefined();
    expect(messages[1]).toBe(messages[0]);
  });

  test('is taken once it has none, and other changes are taken at once', () => {
    const renamed = { ...good, service: { port: 80, name: 'shop' } };
    const more = { ...good, analysis: { ...good.analysis, threshold: 5 } };
    for (const [spec, canaryWeight] of [
      [renamed, 0],
      [more, 40],
    ] as const) {
      const found = inForce(canary({ spec, status: { ...proven, canaryWeight } }));
      expect('failure' in found ? found.failure : found.canary.spec).toMatchObject(spec);
    }
  });
});
