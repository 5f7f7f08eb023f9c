import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
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

/** A controller of these Canaries whose passes never begin. */
function world(canaries: Map<string, KubernetesObject>) {
  const watched: string[] = [];
  const seen = { routers: 0 };
  let tell: (canary: KubernetesObject | undefined) => void = () => undefined;
  const nothing = { onChange() {}, close() {} };
  const set = {
    get: (_: string, name: string) => canaries.get(name),
    list: () => [...canaries.values()],
    onChange(listener: typeof tell) {
      tell = listener;
    },
  };
  const controller = createCanaryController({
    clock: createVirtualClock(),
    random: () => 1,
    canaries: set,
    isOurs: () => true,
    isShadow: true,
    openWatch({ kind }: WatchQuery) {
      watched.push(kind);
      return nothing as unknown as WatchedSet;
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
    watched,
    seen,
    change(canary: KubernetesObject) {
      canaries.set(canary.metadata.name, canary);
      tell(canary);
    },
  };
}

test('the status of one Canary, however often it changes, has no other Canary looked at for what to watch', () => {
  const names = Array.from({ length: 100 }, (_, index) => `web-${index}`);
  const { watched, seen, change } = world(new Map(names.map((name) => [name, canaryNamed(name)])));
  change(canaryNamed('web-0'));
  const before = seen.routers;
  for (let failedChecks = 1; failedChecks <= 50; failedChecks += 1)
    change(canaryNamed('web-0', { status: { failedChecks } }));
  expect(seen.routers).toBe(before);

  const metadata = { ...canaryNamed('web-0').metadata, generation: 2 };
  const spec = { ...(canaryNamed('web-0').spec as object), provider: 'contour' };
  change(canaryNamed('web-0', { metadata, spec }));
  expect(watched.at(-1)).toBe('Route-contour');
});
