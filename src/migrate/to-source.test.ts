import { describe, expect, it, test } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { applySetId } from '../engine/apply-set.ts';
import { argoToSource } from './argocd/steps.ts';
import type { MoveFacts } from './facts.ts';
import { fluxToSource } from './flux/steps.ts';
import { type PlacedStep, placeSteps } from './steps.ts';
import { firstSource, type ToSourceInput, toSourceSteps } from './to-source.ts';

const former = { kind: 'Kustomization', namespace: 'flux-system', name: 'apps' } as const;
const origin = { file: 'prod/apps.yaml', line: 1, document: 0, items: [] };
const metadata = { name: 'apps', namespace: 'flux-system', generation: 2 };

function kustomization(
  spec: Record<string, unknown> = {},
  status: Record<string, unknown> = {},
): KubernetesObject {
  return {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata,
    spec: { path: './shop', prune: true, ...spec },
    status: { observedGeneration: 2, ...status },
  };
}

/** What the API server fills in is in it. */
function repository(spec: Record<string, unknown> = {}): KubernetesObject {
  const given = { url: 'https://git.example.com/a.git', ref: { branch: 'main' }, interval: '1m' };
  return {
    apiVersion: 'source.toolkit.fluxcd.io/v1',
    kind: 'GitRepository',
    metadata,
    spec: { ...given, timeout: '60s', ...spec },
  };
}

const wanted = firstSource(
  former,
  { url: 'https://git.example.com/a.git', ref: { branch: 'main' }, prune: false },
  true,
);
const applied: KubernetesObject = {
  ...wanted,
  metadata: { ...wanted.metadata, generation: 1 },
  status: {
    observedGeneration: 1,
    head: { commit: 'c' },
    appliedCommit: 'c',
    conditions: [{ type: 'Applied', status: 'True', reason: 'Applied', message: '' }],
  },
};
const reference = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' };
const marks = {
  'kustomize.toolkit.fluxcd.io/name': 'apps',
  'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
};

function member(labels: Record<string, string>) {
  const { apiVersion, kind, namespace, name } = reference;
  return { reference, live: { apiVersion, kind, metadata: { namespace, name, labels } } };
}

const same = { missing: [], created: [], changed: [], refused: [] };
const running: MoveFacts = {
  owner: kustomization(),
  parent: { name: 'Kustomization flux-system/flux-system', prunes: true, look: 'flux reconcile' },
  members: [member(marks)],
  ownMembers: [],
  leftBehind: [],
  dependents: [],
  notifications: [],
  sourceDependents: [],
  repositoryUsers: [],
  missingDependencies: [],
  hasKinds: true,
  comparison: same,
};
const off = { prune: false, suspend: true };
const held: MoveFacts = { ...running, owner: kustomization(off) };
const mine = member({ 'applyset.kubernetes.io/part-of': applySetId(wanted) });
const taken: MoveFacts = { ...held, source: applied, members: [mine], comparison: undefined };

function steps(
  facts: MoveFacts | undefined,
  owner: KubernetesObject = kustomization(),
  verify?: object,
): PlacedStep[] {
  const input: ToSourceInput = {
    former,
    files: new Map([[origin.file, 'kind: Kustomization\nmetadata:\n  name: apps\nspec:\n  prune: true\n']]),
    owner: { object: owner, origin },
    wanted,
    facts,
  };
  const { interval, url, ref } = repository().spec as Record<string, unknown>;
  const spec = { interval, url, ref, ...(verify ? { verify } : {}) };
  const inTree = facts?.repository && { object: { ...repository(), spec }, origin };
  return placeSteps(toSourceSteps(fluxToSource(inTree), input));
}

/** As Flux leaves it: only a run that succeeds moves `observedGeneration`, and another try is announced. */
function failedAt(observedGeneration: number, reason: string): Record<string, unknown> {
  const conditions = [
    { type: 'Reconciling', status: 'True', reason: 'ProgressingWithRetry', message: '', observedGeneration },
    { type: 'Ready', status: 'False', reason, message: '', observedGeneration },
  ];
  return { observedGeneration: 1, conditions };
}

const states = (facts: MoveFacts | undefined) => steps(facts).map(({ state }) => state);

