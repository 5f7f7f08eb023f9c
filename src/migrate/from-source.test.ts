import { describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { argoFromSource } from './argocd/steps.ts';
import type { MoveFacts } from './facts.ts';
import { fluxFromSource } from './flux/steps.ts';
import { fromSourceSteps } from './from-source.ts';
import { placeSteps } from './steps.ts';

describe('back to Flux', () => {
  const former = { kind: 'Kustomization', namespace: 'flux-system', name: 'apps' } as const;
  const metadata = { name: 'apps', namespace: 'flux-system', generation: 2 };
  const source: KubernetesObject = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata,
    spec: { url: 'https://git.example.com/a.git', ref: { branch: 'main' }, suspend: true, prune: false },
    status: { observedGeneration: 2 },
  };

  function kustomization(spec: object, status: object = {}): KubernetesObject {
    return {
      apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
      kind: 'Kustomization',
      metadata,
      spec: { prune: false, ...spec },
      status,
    };
  }

  const facts: MoveFacts = {
    source,
    members: [],
    ownMembers: [],
    leftBehind: [],
    dependents: [],
    notifications: [],
    sourceDependents: [],
    repositoryUsers: [],
    missingDependencies: [],
    hasKinds: true,
  };

  /** The step in which the Kustomization takes over; `text`: its spec in the files. */
  function takingOver(text: string, live: KubernetesObject | undefined) {
    const origin = { file: 'apps-flux.yaml', line: 1, document: 0, items: [] };
    const file = `kind: Kustomization\nmetadata:\n  name: apps\n  namespace: flux-system\nspec:\n  prune: false\n${text}`;
    const [, step] = placeSteps(
      fromSourceSteps(fluxFromSource, {
        former,
        files: new Map([[origin.file, file]]),
        owner: { object: kustomization({}), origin },
        wanted: [],
        facts: { ...facts, owner: live },
      }),
    );
    return step;
  }

  test('asks for no second commit once the Kustomization is in the files', () => {
    const live = kustomization({}, { observedGeneration: 1 });
    expect(takingOver('', live)?.changes).toEqual([]);
    const [change] = takingOver('  suspend: true\n', live)?.changes ?? [];
    expect(change?.after).toContain('suspend: false');
  });

  test('it is told what Flux waits for, where that keeps it from applying', () => {
    const message = "dependency 'flux-system/base' not found";
    const ready = { type: 'Ready', status: 'False', reason: 'DependencyNotReady', message };
    const waiting = (observedGeneration: number) =>
      takingOver('', kustomization({}, { conditions: [{ ...ready, observedGeneration }] }))?.ends[0]?.found;
    expect(waiting(2)).toBe(message);
    expect(waiting(1)).toBe('Flux has not observed the change yet');
  });
});

describe('back to Argo CD', () => {
  const former = { kind: 'Application', namespace: 'argocd', name: 'shop' } as const;
  const labels = { 'app.kubernetes.io/instance': 'shop' };
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'web' };

  /** What is still to come of Argo CD taking a ConfigMap over that Holdfast applied at noon. */
  function toCome(status: Record<string, unknown>, metadata: Partial<KubernetesObject['metadata']> = {}) {
    const managedFields = [{ manager: 'holdfast', operation: 'Apply', time: '2026-01-01T12:00:00Z' }];
    const live: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'shop', name: 'web', managedFields, ...metadata },
    };
    const owner: KubernetesObject = {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { namespace: 'argocd', name: 'shop' },
      status,
    };
    const member = { reference, live };
    const facts = {
      owner,
      members: [member],
      ownMembers: [member],
      sourceDependents: [],
    } as unknown as MoveFacts;
    const [, takeOver] = fromSourceSteps(argoFromSource, { former, files: new Map(), wanted: [], facts });
    return takeOver?.ends.flatMap(({ holds, found }) => (holds ? [] : [found]));
  }

  const synced = (finishedAt: string) => ({
    sync: { status: 'Synced' },
    operationState: {
      phase: 'Succeeded',
      finishedAt,
      syncResult: { resources: [{ kind: 'ConfigMap', namespace: 'shop', name: 'web', status: 'Synced' }] },
    },
  });

  test('an Application that counts as synced by the label of charts alone is to be synced', () => {
    const notYet = 'not yet: ConfigMap shop/web';
    expect(toCome({ sync: { status: 'Synced' } }, { labels })).toEqual([
      'it was not synced yet; sync it',
      notYet,
    ]);
    expect(toCome(synced('2026-01-01T11:00:00Z'), { labels })).toEqual([notYet]);
  });

  test('an object with that label is taken over by a sync after Holdfast wrote it, whatever Argo CD tracks by', () => {
    expect(toCome(synced('2026-01-01T13:00:00Z'), { labels })).toEqual([]);
    expect(toCome(synced('2026-01-01T13:00:00Z'))).toEqual(['not yet: ConfigMap shop/web']);
    const annotations = { 'argocd.argoproj.io/tracking-id': 'shop:/ConfigMap:shop/web' };
    expect(toCome(synced('2026-01-01T11:00:00Z'), { annotations })).toEqual([]);
  });
});
