import { beforeAll, describe, expect, inject, test } from 'vitest';
import { pruneAndDefault } from '../../sandbox/api-server/structural-schema.ts';
import { allCrds, objectSchemaOf } from '../../src/api/kinds/crd.ts';
import { type KindName, kinds } from '../../src/api/kinds/kinds.ts';
import { parseKind } from '../../src/api/kinds/parse.ts';
import type { Condition, KubernetesObject } from '../../src/api/kubernetes.ts';
import { canaryDocument } from '../documents/builders.ts';
import { flaggerFields } from '../documents/flagger-fields.ts';
import { documentRows } from '../documents/kinds.ts';
import { type ApiClient, createApiClient } from './bed/api-client.ts';

let client: ApiClient;

beforeAll(() => {
  const bed = inject('bed');
  client = createApiClient({
    server: bed.apiServer,
    ca: bed.ca,
    token: bed.adminToken,
    userAgent: 'crds-test',
  });
});

function crdPath(crd: KubernetesObject): string {
  return `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`;
}

async function conditionsOf(crd: KubernetesObject): Promise<Condition[]> {
  const { status } = await client.request<{ status?: { conditions?: Condition[] } }>('GET', crdPath(crd));
  return status?.conditions ?? [];
}

function collectionPath(object: Record<string, unknown>): string {
  const { group, version, plural } = kinds[object.kind as KindName];
  return `/apis/${group}/${version}/namespaces/default/${plural}`;
}

/** Asks the API server without storing anything; Strict refuses fields that the schema does not know. */
function tryToCreate(object: Record<string, unknown>): Promise<KubernetesObject> {
  return client.request('POST', `${collectionPath(object)}?dryRun=All&fieldValidation=Strict`, object);
}

/** A spec as the API server has to store it. */
function withDefaults(kind: KindName, spec: unknown): unknown {
  return pruneAndDefault(spec, { ...objectSchemaOf(kind).properties?.spec });
}

describe('the CRDs on an API server', () => {
  test.each(allCrds())('$metadata.name is structural', async (crd) => {
    const types = (await conditionsOf(crd)).filter(({ status }) => status === 'True').map(({ type }) => type);
    expect(types.sort()).toEqual(['Established', 'NamesAccepted']);
  });

  test.each(flaggerFields().filter(({ kind }) => Object.hasOwn(kinds, kind)))(
    'take $kind $metadata.name of the documents of every field',
    async (object) => {
      const metadata = { ...object.metadata, namespace: 'default' };
      const stored = await tryToCreate({ ...object, metadata });
      expect(stored.spec).toEqual(withDefaults(object.kind as KindName, object.spec));
    },
  );

  test.each(documentRows.filter((row) => !row.refusedAt))(
    'take $name and store what the parser reads, with no defaults but Flagger’s',
    async ({ object }) => {
      const stored = await tryToCreate(object);
      const parsed = parseKind(object.kind as KindName, JSON.parse(JSON.stringify(object)), { strict: true });
      expect(stored.spec).toEqual(parsed.ok && withDefaults(object.kind as KindName, parsed.value.spec));
    },
  );

  test.each(documentRows.filter((row) => row.refusedAt))('refuse $name', async ({ object }) => {
    await expect(tryToCreate(object)).rejects.toMatchObject({ status: 422 });
  });
});

describe('the status of a Canary', () => {
  const path = '/apis/flagger.app/v1beta1/namespaces/default/canaries';
  const name = 'crds-test';

  beforeAll(async () => {
    await client.request('POST', path, canaryDocument({}, { name }));
    return async () => {
      await client.request('DELETE', `${path}/${name}`);
    };
  });

  function writeStatus(status: Record<string, unknown>): Promise<KubernetesObject> {
    return client.request(
      'PATCH',
      `${path}/${name}/status`,
      { status },
      {
        'content-type': 'application/merge-patch+json',
      },
    );
  }

  test('keeps the books of the rollout core whatever they hold, and drops what nobody knows', async () => {
    const run = { digest: 'v1:a', step: 1, probes: [{ deep: { er: true } }] };
    const stored = await writeStatus({ run, unheardOf: 1 });
    expect(stored.status).toEqual({ run });
  });

  test.each([
    [{ message: 'x'.repeat(161) }],
    [{ phase: 'Held' }],
    [
      {
        history: Array.from({ length: 11 }, () => ({
          digest: 'd',
          commit: '',
          result: 'Failed',
          endTime: '2026-01-01T00:00:00Z',
        })),
      },
    ],
    [{ lastTransitionTime: 'yesterday' }],
  ])('is refused beyond its bounds (%#)', async (status) => {
    await expect(writeStatus(status)).rejects.toMatchObject({ status: 422 });
  });

  test('shows in the columns, of which Flagger has the first and -o wide the others', async () => {
    const time = '2026-01-01T00:00:00Z';
    await writeStatus({
      phase: 'Promoting',
      canaryWeight: 100,
      lastTransitionTime: time,
      lastAppliedCommit: 'c0ffee0d15ea5e',
      shortCommit: 'c0ffee0',
      serving: [
        { workload: 'shop', digest: 'v1:a', commit: 'c0ffee', subject: 'Sell tea', weight: 100, ready: 2 },
      ],
      next: { action: 'revert', time },
      conditions: [{ type: 'Ready', status: 'False', reason: 'Held', message: '' }],
    });
    const table = await client.request<{
      columnDefinitions: Array<{ name: string; priority: number }>;
      rows: Array<{ cells: unknown[] }>;
    }>('GET', `${path}/${name}`, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    const cells = table.columnDefinitions.map(({ priority }, index) => ({
      priority,
      cell: table.rows[0]?.cells[index],
    }));
    const shown = cells.filter(({ priority }) => priority === 0).map(({ cell }) => cell);
    expect(shown).toEqual([name, 'Promoting', '100', time]);
    const wide = cells.filter(({ priority }) => priority > 0).map(({ cell }) => cell);
    expect(wide).toEqual(expect.arrayContaining(['Sell tea', 'c0ffee0', 'Held', 'revert']));
  });
});
