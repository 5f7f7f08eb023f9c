import { expect, it } from 'vitest';
import type { WatchedSet } from '../../../contracts/cluster.ts';
import { createVirtualClock } from '../../virtual-clock.test-support.ts';
import { seeAnew, watchNamespace } from './namespace-view.ts';

const split = { apiVersion: 'split.smi-spec.io/v1alpha2', kind: 'TrafficSplit' };
const route = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute' };

/** A namespace in which one Canary needs routes, and another one a kind that the server does not have: it is never read. */
function namespaceWithUnservedKind() {
  const read: string[] = [];
  const view = watchNamespace(
    'shop',
    ({ kind }) =>
      ({
        onChange: () => undefined,
        refresh: async () => {
          if (kind === split.kind) await new Promise(() => undefined);
          read.push(kind);
          return true;
        },
      }) as unknown as WatchedSet,
    () => undefined,
  );
  view.setKinds([split, route]);
  return { view, read };
}

it('a kind that the server does not have delays no decision on a Canary that does not need it', async () => {
  const { view, read } = namespaceWithUnservedKind();
  const clock = createVirtualClock();

  const isRead = await seeAnew(clock, view, { freshMs: 10_000, kinds: [route] });

  expect(isRead).toBe(true);
  expect(read.sort()).toEqual(['HTTPRoute', 'Pod', 'ReplicaSet', 'Service']);
});

it('a kind that the Canary needs and that cannot be read is waited for, and then done without', async () => {
  const { view } = namespaceWithUnservedKind();
  const clock = createVirtualClock();

  const seen = seeAnew(clock, view, { freshMs: 10_000, kinds: [split] });
  await clock.advance(30_000);

  expect(await seen).toBe(false);
});
