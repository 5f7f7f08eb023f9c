import { describe, expect, it, test } from 'vitest';
import { parseSource } from '../../api/kinds/parse.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { ignoreRules } from '../../engine/sync/read/ignore-rules.ts';
import { firstSource } from '../to-source.ts';
import { sourceOfFlux } from './source.ts';

function kustomization(spec: Record<string, unknown> = {}): KubernetesObject {
  return {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata: { name: 'apps', namespace: 'flux-system' },
    spec: { interval: '10m', prune: true, sourceRef: { kind: 'GitRepository', name: 'apps' }, ...spec },
  };
}

function repository(spec: Record<string, unknown> = {}, namespace = 'flux-system'): KubernetesObject {
  return {
    apiVersion: 'source.toolkit.fluxcd.io/v1',
    kind: 'GitRepository',
    metadata: { name: 'apps', namespace },
    spec: { interval: '1m', url: 'https://git.example.com/apps.git', ref: { branch: 'main' }, ...spec },
  };
}

it('carries everything that a Source can say, and the Source is valid', () => {
  const carried = sourceOfFlux(
    kustomization({
      path: './clusters/prod/',
      targetNamespace: 'shop',
      serviceAccountName: 'deployer',
      timeout: '2m',
      retryInterval: '30s',
      force: true,
      healthChecks: [{ kind: 'Deployment', name: 'web', namespace: 'shop' }],
      dependsOn: [{ name: 'base' }, { name: 'crds', namespace: 'infra' }],
      decryption: { provider: 'sops', secretRef: { name: 'age' } },
      postBuild: {
        substitute: { region: 'eu' },
        substituteFrom: [{ kind: 'ConfigMap', name: 'cluster', optional: true }],
      },
    }),
    repository({
      secretRef: { name: 'git' },
      provider: 'github',
      proxySecretRef: { name: 'proxy' },
      ref: { semver: '>=1.0.0', branch: 'main' },
      verify: { mode: 'head', secretRef: { name: 'signers' } },
      ignore: '# docs\n*.md\n',
    }),
  );
  expect(carried.stops).toEqual([]);
  expect(carried.spec).toEqual({
    url: 'https://git.example.com/apps.git',
    ref: { semver: '>=1.0.0' },
    path: './clusters/prod',
    interval: '1m',
    timeout: '2m',
    retryInterval: '30s',
    secretRef: { name: 'git' },
    proxySecretRef: { name: 'proxy' },
    verify: { mode: 'HEAD', secretRef: { name: 'signers' } },
    ignore: ['*.md'],
    decryption: { secretRef: { name: 'age' } },
    substitute: {
      variables: { region: 'eu' },
      from: [{ kind: 'ConfigMap', name: 'cluster', optional: true }],
    },
    defaultNamespace: 'shop',
    serviceAccountName: 'deployer',
    dependsOn: [{ name: 'base' }, { name: 'crds', namespace: 'infra' }],
    force: true,
    wait: true,
    prune: false,
  });
  const former = { kind: 'Kustomization', namespace: 'flux-system', name: 'apps' } as const;
  expect(parseSource(firstSource(former, carried.spec, true), { strict: true })).toMatchObject({ ok: true });
});

test.each<readonly [string, Record<string, unknown>]>([
  ['spec.patches', { patches: [{ patch: '- op: add' }] }],
  ['spec.images', { images: [{ name: 'web', newTag: '2' }] }],
  ['spec.components', { components: ['../extra'] }],
  ['spec.namePrefix', { namePrefix: 'eu-' }],
  ['spec.commonMetadata', { commonMetadata: { labels: { team: 'shop' } } }],
  ['spec.kubeConfig', { kubeConfig: { secretRef: { name: 'other' } } }],
  ['spec.healthCheckExprs', { healthCheckExprs: [{ current: 'true' }] }],
  ['spec.sourceRef.kind', { sourceRef: { kind: 'OCIRepository', name: 'apps' } }],
  ['spec.decryption', { decryption: { provider: 'sops' } }],
  [
    'spec.decryption.serviceAccountName',
    { decryption: { provider: 'sops', secretRef: { name: 'age' }, serviceAccountName: 'kms' } },
  ],
  ['spec.dependsOn', { dependsOn: [{ name: 'base', readyExpr: 'true' }] }],
  ['spec.somethingNew', { somethingNew: 1 }],
])('a Kustomization with %s is stopped on it', (field, spec) => {
  expect(sourceOfFlux(kustomization(spec), repository()).stops.map((stop) => stop.field)).toEqual([field]);
});

