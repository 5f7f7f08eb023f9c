import { describe, expect, it } from 'vitest';
import {
  type KubernetesObject,
  type ObjectMeta,
  objectKey,
  takenOverAnnotation,
} from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { type PruneInput, planPrune } from './prune-plan.ts';

const source: Source = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'shop' },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' }, prune: true },
};

function object(kind: string, name: string, more: Partial<ObjectMeta> = {}): KubernetesObject {
  const apiVersion = { Deployment: 'apps/v1', Canary: 'flagger.app/v1beta1' }[kind] ?? 'v1';
  return { apiVersion, kind, metadata: { name, namespace: 'shop', ...more } };
}

function cluster(kind: string, name: string, annotations: Record<string, string> = {}): KubernetesObject {
  return { apiVersion: 'v1', kind, metadata: { name, annotations } };
}

function many(count: number, name = 'c'): KubernetesObject[] {
  return Array.from({ length: count }, (_, index) => object('ConfigMap', `${name}${index}`));
}

const canary: KubernetesObject = {
  ...object('Canary', 'web'),
  spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, service: { name: 'front' } },
};

function plan(members: KubernetesObject[], wanted: KubernetesObject[], more: Partial<PruneInput> = {}) {
  const found = planPrune({
    source,
    members,
    wanted: new Set(wanted.map(objectKey)),
    keep: new Set(),
    canaries: [],
    isApproved: () => false,
    isCopy: ({ metadata }) => metadata.name.startsWith('copy'),
    holderOf: () => undefined,
    ...more,
  });
  const names = (objects: readonly KubernetesObject[]) => objects.map(({ metadata }) => metadata.name);
  return {
    remove: names(found.remove),
    handBack: names(found.handBack),
    toApprove: names(found.toApprove),
    waiting: found.waiting.map(({ object: { metadata }, why }) => `${metadata.name}: ${why}`),
    kept: found.kept.map(({ object: { metadata }, why }) => `${metadata.name}: ${why}`),
    guard: found.guard,
  };
}

const nothing = { remove: [], handBack: [], toApprove: [], waiting: [], kept: [], guard: undefined };

describe('what left Git', () => {
  it('is deleted, and nothing else', () => {
    const stays = object('ConfigMap', 'stays');
    expect(plan([stays, object('ConfigMap', 'leaves')], [stays])).toEqual({ ...nothing, remove: ['leaves'] });
    expect(plan([stays], [stays])).toEqual(nothing);
  });

  it('is the same object in whatever version of its group', () => {
    const live = object('Deployment', 'web');
    expect(plan([live], [{ ...live, apiVersion: 'apps/v1beta2' }])).toEqual(nothing);
  });

  it.each([
    { 'holdfast.dev/prune': 'disabled' },
    { 'kustomize.toolkit.fluxcd.io/prune': 'disabled' },
    { 'kustomize.toolkit.fluxcd.io/prune': 'Disabled' },
    { 'argocd.argoproj.io/sync-options': 'ServerSideApply=true, Prune=false' },
    { 'helm.sh/resource-policy': 'keep' },
  ])('stays where it says so: %j', (annotations) => {
    const [found] = plan([object('ConfigMap', 'a', { annotations })], many(1)).kept;
    expect(found).toContain(Object.keys(annotations)[0]);
  });

  it('stays where another Source holds it, or it is the Source or its namespace', () => {
    const members = [object('ConfigMap', 'moved'), { ...source, spec: {} }, cluster('Namespace', 'shop')];
    const holderOf = (key: string) => (key.endsWith('moved') ? 'other/source' : undefined);
    expect(plan(members, many(1), { holderOf, isApproved: () => true })).toMatchObject({
      remove: [],
      kept: [
        'moved: Source other/source holds it',
        expect.stringMatching(/^shop:/),
        expect.stringMatching(/^shop:/),
      ],
    });
  });

  it('stays where the Source may not write any more', () => {
    const confined = { ...source, spec: { ...source.spec, allow: { namespaces: ['cart'] } } };
    const found = plan([object('ConfigMap', 'a')], many(1), { source: confined });
    expect(found).toMatchObject({ remove: [], kept: [expect.stringContaining('spec.allow.namespaces')] });
  });

  it('is none of our business where a controller copied the label', () => {
    const owner = { apiVersion: 'v1', kind: 'Service', name: 'web', uid: '1', controller: true };
    expect(plan([object('EndpointSlice', 'web-1', { ownerReferences: [owner] })], many(1))).toEqual(nothing);
  });

  it('waits while it is being deleted, and names who holds it', () => {
    const going = object('ConfigMap', 'a', {
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['example.com/wait'],
    });
    expect(plan([going], many(1)).waiting).toEqual(['a: is being deleted; example.com/wait holds it']);
  });
});

