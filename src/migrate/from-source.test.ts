import { expect, it, test } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { MoveFacts } from './facts.ts';
import { fluxFromSource } from './flux/steps.ts';
import { fromSourceSteps } from './from-source.ts';
import { placeSteps } from './steps.ts';

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

it('asks for no second commit once the Kustomization is in the files', () => {
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
