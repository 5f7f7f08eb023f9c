import { expect, it, test } from 'vitest';
import { parseSource } from '../../api/kinds/parse.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { firstSource } from '../to-source.ts';
import { prunesByItself, readCredentials, sourceOfArgo } from './source.ts';

function application(
  source: Record<string, unknown> = {},
  spec: Record<string, unknown> = {},
): KubernetesObject {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'shop', namespace: 'argocd' },
    spec: {
      project: 'default',
      source: {
        repoURL: 'https://git.example.com/apps.git',
        targetRevision: 'main',
        path: 'shop',
        ...source,
      },
      destination: { server: 'https://kubernetes.default.svc', namespace: 'shop' },
      ...spec,
    },
  };
}

it('carries everything that a Source can say, and the Source is valid', () => {
  const helm = { releaseName: 'web', valueFiles: ['prod.yaml'], values: 'replicas: 2\n' };
  const carried = sourceOfArgo(application({ helm }), {
    name: 'shop-repository',
    hasKnownHosts: false,
  });
  expect(carried.stops).toEqual([]);
  expect(carried.spec).toEqual({
    url: 'https://git.example.com/apps.git',
    ref: { branch: 'main' },
    path: './shop',
    secretRef: { name: 'shop-repository' },
    defaultNamespace: 'shop',
    helm: { releaseName: 'web', valuesFiles: ['prod.yaml'], values: { replicas: 2 } },
    prune: false,
  });
  const former = { kind: 'Application', namespace: 'argocd', name: 'shop' } as const;
  expect(parseSource(firstSource(former, carried.spec, true), { strict: true })).toMatchObject({ ok: true });
});

test.each([
  ['charts/shop', '../../values/prod.yaml'],
  ['./', 'values/prod.yaml'],
])('a values file from the root of the repository is named from the chart at %s', (path, file) => {
  const { spec } = sourceOfArgo(
    application({ path, helm: { valueFiles: ['/values/prod.yaml', 'own.yaml'] } }),
    undefined,
  );
  expect(spec.helm?.valuesFiles).toEqual([file, 'own.yaml']);
});

test('values in a text are those that Helm reads', () => {
  const values = 'debug: no\nmode: 0644\nlabels: &labels {a: "1"}\nmore: {<<: *labels, b: "2"}\n';
  expect(sourceOfArgo(application({ helm: { values } }), undefined).spec.helm?.values).toEqual({
    debug: false,
    mode: 0o644,
    labels: { a: '1' },
    more: { a: '1', b: '2' },
  });
  const nothing = sourceOfArgo(application({ helm: { values: '# none yet\n' } }), undefined);
  expect([nothing.stops, nothing.spec.helm?.values]).toEqual([[], undefined]);
});

test.each([
  ['main', { branch: 'main' }],
  ['v1.2.3', { tag: 'v1.2.3' }],
  ['refs/heads/1.0.0', { branch: '1.0.0' }],
  ['refs/tags/stable', { tag: 'stable' }],
  ['1.x', { semver: '1.x' }],
  ['v1.2.*', { semver: 'v1.2.*' }],
  ['release-1.x', { branch: 'release-1.x' }],
  ['>=1.0.0', { semver: '>=1.0.0' }],
  ['1.2.0 - 1.4.0', { semver: '1.2.0 - 1.4.0' }],
  ['a'.repeat(40), { commit: 'a'.repeat(40) }],
])('the revision %s', (targetRevision, ref) => {
  expect(sourceOfArgo(application({ targetRevision }), undefined).spec.ref).toEqual(ref);
});

test.each<readonly [string, Record<string, unknown>, Record<string, unknown>]>([
  ['spec.source.targetRevision', { targetRevision: 'HEAD' }, {}],
  // Argo CD takes it for the beginning of a commit, unless there is a branch or tag of that name.
  ['spec.source.targetRevision', { targetRevision: '1a2b3c4' }, {}],
  ['spec.source.chart', { chart: 'web' }, {}],
  ['spec.source.plugin', { plugin: { name: 'own' } }, {}],
  ['spec.source.kustomize', { kustomize: { images: ['web:2'] } }, {}],
  ['spec.source.directory.jsonnet', { directory: { jsonnet: { libs: ['a'] } } }, {}],
  ['spec.source.helm.parameters', { helm: { parameters: [{ name: 'a', value: 'b' }] } }, {}],
  ['spec.source.helm.values', { helm: { values: '- a' } }, {}],
  ['spec.source.helm.valueFiles', { helm: { valueFiles: ['https://example.com/values.yaml'] } }, {}],
  ['spec.source.repoURL', { repoURL: 'git@git.example.com:apps.git' }, {}],
  ['spec.source.repoURL', { repoURL: '/srv/git/apps.git' }, {}],
  ['spec.destination', {}, { destination: { server: 'https://other.example.com' } }],
  ['spec.ignoreDifferences', {}, { ignoreDifferences: [{ kind: 'Deployment' }] }],
  ['spec.sources', {}, { sources: [{ repoURL: 'a' }] }],
  ['spec.sources', {}, { source: undefined, sources: [{ repoURL: 'a' }, { repoURL: 'b' }] }],
  ['spec.sourceHydrator', {}, { source: undefined, sourceHydrator: { drySource: { path: 'a' } } }],
])('an Application with %s is stopped on it', (field, source, spec) => {
  const { stops } = sourceOfArgo(application(source, spec), undefined);
  expect(stops.map((stop) => stop.field)).toEqual([field]);
});

