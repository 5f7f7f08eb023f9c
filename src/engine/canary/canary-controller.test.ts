import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { createStore } from '../../cluster/caches/store.ts';
import type { WatchedSet, WatchQuery } from '../../contracts/cluster.ts';
import { createVirtualClock } from '../virtual-clock.test-support.ts';
import { createCanaryController } from './canary-controller.ts';

function canaryNamed(name: string, more: Partial<KubernetesObject> = {}): KubernetesObject {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { namespace: 'shop', name, uid: name, generation: 1 },
    spec: { provider: 'kubernetes', targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } },
    ...more,
  };
}

type Listener = (object: KubernetesObject | undefined) => void;

/** A controller of these Canaries whose passes begin as its clock moves on. */
function world(canaries: readonly KubernetesObject[]) {
  const watched: string[] = [];
  const seen = { routers: 0, passes: 0 };
  const clock = createVirtualClock();
  const store = createStore();
  for (const canary of canaries) store.upsert(canary);
  let version = 0;
  let tell: Listener = () => undefined;
  const listeners = new Map<string, Listener>();
  const nothing = { onChange() {}, close() {} };
  const set = {
    ...store,
    onChange(listener: Listener) {
      tell = listener;
    },
  };
  const controller = createCanaryController({
    clock,
    random: () => 1,
    log: { info() {}, warn() {} },
    onPass() {
      seen.passes += 1;
    },
    canaries: set,
    isShadow: true,
    openWatch({ kind }: WatchQuery) {
      watched.push(kind);
      const onChange = (listener: Listener) => void listeners.set(kind, listener);
      return { ...nothing, onChange } as unknown as WatchedSet;
    },
    routing(provider: string) {
      seen.routers += 1;
      return { kinds: [{ apiVersion: 'example.com/v1', kind: `Route-${provider}` }] };
    },
    references: nothing,
    heads: { onAllRead() {} },
    flagger: nothing,
    options: { defaultProvider: 'kubernetes' },
  } as unknown as Parameters<typeof createCanaryController>[0]);
  controller.start();
  return {
    clock,
    watched,
    seen,
    change(canary: KubernetesObject) {
      version += 1;
      store.upsert({ ...canary, metadata: { ...canary.metadata, resourceVersion: String(version) } });
      tell(canary);
    },
    changePod: (pod: KubernetesObject) => listeners.get('Pod')?.(pod),
  };
}

test('neither a Canary like others nor its status, however often it changes, has all looked at for what to watch', () => {
  const names = Array.from({ length: 100 }, (_, index) => `web-${index}`);
  const { watched, seen, change } = world(names.map((name) => canaryNamed(name)));
  for (const name of names) change(canaryNamed(name));
  expect(seen.routers).toBeLessThan(5 * names.length);
  const before = seen.routers;
  for (let failedChecks = 1; failedChecks <= 50; failedChecks += 1)
    change(canaryNamed('web-0', { status: { failedChecks } }));
  expect(seen.routers).toBe(before);

  const metadata = { ...canaryNamed('web-0').metadata, generation: 2 };
  const spec = { ...(canaryNamed('web-0').spec as object), provider: 'contour' };
  change(canaryNamed('web-0', { metadata, spec }));
  expect(watched.at(-1)).toBe('Route-contour');
});

test('a pod that changes has no Canary looked at but that of its workload, however many there are', () => {
  let looks = 0;
  const canaries = Array.from({ length: 1_000 }, (_, index) => {
    const canary = canaryNamed(`web-${index}`);
    const spec = () => {
      looks += 1;
      return canary.spec;
    };
    return Object.defineProperty({ ...canary }, 'spec', { get: spec });
  });
  const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', uid: 'r', controller: true };
  const podOf = (name: string) => {
    const metadata = { namespace: 'shop', name, ownerReferences: [{ ...controller, name }] };
    return { apiVersion: 'v1', kind: 'Pod', metadata };
  };
  const { changePod } = world(canaries);
  changePod(podOf('web-7-primary-6d5b2448f9'));
  const before = looks;

  for (let index = 0; index < 100; index += 1) changePod(podOf(`web-${index}-primary-6d5b2448f9`));

  expect(looks).toBe(before);
});

test('what changes within a tenth of a second is looked at once, and nothing waits longer', async () => {
  const { change, clock, seen } = world([canaryNamed('web')]);
  await clock.advance(1_000);
  const before = seen.passes;

  for (let failedChecks = 1; failedChecks <= 9; failedChecks += 1) {
    change(canaryNamed('web', { status: { failedChecks } }));
    await clock.advance(11);
  }
  await clock.advance(1);

  expect(seen.passes - before).toBe(1);
});
