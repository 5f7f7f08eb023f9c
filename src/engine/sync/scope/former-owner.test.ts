import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { type FormerOwner, formerOwnerOf, handedOver, isMarkedBy, otherOwner } from './former-owner.ts';

const flux: FormerOwner = { kind: 'Kustomization', namespace: 'flux-system', name: 'apps' };
const argo: FormerOwner = { kind: 'Application', namespace: 'argocd', name: 'shop' };
const fluxLabels = {
  'kustomize.toolkit.fluxcd.io/name': 'apps',
  'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
};

function object(metadata: Partial<KubernetesObject['metadata']> = {}): KubernetesObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'config', ...metadata } };
}

test.each([
  ['Kustomization/flux-system/apps', flux],
  ['Application/argocd/shop', argo],
  ['HelmRelease/flux-system/apps', undefined],
  ['Kustomization/apps', undefined],
  ['', undefined],
])('the annotation %j of a Source', (text, expected) => {
  const metadata = { annotations: { 'holdfast.dev/adopt-from': text } };
  expect(formerOwnerOf({ metadata })).toEqual(expected);
});

test('lets what that owner applies be taken over, and nothing of another one', () => {
  const live = object({ labels: fluxLabels });
  expect(otherOwner(live, object(), flux)).toBeUndefined();
  expect(otherOwner(live, object(), { ...flux, name: 'infra' })?.detail).toBe(
    'Kustomization flux-system/apps',
  );
  expect(otherOwner(live, object(), argo)?.tool).toBe('Flux');
  const both = object({ labels: fluxLabels, annotations: { 'meta.helm.sh/release-name': 'web' } });
  expect(otherOwner(both, object(), flux)?.tool).toBe('Helm');
});

test.each([
  ['its tracking id', { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:/ConfigMap:shop/config' } }],
  [
    'its id outside its own namespace',
    { annotations: { 'argocd.argoproj.io/tracking-id': 'argocd_shop:/ConfigMap:shop/config' } },
  ],
  ['its label', { labels: { 'argocd.argoproj.io/instance': 'shop' } }],
  ['its usual label', { labels: { 'app.kubernetes.io/instance': 'shop' } }],
])('an Application is known by %s', (_, metadata) => {
  const live = object(metadata);
  expect(otherOwner(live, object(), argo)).toBeUndefined();
  expect(isMarkedBy(live, object(), argo)).toBe(true);
  expect(isMarkedBy(live, object(metadata), argo)).toBe(false);
  expect(isMarkedBy(live, object(), flux)).toBe(false);
});

test('marks and what we applied go, what only the former owner wrote stays', () => {
  const entry = (manager: string, keys: readonly string[]) => ({
    manager,
    operation: 'Apply',
    fieldsV1: { 'f:data': Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) },
  });
  const managedFields = [entry('kustomize-controller', ['mode', 'theirs']), entry('holdfast', ['mode'])];
  const live = object({ labels: { ...fluxLabels, app: 'web' }, managedFields });
  const patch = handedOver(live, object(), { former: flux, manager: 'holdfast' });
  expect(patch).toEqual({
    labels: Object.fromEntries(Object.keys(fluxLabels).map((key) => [key, null])),
    managedFields: [entry('kustomize-controller', ['theirs']), entry('holdfast', ['mode'])],
  });
  const after = object({ labels: { app: 'web' }, managedFields: patch?.managedFields });
  expect(handedOver(after, object(), { former: flux, manager: 'holdfast' })).toBeUndefined();
});

function markedObject(
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> } = {},
) {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'config', namespace: 'shop', ...metadata },
  };
}

const owners = [
  ['Flux', markedObject({ labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } })],
  ['Flux', markedObject({ labels: { 'helm.toolkit.fluxcd.io/name': 'web' } })],
  ['Helm', markedObject({ annotations: { 'meta.helm.sh/release-name': 'web' } })],
  [
    'Argo CD',
    markedObject({ annotations: { 'argocd.argoproj.io/tracking-id': 'shop:apps/Deployment:shop/web' } }),
  ],
  ['Argo CD', markedObject({ labels: { 'argocd.argoproj.io/instance': 'shop' } })],
] as const;

test.each(owners)('sees that %s applies an object', (tool, live) => {
  expect(otherOwner(live, markedObject())?.tool).toBe(tool);
});

test('the label that charts set too is a mark of Argo CD where that wrote it, and where no annotation says whose the object is', () => {
  const labels = { 'app.kubernetes.io/instance': 'web' };
  const written = (manager: string) => ({
    labels,
    managedFields: [
      {
        manager,
        operation: 'Update',
        fieldsV1: { 'f:metadata': { 'f:labels': { 'f:app.kubernetes.io/instance': {} } } },
      },
    ],
  });
  expect(otherOwner(object(written('argocd-controller')), object())?.detail).toBe('application web');
  expect(otherOwner(object(written('helm')), object())).toBeUndefined();
  const annotations = { 'argocd.argoproj.io/tracking-id': 'shop:/ConfigMap:shop/config' };
  const tracked = object({ ...written('argocd-controller'), annotations });
  expect(otherOwner(tracked, object({ labels }), argo)).toBeUndefined();
});

test('adopting in Git or in the cluster hands the object over, "false" does not', () => {
  const live = markedObject({ annotations: { 'meta.helm.sh/release-name': 'web' } });
  expect(otherOwner(live, markedObject({ annotations: { 'holdfast.dev/adopt': 'true' } }))).toBeUndefined();
  expect(otherOwner(live, markedObject({ annotations: { 'holdfast.dev/adopt': 'false' } }))?.tool).toBe(
    'Helm',
  );
  const adopted = markedObject({
    annotations: { ...live.metadata.annotations, 'holdfast.dev/adopt': 'true' },
  });
  expect(otherOwner(adopted, markedObject())).toBeUndefined();
});

test('an object that nobody tracks is free', () => {
  expect(otherOwner(markedObject({ labels: { app: 'web' } }), markedObject())).toBeUndefined();
});
