import { expect, test } from 'vitest';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { storedChanges } from './release-changes.ts';

test('a release that waits to start has no record yet, and is not said to have lost it', async () => {
  const asked = async (phase: string) => {
    const run = { digest: 'v1:b', commit: 'b'.repeat(40) };
    const lastKnownGood = { digest: 'v1:a', commit: 'a'.repeat(40) };
    const metadata = { namespace: 'shop', name: 'web' };
    const status = { phase, run, lastKnownGood };
    // No Secret of a release is in this cluster.
    const client = { get: async () => undefined, list: async () => ({ items: [] }) };
    const canary = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status };
    return (await storedChanges(client as unknown as ClusterClient, canary))?.notes;
  };
  expect(await asked('Waiting')).toEqual([
    'bbbbbbb is kept in the cluster once it starts; until then holdfast plan shows in Git what it changes',
  ]);
  expect(await asked('Progressing')).toEqual([expect.stringContaining('with the release is gone')]);
});
