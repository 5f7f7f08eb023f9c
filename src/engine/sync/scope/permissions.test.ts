import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { createAccountRights, type SourceRights, whyNotAllowed, writerOf } from './permissions.ts';

function source(allow: Source['spec']['allow']): Source {
  const metadata = { name: 'shop', namespace: 'shop' };
  const spec = {
    url: 'https://git.example.com/shop.git',
    ref: { branch: 'main' },
    ...(allow ? { allow } : {}),
  };
  return { apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', metadata, spec };
}

function object(apiVersion: string, kind: string, namespace?: string, name = 'a'): KubernetesObject {
  return { apiVersion, kind, metadata: { name, ...(namespace ? { namespace } : {}) } };
}

const deployment = object('apps/v1', 'Deployment', 'shop');
const binding = object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding');

it.each<[string, Source['spec']['allow'], KubernetesObject]>([
  ['everything without a list', undefined, binding],
  ['its namespaces', { namespaces: ['shop'] }, deployment],
  ['kube-system where it is named', { namespaces: ['kube-system'] }, object('v1', 'Secret', 'kube-system')],
  ['kinds with and without their group', { kinds: ['Deployment.apps'] }, deployment],
  ['the same', { kinds: ['Deployment'] }, deployment],
  [
    'a namespace that it may write to',
    { namespaces: ['shop'] },
    object('v1', 'Namespace', undefined, 'shop'),
  ],
  [
    'a kind without namespace that is named',
    { namespaces: ['shop'], kinds: ['ClusterRoleBinding'] },
    binding,
  ],
])('allows %s', (_, allow, wanted) => {
  expect(whyNotAllowed(source(allow), wanted)).toBeUndefined();
});

it.each<[string, Source['spec']['allow'], KubernetesObject, RegExp]>([
  ['kube-system by default', undefined, object('v1', 'Secret', 'kube-system'), /kube-system/],
  ['other namespaces', { namespaces: ['cart'] }, deployment, /namespace shop/],
  ['other kinds', { kinds: ['ConfigMap', 'Deployment.extensions'] }, deployment, /kind Deployment/],
  [
    'what is in no namespace where it is confined to some',
    { namespaces: ['shop'] },
    binding,
    /spec\.allow\.kinds/,
  ],
  ['another Namespace', { namespaces: ['shop'] }, object('v1', 'Namespace', undefined, 'cart'), /cart/],
])('refuses %s', (_, allow, wanted, message) => {
  expect(whyNotAllowed(source(allow), wanted)).toMatch(message);
});

const rights: SourceRights = {
  isTrusted: () => false,
  areFromFiles: false,
  crossNamespaceRefs: false,
  ownNamespace: 'holdfast-system',
  protectedNamespaces: ['kube-system', 'holdfast-system'],
};
const trusting: SourceRights = { ...rights, isTrusted: () => true };
const named = (serviceAccountName: string): Source => ({
  ...source(undefined),
  spec: { ...source(undefined).spec, serviceAccountName },
});
const inNamespace = (namespace: string): Source => ({
  ...source(undefined),
  metadata: { name: 'shop', namespace },
});
const everywhere = {
  namespaces: ['shop', 'cart', 'kube-system', 'holdfast-system'],
  kinds: ['Secret', 'Lease', 'Namespace'],
};
const secretIn = (namespace: string, name = 'a') => object('v1', 'Secret', namespace, name);

it.each<[string, Source, SourceRights, ReturnType<typeof writerOf>]>([
  [
    'the account that it names',
    named('deployer'),
    trusting,
    { kind: 'account', user: 'system:serviceaccount:shop:deployer' },
  ],
  [
    'Holdfast where an administrator trusts it',
    source(undefined),
    trusting,
    { kind: 'holdfast', user: undefined },
  ],
  [
    'the account of the flag',
    source(undefined),
    { ...rights, defaultServiceAccount: 'nobody' },
    { kind: 'account', user: 'system:serviceaccount:shop:nobody' },
  ],
  [
    'a fixed account of its own namespace otherwise',
    source(undefined),
    rights,
    { kind: 'default', user: 'system:serviceaccount:shop:holdfast-source' },
  ],
])('a Source is written by %s', (_, wanted, given, writer) => {
  expect(writerOf(wanted, given)).toEqual(writer);
});

it.each<[string, Source, SourceRights, KubernetesObject]>([
  ['its own namespace without an account', source(undefined), rights, deployment],
  ['other namespaces as an account', named('deployer'), rights, secretIn('cart')],
  ['other namespaces where it is trusted', source(undefined), trusting, secretIn('cart')],
  [
    'Namespaces where it is trusted',
    source(undefined),
    trusting,
    object('v1', 'Namespace', undefined, 'cart'),
  ],
  [
    'kube-system from a file that names it',
    source(everywhere),
    { ...trusting, areFromFiles: true },
    secretIn('kube-system'),
  ],
])('lets a Source write %s', (_, wanted, given, written) => {
  expect(whyNotAllowed(wanted, written, given)).toBeUndefined();
});

const bothWaysOut = /spec\.serviceAccountName.*--trusted-source-namespaces shop/;

it.each<[string, Source, SourceRights, KubernetesObject, RegExp]>([
  [
    'another namespace without an account, also where allow names it',
    source(everywhere),
    rights,
    secretIn('cart'),
    bothWaysOut,
  ],
  ['what is in no namespace without an account', source(undefined), rights, binding, bothWaysOut],
  [
    'its own Namespace without an account',
    source(undefined),
    rights,
    object('v1', 'Namespace', undefined, 'shop'),
    bothWaysOut,
  ],
  [
    'kube-system from within',
    inNamespace('kube-system'),
    rights,
    secretIn('kube-system'),
    /kube-system writes nothing/,
  ],
  [
    'the namespace of Holdfast from within',
    inNamespace('holdfast-system'),
    rights,
    secretIn('holdfast-system'),
    /writes nothing/,
  ],
  [
    'the namespace of Holdfast where it is trusted',
    source(everywhere),
    trusting,
    secretIn('holdfast-system'),
    /closed to Sources/,
  ],
  [
    'kube-system where it is trusted',
    source(everywhere),
    trusting,
    secretIn('kube-system'),
    /closed to Sources/,
  ],
  [
    'the labels of the Namespace of Holdfast where it is trusted',
    source(everywhere),
    trusting,
    object('v1', 'Namespace', undefined, 'holdfast-system'),
    /closed to Sources/,
  ],
  [
    'the key, whoever writes',
    named('root'),
    rights,
    secretIn('holdfast-system', 'holdfast-key'),
    /belongs to Holdfast/,
  ],
  [
    'the Lease, also from a file',
    source(everywhere),
    { ...trusting, areFromFiles: true },
    object('coordination.k8s.io/v1', 'Lease', 'holdfast-system', 'holdfast'),
    /belongs to Holdfast/,
  ],
])('keeps a Source from writing %s', (_, wanted, given, written, message) => {
  expect(whyNotAllowed(wanted, written, given)).toMatch(message);
});

it('forgets whether an account may write an object once that is to be asked anew', async () => {
  let nowMs = 0;
  const answers: Array<WeakRef<Promise<boolean>>> = [];
  const asked: string[] = [];
  const account = {
    mayPatch({ name = '' }: { name?: string }) {
      const answer = Promise.resolve(name !== '');
      answers.push(new WeakRef(answer));
      asked.push(name);
      return answer;
    },
  };
  const cluster = { as: () => account } as unknown as Cluster;
  const rights = createAccountRights({ cluster, clock: { nowMs: () => nowMs } });
  const mayWrite = (name: string) =>
    rights.mayWrite('deployer', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: 'shop' },
    });

  for (const name of ['first', 'first', 'second', 'third']) expect(await mayWrite(name)).toBe(true);
  expect(asked).toEqual(['', 'first', 'second', 'third']);
  nowMs = 120_000;
  await mayWrite('fourth');
  await setImmediate();
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();

  const kept = answers.map((answer) => answer.deref() !== undefined);
  expect(kept).toEqual([false, false, false, false, true, true]);
});
