import { expect, test } from 'vitest';
import { groupKindsAnnotation, type KubernetesObject } from '../../api/kubernetes.ts';
import type { SourceView } from '../../dashboard/views.ts';
import type { Wish } from '../http/reviews.ts';
import { sourceFeed, type Viewer } from './feeds.ts';
import { sourceRow } from './rows.ts';

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
  const model = {
    enter: () => () => undefined,
    version: () => 1,
    isReady: () => true,
    freshness: () => ({ isLeader: true }),
    object: () => shop,
    objects: () => [],
    sourceOf: () => undefined,
    sourceRow,
    canaryRow: () => undefined,
    membersOf: () => members,
  };
  const viewer = {
    model,
    access: { may: async (_: unknown, wish: Wish) => (may(wish) ? 'yes' : 'no') },
    person: { user: 'alice' },
    confirm: async () => undefined,
    nowMs: () => 0,
    kindOf: async (group: string) => ({ apiVersion: group ? `${group}/v1` : 'v1', plural: 'services' }),
    documentation: undefined,
  } as unknown as Viewer;
  const events = await sourceFeed(viewer, 'shop', 'shop').next();
  const view = events.find(({ event }) => event === 'source')?.data as SourceView | undefined;
  return view && 'value' in view.objects ? view.objects.value.map(({ name }) => name) : [];
}

function service(apiVersion: string, name: string): KubernetesObject {
  return { apiVersion, kind: 'Service', metadata: { namespace: 'shop', name }, spec: {} };
}

test('kinds of one name in two groups are listed once, each by its own right', async () => {
  const members = [service('v1', 'web'), service('serving.knative.dev/v1', 'cart')];
  expect((await listed(members, () => true)).toSorted()).toEqual(['cart', 'web']);
  expect(await listed(members, ({ group }) => group !== 'serving.knative.dev')).toEqual(['web']);
});
