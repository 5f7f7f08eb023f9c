import { expect, test } from 'vitest';
import { systemClock } from '../../api/clock.ts';
import { groupKindsAnnotation, type KubernetesObject } from '../../api/kubernetes.ts';
import { localError } from '../../cluster/errors.ts';
import type { WatchedSet } from '../../contracts/cluster.ts';
import type { CanaryView, SourceView } from '../../dashboard/views.ts';
import type { Wish } from '../http/reviews.ts';
import { canaryFeed, sourceFeed, type Viewer } from './feeds.ts';
import { createModel } from './model.ts';
import { sourceRow } from './rows.ts';
import { StreamEnd } from './streams.ts';

const shop: KubernetesObject = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: {
    namespace: 'shop',
    name: 'shop',
    annotations: { [groupKindsAnnotation]: 'Service,Service.serving.knative.dev' },
  },
  spec: {},
};

/** What the page of a Source lists for somebody with these rights. */
async function listed(members: readonly KubernetesObject[], may: (wish: Wish) => boolean): Promise<string[]> {
  const viewer = viewerOf(
    { membersOf: () => members },
    {
      access: { may: async (_: unknown, wish: Wish) => (may(wish) ? 'yes' : 'no') },
      kindOf: async (group: string) => ({ apiVersion: group ? `${group}/v1` : 'v1', plural: 'services' }),
    },
  );
  const events = await sourceFeed(viewer, 'shop', 'shop').next();
  const view = events.find(({ event }) => event === 'source')?.data as SourceView | undefined;
  return view && 'value' in view.objects ? view.objects.value.map(({ name }) => name) : [];
}

function service(apiVersion: string, name: string): KubernetesObject {
  return { apiVersion, kind: 'Service', metadata: { namespace: 'shop', name }, spec: {} };
}

/** Alice, who may read everything of a cluster that serves Deployments. The Source `shop` is all there is, unless the model says otherwise. */
function viewerOf(model: object, more: object = {}): Viewer {
  return {
    model: {
      enter: () => () => undefined,
      version: () => 1,
      isReady: () => true,
      freshness: () => ({ isLeader: true }),
      object: () => shop,
      objects: () => [],
      sourceOf: () => undefined,
      sourceRow,
      canaryRow: () => undefined,
      membersOf: () => [],
      ...model,
    },
    access: { may: async () => 'yes' },
    person: { user: 'alice' },
    confirm: async () => undefined,
    nowMs: () => 0,
    kindOf: async () => ({ apiVersion: 'apps/v1', plural: 'deployments' }),
    documentation: undefined,
    ...more,
  } as unknown as Viewer;
}

test('kinds of one name in two groups are listed once, each by its own right', async () => {
  const members = [service('v1', 'web'), service('serving.knative.dev/v1', 'cart')];
  expect((await listed(members, () => true)).toSorted()).toEqual(['cart', 'web']);
  expect(await listed(members, ({ group }) => group !== 'serving.knative.dev')).toEqual(['web']);
});

test('a Canary that is deleted, made anew and deleted again is told to be missing each time', async () => {
  const canary: KubernetesObject = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { namespace: 'shop', name: 'web', uid: '1' },
    spec: { targetRef: { name: 'web' } },
  };
  const world = { version: 0, canary: canary as KubernetesObject | undefined };
  const timeline = { timesSeconds: [], weightsPercent: [], failedChecks: [], checks: [], since: '' };
  const viewer = viewerOf({
    version: () => world.version,
    object: () => world.canary,
    journal: { timelineOf: () => timeline },
    sides: () => undefined,
    pods: () => undefined,
  });
  const feed = canaryFeed(viewer, 'shop', 'web');
  const shown: string[] = [];
  for (const now of [canary, undefined, canary, undefined, undefined]) {
    Object.assign(world, { version: world.version + 1, canary: now });
    for (const { event } of await feed.next()) if (event !== 'fresh') shown.push(event);
  }

  expect(shown).toEqual(['canary', 'missing', 'canary', 'missing']);
});

test('a kind that the API server cannot be asked about ends a page with a word why, and is no fault', async () => {
  const viewer = viewerOf(
    {},
    {
      kindOf: () => Promise.reject(localError('transient', 'nobody answers')),
    },
  );

  const looked = sourceFeed(viewer, 'shop', 'shop').next();

  await expect(looked).rejects.toBeInstanceOf(StreamEnd);
  await expect(looked).rejects.toThrow('the API server cannot be asked at the moment');
});

test('the API server is asked once about a kind that it does not serve, however often a page is looked at', async () => {
  const world = { version: 0, asked: 0, isDown: true };
  const viewer = viewerOf(
    { version: () => world.version },
    {
      async kindOf(group: string) {
        if (world.isDown) throw localError('transient', 'nobody answers');
        if (group) world.asked += 1;
        return group ? undefined : { apiVersion: 'v1', plural: 'services' };
      },
    },
  );
  const feed = sourceFeed(viewer, 'shop', 'shop');
  await expect(feed.next()).rejects.toBeInstanceOf(StreamEnd);
  world.isDown = false;
  for (; world.version < 10; world.version += 1) await feed.next();

  expect(world.asked).toBe(1);
});

test('a Canary without a spec, which the CRD lets in, is shown with what is wrong with it', async () => {
  const message = 'spec: is missing';
  const canary: KubernetesObject = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { namespace: 'shop', name: 'web', uid: '1' },
    status: { conditions: [{ type: 'Ready', status: 'False', reason: 'InvalidSpec', message }] },
  };
  const setOf = (objects: readonly KubernetesObject[]) =>
    ({
      synced: () => true,
      problem: () => undefined,
      get: () => objects[0],
      list: () => objects,
      onChange: () => undefined,
      close: () => undefined,
    }) as unknown as WatchedSet;
  const model = createModel({
    canaries: () => setOf([canary]),
    openWatch: () => setOf([]),
    namespaces: [],
    clock: systemClock,
    isLeader: () => true,
    problem: () => undefined,
    contact: () => undefined,
  });
  const viewer = viewerOf(model);

  const events = await canaryFeed(viewer, 'shop', 'web').next();

  const view = events.find(({ event }) => event === 'canary')?.data as CanaryView | undefined;
  expect([view?.row.reason, view?.row.message, view?.target]).toEqual(['InvalidSpec', message, '']);
  model.close();
});
