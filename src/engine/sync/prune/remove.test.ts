import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type KubernetesObject, type ObjectReference, partOfLabel } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { createApplied } from '../../applied.ts';
import { applySetId } from '../../apply-set.ts';
import type { SyncContext } from '../context/context.ts';
import { carryOut } from './remove.ts';

const source: Source = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'shop' },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' } },
};

function member(name: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      ...{ name, namespace: 'shop', uid: name, resourceVersion: '1' },
      labels: { [partOfLabel]: applySetId(source) },
      managedFields: [{ manager: 'holdfast' }],
    },
  };
}

test('deletions that are refused are reported in one order, whichever answer comes first', async () => {
  const members = ['first', 'second'].map(member);
  const refusedAfterMs = async (delays: Readonly<Record<string, number>>) => {
    const cluster = {
      as: () => cluster,
      get: async ({ name }: ObjectReference) => members.find(({ metadata }) => metadata.name === name),
      async delete({ name }: ObjectReference) {
        await setTimeout(delays[name]);
        throw Object.assign(new Error('not allowed'), { kind: 'forbidden' });
      },
    };
    const rights = { isTrusted: () => true, protectedNamespaces: [] };
    const { signal } = new AbortController();
    const context = { parts: { cluster, rights, applied: createApplied('holdfast') }, source, signal };
    const plan = { remove: members, handBack: [], waiting: [], kept: [], toApprove: [], guard: undefined };
    return (await carryOut(context as unknown as SyncContext, plan, { all: [], members })).failures;
  };

  const one = await refusedAfterMs({ first: 30, second: 0 });
  const other = await refusedAfterMs({ first: 0, second: 30 });

  expect(one).toHaveLength(2);
  expect(other).toEqual(one);
});
