import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import { errorFromStatus, localError } from '../../cluster/errors.ts';
import type { RenderedObject } from '../../render/rendered-object.ts';
import { compareApplied, sourceDifferenceOf } from './source-difference.ts';

const settings = (data: Record<string, string>): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } },
  data,
});

test('what applying would take away is shown beside what it would change', () => {
  const wanted = settings({ level: 'debug' });
  const live = settings({ level: 'info', former: 'yes' });
  expect(compareApplied(live, { wanted, written: wanted } as Parameters<typeof compareApplied>[1])).toEqual({
    state: 'differs',
    fields: [
      { path: 'data.level', expected: 'debug', actual: 'info' },
      { path: 'data.former', expected: '(absent)', actual: 'yes' },
    ],
  });
});

test.each<readonly [string, object, object, object]>([
  ['adds', {}, { enabled: false }, { path: 'spec.enabled', expected: 'false', actual: undefined }],
  ['takes away', { enabled: false }, {}, { path: 'spec.enabled', expected: '(absent)', actual: 'false' }],
])(
  'a false that Git %s of a custom resource is shown: to its controller absence may mean true',
  (_, now, then, field) => {
    const proxy = (spec: object): KubernetesObject => ({
      ...{ apiVersion: 'example.com/v1', kind: 'Proxy', metadata: { name: 'web', namespace: 'shop' } },
      spec: { replicas: 1, ...spec },
    });
    const written = proxy(then);
    expect(
      compareApplied(proxy(now), { wanted: written, written } as Parameters<typeof compareApplied>[1]),
    ).toEqual({ state: 'differs', fields: [field] });
  },
);

test.each(['labels', 'annotations', 'finalizers'])('all %s that Git takes out are shown once', (field) => {
  const live = settings({});
  live.metadata[field] = field === 'finalizers' ? ['example.com/keep'] : { tier: 'web' };
  const wanted = settings({});
  const { fields } = compareApplied(live, { wanted, written: wanted } as Parameters<
    typeof compareApplied
  >[1]);
  expect(fields.map(({ path, expected }) => [path, expected])).toEqual([[`metadata.${field}`, '(absent)']]);
});

test.each(['finalizers', 'ownerReferences'])(
  '%s that Git says are shown: an apply would write them',
  (field) => {
    const written = settings({});
    written.metadata[field] = [field === 'finalizers' ? 'example.com/keep' : { kind: 'App', uid: '1' }];
    const { state, fields } = compareApplied(settings({}), { wanted: written, written } as Parameters<
      typeof compareApplied
    >[1]);
    expect([state, fields.map(({ path }) => path)]).toEqual(['differs', [`metadata.${field}`]]);
  },
);

const refusedBy = (status: number, message: string) =>
  errorFromStatus({ verb: 'apply', object: 'ConfigMap shop/settings', secret: false }, status, { message });

async function differenceOf(live: KubernetesObject | undefined, error: Error) {
  const client = { get: async () => live, apply: () => Promise.reject(error) };
  const source = { metadata: { name: 'shop', namespace: 'shop' }, spec: {} } as Source;
  const commit = { commit: 'c0ffee', subject: 'first' };
  const object = settings({ level: 'debug' });
  const rendered = { object, origin: { file: 'a.yaml', line: 1 } } as RenderedObject;
  const set = { source, commit, objects: [rendered], all: [object], problems: [] };
  const { objects } = await sourceDifferenceOf(client as Parameters<typeof sourceDifferenceOf>[0], set);
  return objects[0];
}

const denied = 'admission webhook "policy.example.com" denied the request: no debug';
const live = settings({ level: 'info' });

test.each<readonly [string, KubernetesObject | undefined, Error]>([
  ['is missing because the API server refuses it', undefined, refusedBy(422, 'data is invalid')],
  ['an admission webhook refuses', live, refusedBy(403, denied)],
  ['is missing because a quota is used up', undefined, refusedBy(403, 'is forbidden: exceeded quota: few')],
])('an object that %s is refused, with the reason', async (_, before, error) => {
  expect(await differenceOf(before, error)).toMatchObject({ state: 'refused', message: error.message });
});

test('an object whose namespace is missing is missing, and who may not ask is told', async () => {
  const notFound = localError('notFound', 'namespaces "shop" not found');
  expect(await differenceOf(undefined, notFound)).toMatchObject({ state: 'missing' });
  const forbidden = refusedBy(403, 'configmaps "settings" is forbidden: User "me" cannot patch it');
  await expect(differenceOf(live, forbidden)).rejects.toBe(forbidden);
});
