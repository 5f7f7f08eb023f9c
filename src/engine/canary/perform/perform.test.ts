import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Action } from '../../../rollout/outcome.ts';
import { aCanary, aTarget } from '../../../workload/shared/fixtures.test-support.ts';
import { createApplied } from '../../applied.ts';
import { StaleView } from '../../failure.ts';
import type { ActionContext } from '../context/context.ts';
import { performAll } from './perform.ts';

const canary = aCanary({ provider: 'gatewayapi:v1' });
const toPrimary = { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false };
const toCanary = { primaryWeight: 0, canaryWeight: 100, mirrored: false, matched: false };
const reject: Action = { type: 'Reject', digest: 'v1:b', commit: 'c', reason: 'ChecksFailed' };
const unready: Action = { type: 'ScaleCanary', replicas: 0 };

const route = (weight: number): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'podinfo', namespace: 'shop' },
  spec: { weight },
});

const rule = { apiVersion: 'networking.istio.io/v1beta1', kind: 'DestinationRule' };

function refused(what: string): Error {
  return Object.assign(new Error(`${what} is forbidden`), { kind: 'forbidden' });
}

/** A target with pods, Services of these names, and an API server that refuses writes of these kinds. */
function bed(
  options: {
    services?: readonly string[];
    refuses?: Readonly<Record<string, Error>>;
    /** The share now, of a route beside which there is a rule. */
    share?: number;
  } = {},
) {
  const { services = ['podinfo-primary', 'podinfo-canary'], refuses = {}, share } = options;
  const target = { ...aTarget(), metadata: { ...aTarget().metadata, uid: 'u', resourceVersion: '1' } };
  const wrote: string[] = [];
  const write = (kind: string) => {
    const error = refuses[kind];
    if (error) throw error;
    wrote.push(kind);
  };
  const stored = (kind: string, object: KubernetesObject): KubernetesObject => {
    write(kind);
    return { ...object, metadata: { ...object.metadata, resourceVersion: '2' } };
  };
  const view = {
    namespace: 'shop',
    get: ({ kind }: { kind: string }, name: string) => {
      if (kind === rule.kind) return { ...rule, metadata: { name, namespace: 'shop', resourceVersion: '1' } };
      return kind === 'Service' && services.includes(name)
        ? { apiVersion: 'v1', kind: 'Service', metadata: { name } }
        : undefined;
    },
    remember: () => undefined,
  };
  const router = {
    kinds: share === undefined ? [] : [rule],
    apexFollowsTraffic: false,
    read: () => undefined,
    objects: (_: unknown, { canaryWeight }: typeof toPrimary) => [
      ...(share === undefined
        ? []
        : [{ ...rule, metadata: { name: 'podinfo', namespace: 'shop' }, spec: { tls: {} } }]),
      route(canaryWeight),
    ],
  };
  const context = {
    parts: {
      applied: createApplied('holdfast-rollout'),
      cluster: {
        get: async () => target,
        apply: async (object: KubernetesObject) => stored(object.kind, object),
        patch: async ({ kind }: { kind: string }, patch: object) => stored(kind, { ...target, ...patch }),
      },
      clock: { nowMs: () => 0 },
      heads: { of: () => ({}) },
      options: { selectorLabels: ['app'] },
      ports: new Map(),
      records: { reject: async () => write('Secret') ?? true },
      routing: () => router,
    },
    observation: {
      canary,
      provider: 'gatewayapi:v1',
      view,
      target,
      primary: target,
      world: {
        status: {},
        records: [],
        rejected: [],
        ...(share === undefined ? {} : { route: { ...toPrimary, canaryWeight: share } }),
      },
    },
  } as unknown as ActionContext;
  type Limits = Parameters<typeof performAll>[2];
  return { wrote, perform: (actions: Action[], limits?: Limits) => performAll(context, actions, limits) };
}

const types = (actions: readonly Action[]) => actions.map(({ type }) => type);

