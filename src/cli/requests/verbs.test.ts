import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../api/clock.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Connection } from '../../server/connection.ts';
import { forTargets, type ObjectFlags, type RequestClient } from './request.ts';
import { abort, approve, ignoreWindow, promote, retry, rollback, skipStep } from './verb-table.ts';
import { request, type VerbCommand } from './verbs.ts';

function canaryNamed(name: string, status: object): KubernetesObject {
  const metadata = { name, namespace: 'shop', labels: { tier: 'web' } };
  return { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, spec: {}, status };
}

/** An API server with these Canaries, and a Holdfast that answers each request with Done. */
function clusterOf(...canaries: KubernetesObject[]) {
  const asked: string[] = [];
  const client = {
    get: async ({ name }: { name: string }) => canaries.find(({ metadata }) => metadata.name === name),
    list: async (_version: string, kind: string) => ({ items: kind === 'Canary' ? canaries : [] }),
    async patch({ name }: { name: string }, body: { metadata: { annotations: Record<string, string> } }) {
      const [[annotation = '', value = ''] = []] = Object.entries(body.metadata.annotations);
      const verb = annotation.replace(/^.*\//, '');
      const found = canaries.find(({ metadata }) => metadata.name === name);
      if (!found) return;
      asked.push(name);
      const answers = { [verb]: { result: 'Done', message: 'done' } };
      found.status = { ...(found.status as object), handled: { [verb]: value }, answers };
    },
  } as unknown as RequestClient;
  return { client, asked };
}

const noRelease = { phase: 'Succeeded' };
const options = { namespace: 'shop', revision: undefined, wait: false, timeoutMs: 120_000 } as const;

it.each<[VerbCommand, string]>([
  [promote, 'NotApplicable'],
  [approve, 'NotApplicable'],
  [skipStep, 'NotApplicable'],
  [ignoreWindow, 'NotApplicable'],
  [abort, 'NotApplicable'],
  [retry, 'NotApplicable'],
  [rollback, 'NotKept'],
])(
  '$name that does not fit the state is refused: exit code 1, as when the controller refuses it',
  async (spec, reason) => {
    const { client, asked } = clusterOf(canaryNamed('web', noRelease));

    const text = await request(client, systemClock, spec, { ...options, name: 'web', format: 'text' });
    const json = await request(client, systemClock, spec, { ...options, name: 'web', format: 'json' });

    expect(text).toMatchObject({ exitCode: 1, stdout: '' });
    expect(text.stderr).toContain(`Canary shop/web: refused (${reason}): `);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'Error', exitCode: 1, reason });
    expect(asked).toEqual([]);
  },
);

it('a Canary that a request does not fit keeps none of the others with the labels from it', async () => {
  const run = { digest: 'v1:2', commit: 'b'.repeat(40) };
  const { client, asked } = clusterOf(
    canaryNamed('api', { phase: 'Progressing', run }),
    canaryNamed('idle', noRelease),
    canaryNamed('web', { phase: 'Progressing', run: { ...run } }),
  );
  const connection = { access: { namespace: 'shop' }, client } as unknown as Connection;
  const flags = { selector: 'tier=web', output: 'json' } as ObjectFlags;

  const result = await forTargets(connection, 'Canary', { subject: undefined, flags }, (target) =>
    request(client, systemClock, abort, { ...options, ...target, format: 'json' }),
  );

  expect(asked).toEqual(['api', 'web']);
  expect(result.exitCode).toBe(1);
  const { items } = parse(result.stdout) as { items: Array<{ kind: string }> };
  expect(items.map(({ kind }) => kind)).toEqual(['RequestResult', 'Error', 'RequestResult']);
});