test.each<readonly [string, Record<string, unknown>, Record<string, unknown>]>([
  ['spec.source', {}, { source: 'apps' }],
  ['spec.source.helm', { helm: 'web' }, {}],
  ['spec.source.directory', { directory: [] }, {}],
  ['spec.destination', {}, { destination: 'shop' }],
  ['spec.syncPolicy', {}, { syncPolicy: 0 }],
  ['spec.syncPolicy.automated', {}, { syncPolicy: { automated: true } }],
  ['spec.syncPolicy.syncOptions', {}, { syncPolicy: { automated: { prune: true }, syncOptions: 5 } }],
])('an Application whose %s has a value of another type is stopped on it', (field, source, spec) => {
  const { stops } = sourceOfArgo(application(source, spec), undefined);
  expect(stops).toEqual([{ field, message: expect.stringMatching(/^must be a /) }]);
});

test('an SSH address is carried with its Secret, once that knows the host keys', () => {
  const repoURL = 'git@git.example.com:apps.git';
  const carried = (hasKnownHosts: boolean) =>
    sourceOfArgo(application({ repoURL }), { name: 'shop-repository', hasKnownHosts });
  expect(carried(false).stops).toEqual([
    {
      field: 'spec.source.repoURL',
      message: expect.stringMatching(
        /argocd\/shop-repository has no known_hosts.*patch secret shop-repository/,
      ),
    },
  ]);
  expect(carried(true).stops).toEqual([]);
  expect(carried(true).spec).toMatchObject({ url: repoURL, secretRef: { name: 'shop-repository' } });
});

test.each<readonly [string, Record<string, unknown>, RegExp]>([
  ['is synced by hand', {}, /applies every commit .* manual sync/],
  ['has automated sync turned off', { automated: { enabled: false, selfHeal: true } }, /manual sync/],
  ['does not correct drift', { automated: {} }, /corrects drift/],
  [
    'labels its Namespace',
    { automated: { selfHeal: true }, managedNamespaceMetadata: { labels: { team: 'shop' } } },
    /managedNamespaceMetadata/,
  ],
])('an Application that %s is told that a Source does otherwise', (_, syncPolicy, note) => {
  const { notes, stops } = sourceOfArgo(application({}, { syncPolicy }), undefined);
  expect(stops).toEqual([]);
  expect(notes).toContainEqual(expect.stringMatching(note));
});

test.each([
  ['one that says nothing of it', {}, true],
  ['one with recurse: false', { directory: { recurse: false } }, true],
  ['one with recurse: true', { directory: { recurse: true } }, false],
  ['a chart', { helm: { releaseName: 'web' } }, false],
])('folders below the path, which a Source reads, are told of: %s', (_, source, isTold) => {
  const { notes } = sourceOfArgo(application(source), undefined);
  expect(notes.some((note) => note.includes('directory.recurse'))).toBe(isTold);
});

test('deletions that a person confirms one by one do not become those of a Source', () => {
  const syncPolicy = { automated: { prune: true, selfHeal: true }, syncOptions: ['Prune=confirm'] };
  expect(prunesByItself(syncPolicy)).toBe(false);
  const { notes } = sourceOfArgo(application({}, { syncPolicy }), undefined);
  expect(notes).toContainEqual(expect.stringMatching(/Prune=confirm is not carried, .* does not prune/));
});

test('an Application that Argo CD syncs and heals by itself has no such note', () => {
  const automated = { prune: true, selfHeal: true };
  const { notes } = sourceOfArgo(application({}, { syncPolicy: { automated } }), undefined);
  expect(notes.join('\n')).not.toMatch(/drift/);
});

test.each([
  ['https://git.example.com/acme/shop', 'shop'],
  ['https://git.example.com/acme/shop.git', 'shop'],
  ['https://git.example.com/acme/shop-admin.git', 'acme'],
  ['https://git.example.com/other/shop.git', undefined],
])('the Secret for %s is that of the repository itself, else of all below an address', async (url, name) => {
  const secret = (type: string, of: string, address: string) => ({
    metadata: { name: of, namespace: 'argocd', labels: { 'argocd.argoproj.io/secret-type': type } },
    data: { url: btoa(address), password: btoa('x') },
  });
  const secrets = [
    secret('repository', 'shop', 'https://git.example.com/acme/shop'),
    secret('repo-creds', 'acme', 'https://git.example.com/acme'),
  ];
  const client = {
    list: async (_version: string, _kind: string, { labelSelector = '' }) => ({
      items: secrets.filter(({ metadata: { labels } }) =>
        Object.entries(labels).some(([key, value]) => `${key}=${value}` === labelSelector),
      ),
    }),
  } as unknown as ClusterClient;

  expect((await readCredentials(client, 'argocd', url))?.name).toBe(name);
});

test.each([
  ['a GitHub App', { githubAppID: '1', githubAppInstallationID: '2', githubAppPrivateKey: 'key' }],
  ['a bearer token', { bearerToken: 'token' }],
])('the Secret of %s, whose keys a Source reads too, is carried', async (_, values) => {
  const url = 'https://git.example.com/acme/shop.git';
  const data = Object.entries({ url, ...values }).map(([key, value]) => [key, btoa(value)]);
  const secret = { metadata: { name: 'acme', namespace: 'argocd' }, data: Object.fromEntries(data) };
  const client = {
    list: async (_version: string, _kind: string, { labelSelector = '' }) => ({
      items: labelSelector.endsWith('=repository') ? [secret] : [],
    }),
  } as unknown as ClusterClient;

  expect(await readCredentials(client, 'argocd', url)).toMatchObject({ name: 'acme' });
});