describe('where a move from Flux stands', () => {
  test.each<readonly [string, MoveFacts | undefined, readonly string[]]>([
    ['no cluster was asked', undefined, Array(5).fill('unread')],
    ['nothing was done', running, ['next', 'later', 'later', 'later', 'later']],
    [
      'prune is off, and Flux has not seen it',
      { ...running, owner: kustomization({ prune: false }, { observedGeneration: 1 }) },
      ['next', 'later', 'later', 'later', 'later'],
    ],
    [
      'Flux has seen it, and waits for a dependency that does not become Ready',
      { ...running, owner: kustomization({ prune: false }, failedAt(2, 'DependencyNotReady')) },
      ['done', 'next', 'later', 'later', 'later'],
    ],
    [
      'Flux has seen it, and waits for objects that do not work',
      {
        ...running,
        owner: kustomization(
          { prune: false },
          {
            ...{ observedGeneration: 1 },
            conditions: [
              { type: 'Ready', status: 'Unknown', reason: 'Progressing', message: '', observedGeneration: 2 },
            ],
          },
        ),
      },
      ['done', 'next', 'later', 'later', 'later'],
    ],
    [
      'the last run that failed was one that pruned',
      { ...running, owner: kustomization({ prune: false }, failedAt(1, 'HealthCheckFailed')) },
      ['next', 'later', 'later', 'later', 'later'],
    ],
    [
      'prune is off',
      { ...running, owner: kustomization({ prune: false }) },
      ['done', 'next', 'later', 'later', 'later'],
    ],
    [
      'an apply is in progress',
      {
        ...running,
        owner: kustomization(off, {
          conditions: [{ type: 'Reconciling', status: 'True', reason: '', message: '' }],
        }),
      },
      ['done', 'next', 'later', 'later', 'later'],
    ],
    [
      'it is suspended between two tries of a run that failed',
      {
        ...running,
        owner: kustomization(off, failedAt(1, 'HealthCheckFailed')),
        comparison: same,
      },
      ['done', 'done', 'next', 'later', 'later'],
    ],
    [
      'the deletion policy deletes all the same',
      { ...held, owner: kustomization({ ...off, deletionPolicy: 'Delete' }) },
      ['next', 'done', 'later', 'later', 'later'],
    ],
    ['it is held', held, ['done', 'done', 'next', 'later', 'later']],
    ['Holdfast has everything', taken, ['done', 'done', 'done', 'next', 'later']],
    [
      'one object is not taken over',
      { ...taken, members: [mine, member(marks)] },
      ['done', 'done', 'next', 'later', 'later'],
    ],
    ['it is gone', { ...taken, owner: undefined, members: [] }, ['done', 'done', 'done', 'done', 'next']],
    [
      'pruning is on',
      {
        ...taken,
        owner: undefined,
        members: [],
        source: { ...applied, metadata: { ...metadata, generation: 1 }, spec: { prune: true } },
      },
      ['done', 'done', 'done', 'done', 'done'],
    ],
  ])('%s', (_, facts, expected) => {
    expect(states(facts)).toEqual(expected);
  });
});

test('what the API server fills into a GitRepository is no reason to wait', () => {
  const verify = { secretRef: { name: 'keys' } };
  const live = repository({ verify: { mode: 'HEAD', ...verify } });
  const found = steps({ ...running, repository: live }, kustomization(), verify);
  expect(found.map(({ state }) => state)).toEqual(states(running));
});

describe('a step is refused, and its commit is not', () => {
  const refused = (facts: MoveFacts): string[] => {
    const step = steps(facts).find(({ state }) => state === 'refused');
    return (step?.requires ?? []).flatMap(({ holds, found }) => (holds ? [] : [found ?? '']));
  };

  test.each<readonly [string, MoveFacts, RegExp]>([
    ['while Flux has applied nothing', { ...running, members: [] }, /inventory is empty/],
    [
      'where the tree is not that of the cluster',
      { ...running, owner: kustomization({ path: './other' }) },
      /spec\.path/,
    ],
    [
      'where fields are in the cluster alone, as by a patch of what applies it',
      {
        ...running,
        owner: kustomization({
          ...{ interval: '10m', force: false, deletionPolicy: 'Orphan', timeout: '5m' },
          postBuild: { substituteFrom: [{ kind: 'ConfigMap', name: 'cluster' }] },
        }),
      },
      /^spec\.timeout, spec\.postBuild: set in the cluster, and not in the file/,
    ],
    [
      'where fields of its GitRepository are in the cluster alone',
      { ...running, repository: repository({ verify: { mode: 'HEAD', secretRef: { name: 'keys' } } }) },
      /^GitRepository spec\.verify: set in the cluster, and not in the file/,
    ],
    [
      'where its GitRepository follows another branch in the cluster',
      { ...running, repository: repository({ ref: { branch: 'release' } }) },
      /^another GitRepository spec\.ref/,
    ],
    [
      'where it did not prune, and a field is in the cluster alone',
      { ...held, owner: kustomization({ ...off, dependsOn: [{ name: 'base' }] }) },
      /spec\.dependsOn: set in the cluster, and not in the file/,
    ],
    [
      'where a pod would restart',
      { ...held, comparison: { ...same, changed: ['Deployment shop/web: spec.template'] } },
      /spec\.template/,
    ],
    [
      'where the Source lacks an object',
      { ...held, comparison: { ...same, missing: ['ConfigMap shop/a'] } },
      /shop\/a/,
    ],
    [
      'where something would be created',
      { ...held, comparison: { ...same, created: ['ConfigMap shop/b'] } },
      /shop\/b/,
    ],
    ['where Git cannot be read', { ...held, comparison: { ...same, problem: 'no answer' } }, /no answer/],
    ['without our kinds', { ...held, hasKinds: false }, /holdfast install/],
    ['before those it depends on', { ...held, missingDependencies: ['flux-system/base'] }, /base/],
    ['while others depend on it', { ...taken, dependents: ['Kustomization flux-system/web'] }, /web/],
    [
      'while something else carries its mark',
      { ...taken, owner: undefined, members: [], leftBehind: ['ConfigMap shop/c'] },
      /shop\/c/,
    ],
  ])('%s', (_, facts, words) => {
    expect(refused(facts).join('; ')).toMatch(words);
  });

  it('where it applies itself', () => {
    const own = {
      reference: { ...reference, kind: 'Kustomization', namespace: 'flux-system', name: 'apps' },
    };
    expect(refused({ ...running, members: [own] }).join()).toContain('applies Flux');
  });
});

