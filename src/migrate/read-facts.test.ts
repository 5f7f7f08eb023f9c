import { expect, test } from 'vitest';
import {
  groupKindsAnnotation,
  type KubernetesObject,
  namespacesAnnotation,
  partOfLabel,
} from '../api/kubernetes.ts';
import { ApiError } from '../cluster/errors.ts';
import { applySetId } from '../engine/apply-set.ts';
import type { Connection } from '../server/connection.ts';
import { readFacts } from './read-facts.ts';

const namespaces = Array.from({ length: 40 }, (_, index) => `team-${index}`);

const source: KubernetesObject = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: {
    name: 'apps',
    namespace: 'team-0',
    annotations: {
      [groupKindsAnnotation]: 'ConfigMap,Secret',
      [namespacesAnnotation]: namespaces.slice(1).join(','),
    },
  },
};

function anObject(kind: string, namespace: string): KubernetesObject {
  const labels = { [partOfLabel]: applySetId(source) };
  return { apiVersion: 'v1', kind, metadata: { name: 'settings', namespace, labels } };
}

/** A cluster whose namespaces have one object each, and one more namespace that is none of the Source's. */
function aCluster(mayListAll: boolean): { connection: Connection; lists: () => number } {
  let lists = 0;
  const client = {
    find: async (group: string, kind: string) =>
      group === '' || kind === 'Source' ? { apiVersion: 'v1', namespaced: true } : undefined,
    get: async ({ kind }: { kind: string }) => (kind === 'Source' ? source : undefined),
    async list(_: string, kind: string, { namespace }: { namespace?: string } = {}) {
      if (kind === 'Source') return { items: [] };
      lists += 1;
      if (namespace === undefined && !mayListAll)
        throw new ApiError('forbidden', {
          kind: 'forbidden',
          status: 403,
          reason: 'Forbidden',
          effectUnknown: false,
          fieldConflicts: [],
        });
      const all = [...namespaces, 'other'].map((one) => anObject(kind, one));
      return { items: all.filter(({ metadata }) => !namespace || metadata.namespace === namespace) };
    },
  };
  return { connection: { client } as unknown as Connection, lists: () => lists };
}

test.each([
  ['one list for each kind', true, 2],
  ['where only namespaces may be listed, one for each', false, 82],
])('the members of a Source in many namespaces cost %s', async (_, mayListAll, cost) => {
  const { connection, lists } = aCluster(mayListAll);
  const former = { kind: 'Application', namespace: 'team-0', name: 'apps' } as const;

  const { ownMembers } = await readFacts(connection, { former, dependsOn: [] });

  const found = ownMembers.map(({ reference }) => `${reference.kind} ${reference.namespace}`);
  expect(found.sort()).toEqual(
    ['ConfigMap', 'Secret'].flatMap((kind) => namespaces.map((one) => `${kind} ${one}`)).sort(),
  );
  expect(lists()).toBe(cost);
});

test.each([
  ['prunes by itself', { automated: { prune: true } }, true],
  ['has automated sync turned off', { automated: { prune: true, enabled: false } }, false],
  ['never prunes', { automated: { prune: true }, syncOptions: ['Prune=false'] }, false],
])('a parent Application that %s deletes what leaves its files, or not', async (_, syncPolicy, prunes) => {
  const metadata = {
    name: 'apps',
    namespace: 'argocd',
    annotations: { 'argocd.argoproj.io/tracking-id': 'root:x' },
  };
  const application = (name: string): KubernetesObject => ({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { ...metadata, name },
    spec: { syncPolicy },
  });
  const client = {
    find: async (_group: string, kind: string) =>
      kind === 'Application' ? { apiVersion: 'argoproj.io/v1alpha1', namespaced: true } : undefined,
    get: async ({ name }: { name: string }) => application(name),
    list: async () => ({ items: [] }),
  };
  const connection = { client } as unknown as Connection;
  const former = { kind: 'Application', namespace: 'argocd', name: 'apps' } as const;

  const { parent } = await readFacts(connection, { former, dependsOn: [] });

  expect(parent).toMatchObject({ name: 'application root', prunes });
});

test.each([
  ['that prunes', { prune: true }, true],
  ['that is suspended', { prune: true, suspend: true }, false],
])('a parent Source %s deletes what leaves its files, or not', async (_, spec, prunes) => {
  const labels = { [partOfLabel]: applySetId(source) };
  const child: KubernetesObject = {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata: { name: 'child', namespace: 'flux-system', labels },
  };
  const client = {
    find: async (_group: string, kind: string) =>
      kind === 'Source' || kind === 'Kustomization' ? { apiVersion: 'v1', namespaced: true } : undefined,
    get: async ({ kind }: { kind: string }) => (kind === 'Kustomization' ? child : undefined),
    list: async (__: string, kind: string) => ({ items: kind === 'Source' ? [{ ...source, spec }] : [] }),
  };
  const connection = { client } as unknown as Connection;
  const former = { kind: 'Kustomization', namespace: 'flux-system', name: 'child' } as const;

  const { parent } = await readFacts(connection, { former, dependsOn: [] });

  expect(parent).toMatchObject({ prunes, look: 'holdfast sync source/apps -n team-0' });
});