test('a refused rejection stops neither the traffic nor the pods, and is told', async () => {
  const { wrote, perform } = bed({ refuses: { Secret: refused('create Secret') } });
  const done = await perform([reject, { type: 'SetTraffic', route: toPrimary }, unready]);
  expect(wrote).toEqual(['HTTPRoute', 'Deployment']);
  expect(done).toMatchObject({
    written: [{ action: { type: 'SetTraffic' } }, { action: { type: 'ScaleCanary' } }],
    failures: [{ failure: { reason: 'Forbidden' } }],
  });
  expect(types(done.undone)).toEqual(['Reject']);
});

test('traffic that could not be moved keeps the pods it may still be on, and nothing else', async () => {
  const { wrote, perform } = bed({ refuses: { HTTPRoute: refused('patch HTTPRoute') } });
  const done = await perform([{ type: 'SetTraffic', route: toPrimary }, unready, reject]);
  expect(wrote).toEqual(['Secret']);
  expect(types(done.undone)).toEqual(['SetTraffic', 'ScaleCanary']);
  expect(done.failures).toHaveLength(1);
});

test.each([
  ['leaves a canary', 0, ['HTTPRoute']],
  ['leaves a primary', 100, ['HTTPRoute']],
  ['does not go on to a canary', 80, []],
])(
  'traffic %s while a rule beside the weights is refused, which is told',
  async (_, canaryWeight, written) => {
    const { wrote, perform } = bed({
      share: 50,
      refuses: { DestinationRule: refused('patch DestinationRule') },
    });
    const moved = { ...toPrimary, primaryWeight: 100 - canaryWeight, canaryWeight };
    const done = await perform([{ type: 'SetTraffic', route: moved }, unready]);
    expect(wrote).toEqual(written);
    expect(types(done.undone)).toEqual(['SetTraffic', 'ScaleCanary']);
    expect(done.failures).toMatchObject([{ failure: { reason: 'Forbidden' } }]);
  },
);

test('traffic is not sent to a Service that is not there', async () => {
  const { wrote, perform } = bed({ services: ['podinfo-primary'] });
  const done = await perform([{ type: 'SetTraffic', route: toCanary }]);
  expect(wrote).toEqual([]);
  const message = expect.stringContaining('Service shop/podinfo-canary');
  expect(done.failures).toMatchObject([{ failure: { reason: 'ServiceMissing', transient: true, message } }]);
  const back = await perform([{ type: 'SetTraffic', route: toPrimary }]);
  expect(back).toMatchObject({ written: [{ action: { type: 'SetTraffic' } }], failures: [] });
});

test('without the intent in the status, traffic moves and nothing is taken away or remembered', async () => {
  const { wrote, perform } = bed();
  const actions: Action[] = [reject, { type: 'SetTraffic', route: toPrimary }, unready];
  const done = await perform(actions, { hasIntent: false });
  expect(wrote).toEqual(['HTTPRoute']);
  expect(types(done.undone)).toEqual(['ScaleCanary', 'Reject']);
  expect(done.failures).toEqual([]);
});

test('what another writer undoes waits, and with it what takes away what it may protect, but no traffic', async () => {
  const { wrote, perform } = bed();
  const services: Action = { type: 'EnsureServices', primaryDigest: 'v1:a', canaryDigest: 'v1:a' };
  const disown: Action = { type: 'Disown', primary: false };
  const actions: Action[] = [services, { type: 'SetTraffic', route: toPrimary }, unready, disown];
  const done = await perform(actions, { paused: new Set(['EnsureServices']) });
  expect(wrote).toEqual(['HTTPRoute', 'Deployment']);
  expect(types(done.undone)).toEqual(['EnsureServices', 'Disown']);
});

test('a world that is another one by now is looked at anew before anything more is done', async () => {
  const { wrote, perform } = bed({ refuses: { HTTPRoute: new StaleView('the route') } });
  await expect(perform([{ type: 'SetTraffic', route: toPrimary }, reject])).rejects.toBeInstanceOf(StaleView);
  expect(wrote).toEqual([]);
});
