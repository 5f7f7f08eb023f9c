import { expect, it } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import type { KubernetesObject, ObjectReference } from '../../api/kubernetes.ts';
import { localError } from '../../cluster/errors.ts';
import type { Connection } from '../../server/connection.ts';
import { logs } from './logs.ts';

it('a namespace whose pods may not be read hides no other Canary, and is no success', async () => {
  const client = {
    async get({ namespace }: ObjectReference) {
      if (namespace === 'theirs') throw localError('forbidden', 'get Deployment theirs/web: 403 Forbidden');
      return undefined;
    },
    list: async () => ({ items: [] }),
  };
  const canaries = ['theirs', 'ours'].map(
    (namespace) => canaryDocument({}, { name: 'web', namespace }) as unknown as KubernetesObject,
  );
  const said: string[] = [];
  const options = { previous: false, tailLines: 10, follow: false, format: 'text' as const };
  const output = { out: () => undefined, err: (text: string) => void said.push(text) };

  const code = await logs(
    { client } as unknown as Connection,
    canaries,
    { ...options, signal: new AbortController().signal } as Parameters<typeof logs>[2],
    output,
  );

  expect(said).toEqual([
    'Canary theirs/web: get Deployment theirs/web: 403 Forbidden\n',
    'Canary ours/web: it has no pods\n',
  ]);
  expect(code).toBe(2);
});
