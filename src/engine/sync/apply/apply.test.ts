import { expect, test } from 'vitest';
import { type KubernetesObject, objectKey } from '../../../api/kubernetes.ts';
import { createApplied } from '../../applied.ts';
import type { SyncContext } from '../context/context.ts';
import { applyAll } from './apply.ts';

const source = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'shop', uid: 'u' },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' } },
};
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'policy', namespace: 'policies' },
  spec: {},
};
const webhook = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'policy' },
  webhooks: [{ name: 'a.example.com', clientConfig: { service: { name: 'policy', namespace: 'policies' } } }],
};

/** A cluster with these objects of the Source, and others that it does not hold yet; it refuses Deployments. */
function refusing(
  members: readonly KubernetesObject[],
  others: readonly KubernetesObject[] = [],
  refusal = 'exceeded quota',
) {
  const written: string[] = [];
  const cluster = {
    as: () => cluster,
    kindOf: async () => ({}),
    get: async () => undefined,
    async apply(object: KubernetesObject) {
      if (object.kind === 'Deployment') throw Object.assign(new Error(refusal), { kind: 'forbidden' });
      written.push(objectKey(object));
      return object;
    },
  };
  const parts = {
    ...{ cluster, clock: { nowMs: () => 0 }, canaries: () => [], applied: createApplied('holdfast') },
    rights: { isTrusted: () => true, protectedNamespaces: [] },
    presence: {
      read: async (object: KubernetesObject) => others.find((one) => objectKey(one) === objectKey(object)),
    },
  };
  const watch = {
    setOf: () => ({ get: (_: unknown, name: string) => members.find((one) => one.metadata.name === name) }),
  };
  const state = { left: new WeakMap() };
  const { signal } = new AbortController();
  return { written, context: { parts, source, state, watch, signal } as unknown as SyncContext };
}

const rest = [webhook, deployment].map((object) => ({ object, origin: { file: 'a.yaml', line: 1 } }));

test('a new webhook whose pods cannot come waits, so that it refuses nothing in the cluster', async () => {
  const { written, context } = refusing([]);
  const { failures } = await applyAll(context, rest as never);
  expect(written).toEqual([]);
  expect(failures.map(({ reason }) => reason)).toEqual(['Forbidden', 'BackendNotApplied']);
});

test('what the API server quotes of a secret is not reported, nor its beginning at a cut', async () => {
  const refusal = 'spec.host: Invalid value: "hunter2-long" (a webhook saw aHVudGVyMi1sb25n): it is hunter2…';
  const { context } = refusing([], [], refusal);
  const entries = rest.slice(1).map((entry) => ({ ...entry, secrets: ['hunter2-long', 'no'] }));
  const { failures } = await applyAll(context, entries as never);
  expect(failures.map(({ message }) => message)).toEqual([
    'a.yaml:1: Deployment policies/policy: spec.host: Invalid value: "***" (a webhook saw ***): it is ***…',
  ]);
});

test('one that is there already is kept as Git says', async () => {
  const { written, context } = refusing([webhook]);
  await applyAll(context, rest as never);
  expect(written).toEqual([objectKey(webhook)]);
});

test('a new webhook does not wait for a change of its pods that is refused', async () => {
  const pods = { ...deployment, metadata: { ...deployment.metadata, name: 'pods' } };
  const { written, context } = refusing([pods]);
  const entries = [webhook, pods].map((object) => ({ object, origin: { file: 'a.yaml', line: 1 } }));
  await applyAll(context, entries as never);
  expect(written).toEqual([objectKey(webhook)]);
});

test.each([
  ['webhook', webhook],
  ['workload', deployment],
])('a %s that is there, and that the Source takes over only now, keeps no webhook back', async (_, there) => {
  const { written, context } = refusing([], [there]);
  await applyAll(context, rest as never);
  expect(written).toEqual([objectKey(webhook)]);
});