describe('guards', () => {
  it('ask where more than ten and more than a fifth would go, and an approval opens it', () => {
    const members = many(50);
    expect(plan(members, members.slice(0, 39))).toMatchObject({
      remove: [],
      guard: expect.stringContaining('fifth of its 50 objects'),
    });
    expect(plan(members, members.slice(0, 39)).toApprove).toHaveLength(11);
    expect(plan(members, members.slice(0, 39), { isApproved: () => true }).remove).toHaveLength(11);
    expect(plan(members, members.slice(0, 40)).remove).toHaveLength(10);
    expect(plan(many(100), many(85)).remove).toHaveLength(15);
  });

  it('judge all that left Git, not only what may go now', () => {
    const members = many(21);
    const keep = new Set(members.slice(0, 10).map(objectKey));
    const found = plan(members, members.slice(20), { keep });
    expect(found).toMatchObject({
      remove: [],
      waiting: [],
      guard: expect.stringContaining('fifth of its 21'),
    });
    expect(found.toApprove).toHaveLength(20);
    const approved = plan(members, members.slice(20), { keep, isApproved: () => true });
    expect([approved.remove.length, approved.waiting.length, approved.toApprove]).toEqual([10, 10, []]);
  });

  it('ask nobody for what others made with the label, however much it is', () => {
    const members = [...many(20), ...many(30, 'copy'), object('PersistentVolumeClaim', 'copy')];
    const found = plan(members, many(19));
    expect(found).toMatchObject({ remove: ['c19'], toApprove: [], guard: undefined });
    expect(found.kept).toHaveLength(31);
    expect(found.kept[0]).toBe('copy0: Holdfast did not write it, its label was copied');
  });

  it('are not made larger by objects with the label that stay', () => {
    const annotations = { 'holdfast.dev/prune': 'disabled' };
    const optedOut = many(100, 'more').map(({ metadata: { name } }) =>
      object('ConfigMap', name, { annotations }),
    );
    expect(plan([...many(20), ...optedOut], many(8))).toMatchObject({
      remove: [],
      guard: expect.stringContaining('fifth of its 20 objects'),
    });
  });

  it('ask where the commit holds nothing, however little there is', () => {
    expect(plan(many(1), [])).toMatchObject({ remove: [], toApprove: ['c0'] });
  });

  it('ask for kinds that take more with them, unless they say that they may go', () => {
    const enabled = { 'holdfast.dev/prune': 'enabled' };
    const members = [
      cluster('Namespace', 'a'),
      cluster('CustomResourceDefinition', 'b'),
      object('PersistentVolumeClaim', 'c'),
      cluster('Namespace', 'd', enabled),
      object('ConfigMap', 'e'),
      object('ConfigMap', 'f', {
        annotations: { 'argocd.argoproj.io/sync-options': 'Prune=confirm,Delete=confirm' },
      }),
    ];
    expect(plan(members, many(1))).toEqual({
      ...nothing,
      remove: ['d', 'e'],
      toApprove: ['a', 'b', 'c', 'f'],
    });
    expect(plan(members, many(1), { isApproved: () => true }).remove).toHaveLength(6);
  });
});

