import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { canaryView, changesOf, fieldChanges, podsOf } from './canary-view.ts';
import { canaryRow, withoutCredentials } from './rows.ts';

test('fields are identified by the names of their entries, in any order', () => {
  const before = {
    containers: [{ name: 'web', image: 'web:1', env: [{ name: 'A', value: '1' }] }, { name: 'log' }],
  };
  const after = { containers: [{ name: 'log' }, { name: 'web', image: 'web:2', ports: [80] }] };
  expect(fieldChanges(before, after)).toEqual([
    { path: 'containers[web].env[A].name', before: 'A', after: undefined },
    { path: 'containers[web].env[A].value', before: '1', after: undefined },
    { path: 'containers[web].image', before: 'web:1', after: 'web:2' },
    { path: 'containers[web].ports[0]', before: undefined, after: '80' },
  ]);
});

test('an owner takes one short line of a list, whatever a tenant writes there', () => {
  const metadata = {
    name: 'web',
    namespace: 'shop',
    annotations: { 'holdfast.dev/owner': 'x'.repeat(250_000) },
  };
  const row = canaryRow({ apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata }, () => undefined);
  expect(row.owner.length).toBeLessThan(200);
  expect(row.owner).toMatch(/^x+…$/);
});

test('a different name on the other side is no change', () => {
  const ownName = (text: string) => text.replace(/-primary$/, '');
  expect(fieldChanges({ app: 'web-primary' }, { app: 'web' }, ownName)).toEqual([]);
});

test('of a release that changes more than a page lists, the page says how much more', () => {
  const workload = (keys: number) => {
    const labels = Object.fromEntries(Array.from({ length: keys }, (_, index) => [`key${index}`, 'x']));
    const metadata = { name: 'web', namespace: 'shop' };
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { template: { metadata: { labels } } },
    };
  };
  const changes = (keys: number) => {
    const status = { run: { digest: 'v1:2' } };
    const canary = { ...workload(0), kind: 'Canary', status };
    return changesOf(canary, { target: workload(keys), primary: workload(0) });
  };
  expect(changes(201)).toEqual({ value: expect.objectContaining({ length: 200 }), more: 1 });
  expect(changes(200)).toEqual({ value: expect.objectContaining({ length: 200 }) });
});

test('two templates are compared once, however often their page is looked at, and again when one of them changes', () => {
  let read = 0;
  const workload = (image: string) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      get template() {
        read += 1;
        return { spec: { containers: [{ name: 'web', image }] } };
      },
    },
  });
  const canary = { ...workload(''), kind: 'Canary', status: { run: { digest: 'v1:2' } } };
  const [primary, target] = [workload('web:1'), workload('web:2')];
  const look = (sides: Parameters<typeof changesOf>[1]) => changesOf(canary, sides);
  const changed = { value: [{ path: 'containers[web].image', before: 'web:1', after: 'web:2' }] };

  for (let looks = 0; looks < 100; looks += 1) expect(look({ primary, target })).toEqual(changed);
  expect(read).toBe(2);

  expect(look({ primary, target: workload('web:1') })).toEqual({ value: [] });
  expect(look({ primary: target, target })).toEqual({ value: [] });
});

test('a value of a quarter of a megabyte is cut on the page', () => {
  const workload = (text: string) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { template: { spec: { containers: [{ name: 'web', args: [text] }] } } },
  });
  const canary = { ...workload(''), kind: 'Canary', status: { run: { digest: 'v1:2' } } };

  const changes = changesOf(canary, { primary: workload('short'), target: workload('x'.repeat(250_000)) });

  const [change] = 'value' in changes ? changes.value : [];
  expect(change?.before).toBe('short');
  expect(change?.after).toMatch(/^x{500,2000}…$/);
});

test('pods that only carry the labels of a workload, as those of a Job may, are not shown as its own', () => {
  const workload = (kind: string, uid: string): KubernetesObject => ({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'web', namespace: 'shop', uid },
    spec: { selector: { matchLabels: { app: 'web' } } },
  });
  const pod = (name: string, kind: string, owner: string): KubernetesObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'shop',
      labels: { app: 'web', 'pod-template-hash': '6d5b2448f9' },
      ownerReferences: [{ apiVersion: 'v1', kind, name: owner, uid: `${kind} ${owner}`, controller: true }],
    },
  });
  const pods = [
    pod('of-deployment', 'ReplicaSet', 'web-6d5b2448f9'),
    pod('of-daemon-set', 'DaemonSet', 'web'),
    pod('of-job', 'Job', 'web-migration'),
    pod('of-other-deployment', 'ReplicaSet', 'web-shop-6d5b2448f9'),
  ];
  const shown = (target: KubernetesObject) =>
    podsOf(pods, { target, primary: undefined }).map(({ name }) => name);

  expect(shown(workload('Deployment', 'any'))).toEqual(['of-deployment']);
  expect(shown(workload('DaemonSet', 'DaemonSet web'))).toEqual(['of-daemon-set']);
});

test.each([
  {
    name: 'a release that failed, with what was found then',
    status: {
      phase: 'Failed',
      message: 'v2 was rejected',
      lastAppliedCommit: 'b2',
      incidents: [{ commit: 'b2', finding: 'request-success-rate is 91 %' }],
    },
    shown: { message: 'v2 was rejected', why: 'request-success-rate is 91 %' },
  },
  {
    name: 'a problem for a person',
    status: {
      phase: 'Progressing',
      message: 'Waiting for pods',
      conditions: [
        { type: 'Stalled', status: 'True', reason: 'ScalerInvalid', message: 'the scaler has no target' },
      ],
    },
    shown: { message: 'Waiting for pods', why: 'the scaler has no target' },
  },
  {
    name: 'what nobody has looked at',
    status: {},
    shown: {
      message: 'not reconciled by Holdfast yet; holdfast check and holdfast events say why',
      why: '',
    },
  },
])('the page says of a Canary what the command line says: $name', ({ status, shown }) => {
  const metadata = { name: 'web', namespace: 'shop' };
  const canary = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status };
  expect(canaryRow(canary, () => undefined)).toMatchObject(shown);
});

test('a Canary whose reason is of another version is shown without advice', () => {
  const conditions = [{ type: 'Ready', status: 'False', reason: 'FromTheFuture', message: 'it waits' }];
  const canary: KubernetesObject = {
    ...{ apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata: { name: 'web', namespace: 'shop' } },
    spec: { targetRef: { name: 'web' } },
    status: { conditions },
  };
  const nothing = { missing: '' };
  const view = canaryView(canary, {
    ...{ sourceOf: () => undefined, timeline: nothing, requests: [], pods: nothing, changes: nothing },
    documentation: undefined,
  } as unknown as Parameters<typeof canaryView>[1]);
  expect(view).toMatchObject({ advice: '', conditions });
});

test.each([
  ['https://ghp_token@git.example/shop.git', 'https://git.example/shop.git'],
  ['https://user:word@git.example/shop.git', 'https://git.example/shop.git'],
  ['ssh://git@git.example/shop.git', 'ssh://git@git.example/shop.git'],
  ['git@git.example:shop.git', 'git@git.example:shop.git'],
])('the page shows %s without credentials', (url, shown) => {
  expect(withoutCredentials(url)).toBe(shown);
});