test.each<readonly [string, Record<string, unknown>]>([
  ['spec.url', { url: 'ssh://git:password@git.example.com/apps.git' }],
  ['spec.ref.name', { ref: { name: 'refs/pull/1/head' } }],
  ['spec.provider', { provider: 'azure' }],
  ['spec.recurseSubmodules', { recurseSubmodules: true }],
  ['spec.include', { include: [{ repository: { name: 'other' } }] }],
  ['spec.suspend', { suspend: true }],
])('a GitRepository with %s is stopped on it', (field, spec) => {
  const { stops } = sourceOfFlux(kustomization(), repository(spec));
  expect(stops.map((stop) => stop.field)).toEqual([`GitRepository ${field}`]);
});

describe('patterns of the GitRepository, which begin at the root of the repository', () => {
  const files = ['a.yaml', 'web', 'docs/a.yaml', 'docs/tmp/b.yaml', 'tmp/docs/c.yaml', 'apps/web/d.yaml'];
  const pause = () => Promise.resolve();

  it.each([
    [['/*', '!/apps'], undefined],
    [['/*', '!/apps', '/apps/web/docs/'], ['/docs/']],
    [['/*', '!/apps/', '/ci', 'ci/jobs', '*.md'], ['*.md']],
    [['/*', '!/infra'], ['*']],
    [['*', '!web/'], undefined],
    [['*', '!a*', 'docs/'], ['docs/']],
    [
      ['/apps/*/docs/*', '!apps/web/docs/tmp'],
      ['/docs/*', '!/docs/tmp'],
    ],
    [
      ['apps/web/**', '!**/docs/'],
      ['/**', '!**/docs/'],
    ],
    [['/apps/web/**/*.yaml'], ['/**/*.yaml']],
    [
      ['**/apps', '!*.yaml'],
      ['*', '!*.yaml'],
    ],
    [['/web', 'web/docs', '/a.yaml'], undefined],
  ])('%j leave out the same files where the Source begins at apps/web', async (ignore, expected) => {
    const { stops, spec } = sourceOfFlux(
      kustomization({ path: './apps/web' }),
      repository({ ignore: ignore.join('\n') }),
    );
    expect([stops, spec.ignore]).toEqual([[], expected]);
    for (const file of files)
      expect([file, await ignoreRules(spec.ignore ?? []).ignores(file, pause)]).toEqual([
        file,
        await ignoreRules(ignore).ignores(`apps/web/${file}`, pause),
      ]);
  });

  it('stop the move where any number of folders comes before the path ends', () => {
    const { stops } = sourceOfFlux(
      kustomization({ path: './apps/web' }),
      repository({ ignore: 'apps/**/docs\n*.md' }),
    );
    expect(stops).toMatchObject([
      { field: 'GitRepository spec.ignore', message: expect.stringMatching(/^apps\/\*\*\/docs: /) },
    ]);
  });
});

test('a Secret in another namespace stops the move', () => {
  const elsewhere = sourceOfFlux(kustomization(), repository({ secretRef: { name: 'git' } }, 'other'));
  expect(elsewhere.stops.map(({ field }) => field)).toEqual(['GitRepository spec.secretRef']);
});

test('an SSH address is carried with its Secret', () => {
  const url = 'ssh://git@git.example.com:2222/apps.git';
  const { stops, spec } = sourceOfFlux(kustomization(), repository({ url, secretRef: { name: 'git' } }));
  expect(stops).toEqual([]);
  expect(spec).toMatchObject({ url, secretRef: { name: 'git' } });
});

test.each([
  ['.sourceignore, and what Flux leaves out by itself', {}, /by \.sourceignore, and by itself.*\.json files/],
  [
    '.sourceignore, and JSON, where the patterns of Flux are replaced',
    { ignore: '*.md' },
    /by \.sourceignore, and \.json files without a kustomization\.yaml, are read/,
  ],
])('it is told that a Source reads the files of %s', (_, spec, note) => {
  const { notes } = sourceOfFlux(kustomization({ path: './apps' }), repository(spec));
  expect(notes).toContainEqual(expect.stringMatching(note));
});

it('says what a dependency in another namespace needs', () => {
  const dependsOn = [
    { name: 'base' },
    { name: 'db', namespace: 'flux-system' },
    { name: 'rook', namespace: 'rook' },
  ];
  const { notes, stops } = sourceOfFlux(kustomization({ dependsOn }), repository());
  expect(stops).toEqual([]);
  expect(notes).toContainEqual(
    expect.stringMatching(/^spec\.dependsOn names rook\/rook: .*--cross-namespace-refs$/),
  );
  const near = sourceOfFlux(kustomization({ dependsOn: dependsOn.slice(0, 2) }), repository());
  expect(near.notes.join('\n')).not.toContain('cross-namespace');
});

it('says that what is suspended before the move is applied by the Source', () => {
  const note =
    'spec.suspend is not carried: the Source applies what is in Git from the step on in which it takes over';
  expect(sourceOfFlux(kustomization({ suspend: true }), repository()).notes).toContain(note);
  // As the steps of the move leave it.
  const moving = kustomization({ suspend: true, prune: false });
  expect(sourceOfFlux(moving, repository()).notes).not.toContain(note);
});