describe('Canaries and what they live by', () => {
  it('hand back before they go while their target stays', () => {
    const target = object('Deployment', 'web');
    expect(plan([canary, target], [target], { canaries: [canary] })).toEqual({
      ...nothing,
      handBack: ['web'],
    });
  });

  it('go first and without a hand-back where the target leaves too; the target waits for it', () => {
    const members = [canary, object('Deployment', 'web')];
    expect(plan(members, many(1), { canaries: [canary] })).toEqual({
      ...nothing,
      remove: ['web'],
      waiting: ['web: Canary shop/web needs it as long as it is there'],
    });
    expect(plan(members.slice(1), many(1))).toEqual({ ...nothing, remove: ['web'] });
  });

  it.each<[string, Record<string, string>, Partial<PruneInput>]>([
    ['it says that it stays', { 'holdfast.dev/prune': 'disabled' }, {}],
    ['another Source holds it', {}, { holderOf: () => 'shop/other' }],
    ['another Source may hold it', {}, { unknownHolderOf: () => 'shop/other' }],
    ['it waits for an approval', { 'argocd.argoproj.io/sync-options': 'Prune=confirm' }, {}],
  ])('hand back where the target left Git and stays: %s', (_, annotations, { holderOf, unknownHolderOf }) => {
    const members = [canary, object('Deployment', 'web', { annotations })];
    const ofTarget = (holder?: (key: string) => string | undefined) => (key: string) =>
      key.includes('Deployment') ? holder?.(key) : undefined;
    const found = plan(members, many(1), {
      canaries: [canary],
      holderOf: ofTarget(holderOf),
      unknownHolderOf: ofTarget(unknownHolderOf),
    });

    expect(found).toMatchObject({ remove: [], handBack: ['web'] });
  });

  it('keep their Services and routes as long as they are there', () => {
    const route = { ...object('HTTPRoute', 'front'), apiVersion: 'gateway.networking.k8s.io/v1' };
    const taken = {
      ...route,
      metadata: { ...route.metadata, annotations: { [takenOverAnnotation]: 'spec' } },
    };
    const members = [object('Service', 'front'), taken, object('ConfigMap', 'front')];
    const found = plan(members, [canary], { canaries: [canary] });
    expect(found.remove).toEqual(['front']);
    expect(found.waiting).toHaveLength(2);
  });

  it('keep config that a release lives by, or that pods of a workload read', () => {
    const reader: KubernetesObject = {
      ...object('Deployment', 'web'),
      spec: {
        template: {
          spec: {
            containers: [
              {
                name: 'app',
                envFrom: [
                  { configMapRef: { name: 'read' } },
                  { configMapRef: { name: 'optional', optional: true } },
                ],
              },
            ],
          },
        },
      },
    };
    const members = [
      reader,
      object('ConfigMap', 'read'),
      object('Secret', 'proven'),
      object('ConfigMap', 'old'),
      object('ConfigMap', 'optional'),
    ];
    const keep = new Set([objectKey(object('Secret', 'proven'))]);
    const found = plan(members, [reader], { keep });
    expect(found.remove).toEqual(['old', 'optional']);
    expect(found.waiting).toEqual([
      'read: Deployment shop/web reads it',
      'proven: a release that serves or can be rolled back to needs it',
    ]);
  });

  it('keep config that the next Jobs of a CronJob read', () => {
    const containers = [{ name: 'app', envFrom: [{ configMapRef: { name: 'read' } }] }];
    const nightly: KubernetesObject = {
      ...object('CronJob', 'nightly'),
      spec: { jobTemplate: { spec: { template: { spec: { containers } } } } },
    };
    const found = plan([nightly, object('ConfigMap', 'read'), object('ConfigMap', 'old')], [nightly]);
    expect(found.remove).toEqual(['old']);
    expect(found.waiting).toEqual(['read: CronJob shop/nightly reads it']);
  });
});
