import { expect, it } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import type { KubernetesObject, ObjectReference } from '../../api/kubernetes.ts';
import { type ApiError, localError } from '../../cluster/errors.ts';
import type { Connection } from '../../server/connection.ts';
import { logs } from './logs.ts';

/** The logs of Canaries `web` of these namespaces without pods, where the target of those that have an error cannot be read. */
function logsOf(namespaces: Readonly<Record<string, ApiError | undefined>>) {
  const client = {
    async get({ namespace = '' }: ObjectReference) {
      if (namespaces[namespace]) throw namespaces[namespace];
      return undefined;
    },
    list: async () => ({ items: [] }),
  };
  const canaries = Object.keys(namespaces).map(
    (namespace) => canaryDocument({}, { name: 'web', namespace }) as unknown as KubernetesObject,
  );
  const said: string[] = [];
  const options = { previous: false, tailLines: 10, follow: false, format: 'text' as const };
  const output = { out: () => undefined, err: (text: string) => void said.push(text) };
  const code = logs(
    { client } as unknown as Connection,
    canaries,
    { ...options, signal: new AbortController().signal } as Parameters<typeof logs>[2],
    output,
  );
  return { said, code };
}

const forbidden = localError('forbidden', 'get Deployment theirs/web: 403 Forbidden');

it('a namespace whose pods may not be read hides no other Canary, and is no success', async () => {
  const { said, code } = logsOf({ theirs: forbidden, ours: undefined });

  expect(await code).toBe(2);
  expect(said).toEqual([
    'Canary theirs/web: get Deployment theirs/web: 403 Forbidden\n',
    'Canary ours/web: it has no pods\n',
  ]);
});

it('that no Canary has a pod that fails is no error', async () => {
  expect(await logsOf({ ours: undefined, blog: undefined }).code).toBe(0);
});

it.each([
  ['the pods of the one Canary may not be read', { theirs: forbidden }, '403 Forbidden'],
  [
    'the API server does not answer',
    { ours: undefined, theirs: localError('transient', 'get Deployment theirs/web: 503') },
    '503',
  ],
])('it is an error where %s', async (_, namespaces, message) => {
  await expect(logsOf(namespaces).code).rejects.toThrow(message);
});