test('who applies by hand is told the commands, and one whose parent does not prune deletes it by hand', () => {
  const byHand = { ...running, parent: undefined };
  expect(steps(byHand)[0]?.commands).toEqual(['kubectl apply -f prod/apps.yaml']);
  const parent = { name: 'x', look: '', prunes: false };
  expect(steps({ ...taken, parent })[3]?.commands).toEqual([
    'kubectl -n flux-system delete kustomizations.kustomize.toolkit.fluxcd.io apps',
  ]);
  expect(steps(taken)[3]?.commands).toEqual([]);
});

describe('an Application', () => {
  const argo = { kind: 'Application', namespace: 'argocd', name: 'shop' } as const;
  const text = `kind: Application\nmetadata:\n  name: shop\n  namespace: argocd\nspec:\n  syncPolicy:\n    automated: {prune: true}\n`;
  const live = (more: Partial<KubernetesObject['metadata']> = {}): KubernetesObject => ({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'shop', namespace: 'argocd', ...more },
    spec: { source: { path: 'shop' }, syncPolicy: { automated: { prune: true } } },
  });
  const first = (owner: KubernetesObject): PlacedStep | undefined => {
    const input: ToSourceInput = {
      former: argo,
      files: new Map([['shop.yaml', text]]),
      owner: { object: live(), origin: { ...origin, file: 'shop.yaml' } },
      facts: { ...running, owner },
    };
    return placeSteps(toSourceSteps(argoToSource, input))[0];
  };

  it('is not synced any more; a finalizer that Git does not say is taken away by a command', () => {
    const step = first(live({ finalizers: ['resources-finalizer.argocd.argoproj.io', 'mine'] }));
    expect(step?.state).toBe('next');
    expect(step?.changes[0]?.after).toContain('syncOptions:\n      - Prune=false');
    expect(step?.changes[0]?.after).not.toContain('automated');
    expect(step?.commands).toEqual([
      `kubectl -n argocd patch applications.argoproj.io shop --type=merge -p '{"metadata":{"finalizers":["mine"]}}'`,
    ]);
  });

  it('that kubectl apply leaves automated, because something else wrote it so, is patched', () => {
    const object = { ...live(), spec: { syncPolicy: { syncOptions: ['Prune=false'] } } };
    const [step] = toSourceSteps(argoToSource, {
      former: argo,
      files: new Map([['shop.yaml', text.replace('automated: {prune: true}', 'syncOptions: [Prune=false]')]]),
      owner: { object, origin: { ...origin, file: 'shop.yaml' } },
      facts: { ...running, parent: undefined, owner: live() },
    });
    expect(step?.changes).toEqual([]);
    expect(step?.commands).toEqual([
      'kubectl apply -f shop.yaml',
      `kubectl -n argocd patch applications.argoproj.io shop --type=merge -p '{"spec":{"syncPolicy":{"automated":null}}}'`,
    ]);
  });

  it('keeps the comments at its sync options', () => {
    const options =
      '    syncOptions:\n      # for the large CRDs\n      - ServerSideApply=true # needed\n      - Prune=true\n';
    const input: ToSourceInput = {
      former: argo,
      files: new Map([['shop.yaml', text + options]]),
      owner: {
        object: { ...live(), spec: { syncPolicy: { syncOptions: ['ServerSideApply=true', 'Prune=true'] } } },
        origin: { ...origin, file: 'shop.yaml' },
      },
      facts: undefined,
    };
    const [step] = toSourceSteps(argoToSource, input);
    expect(step?.changes[0]?.after).toContain(options.replace('Prune=true', 'Prune=false'));
  });

  it('in which a program has set images in the cluster alone is refused', () => {
    const owner = live();
    const source = { path: 'shop', directory: { jsonnet: {} }, kustomize: { images: ['web=web:2'] } };
    const step = first({ ...owner, spec: { ...(owner.spec as object), source } });
    expect(step?.state).toBe('refused');
    expect(step?.requires.map(({ found }) => found).join()).toMatch(
      /^,+spec\.source\.kustomize: set in the cluster, and not in the file/,
    );
  });

  it('that an ApplicationSet writes is refused', () => {
    const owners = [{ apiVersion: 'argoproj.io/v1alpha1', kind: 'ApplicationSet', name: 'all', uid: 'u' }];
    const step = first(live({ ownerReferences: owners }));
    expect(step?.state).toBe('refused');
    expect(step?.requires.map(({ found }) => found).join()).toContain(
      '(spec.syncPolicy.preserveResourcesOnDeletion: true)',
    );
  });
});
