import { expect, test } from 'vitest';
import type { KubernetesObject, ObjectReference } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import { ApiError } from '../../cluster/errors.ts';
import { promotedInCluster } from './promoted-lookup.ts';

const source: Source = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'delivery' },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' } },
};
const forbidden = new ApiError('may not get it', {
  kind: 'forbidden',
  status: 403,
  reason: 'Forbidden',

  effectUnknown: false,
  fieldConflicts: [],
});

/** Answers for the Source, and for every Canary, in that way. */
function clusterWith(
  answers: Readonly<Record<'Source' | 'Canary', KubernetesObject | ApiError | undefined>>,
) {
  return {
    get: async ({ kind }: ObjectReference) => {
      const answer = answers[kind as 'Source' | 'Canary'];
      if (answer instanceof ApiError) throw answer;
      return answer;
    },
  };
}

function notesOf(cluster: ReturnType<typeof clusterWith>, keys: readonly string[]) {
  return promotedInCluster(cluster, { keys, source, baseCommit: 'a'.repeat(40) }).then(({ notes }) => notes);
}

test('a Source that may not be read is reported', async () => {
  const notes = await notesOf(clusterWith({ Source: forbidden, Canary: undefined }), ['shop/web']);
  expect(notes).toEqual([expect.stringContaining('cannot read Source delivery/shop from the cluster: ')]);
});

test('Canaries that may not be read are reported', async () => {
  const notes = await notesOf(clusterWith({ Source: undefined, Canary: forbidden }), ['shop/web']);
  expect(notes).toEqual([expect.stringContaining('cannot read 1 Canary from the cluster: ')]);
});

test('Canaries beyond the limit are counted in a note', async () => {
  const keys = Array.from({ length: 501 }, (_, index) => `shop/web-${index}`);
  const notes = await notesOf(clusterWith({ Source: undefined, Canary: undefined }), keys);
  expect(notes).toEqual([expect.stringContaining('500 of 501 Canaries')]);
});
