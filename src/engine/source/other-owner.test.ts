import { expect, test } from 'vitest';
import { otherOwner } from './other-owner.ts';

function object(metadata: { labels?: Record<string, string>; annotations?: Record<string, string> } = {}) {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'config', namespace: 'shop', ...metadata },
  };
}

const owners = [
  ['Flux', object({ labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } })],
  ['Flux', object({ labels: { 'helm.toolkit.fluxcd.io/name': 'web' } })],
  ['Helm', object({ annotations: { 'meta.helm.sh/release-name': 'web' } })],
  ['Argo CD', object({ annotations: { 'argocd.argoproj.io/tracking-id': 'shop:apps/Deployment:shop/web' } })],
  ['Argo CD', object({ labels: { 'argocd.argoproj.io/instance': 'shop' } })],
] as const;

test.each(owners)('sees that %s applies an object', (tool, live) => {
  expect(otherOwner(live, object())?.tool).toBe(tool);
});

test('adopting in Git or in the cluster hands the object over, "false" does not', () => {
  const live = object({ annotations: { 'meta.helm.sh/release-name': 'web' } });
  expect(otherOwner(live, object({ annotations: { 'holdfast.dev/adopt': 'true' } }))).toBeUndefined();
  expect(otherOwner(live, object({ annotations: { 'holdfast.dev/adopt': 'false' } }))?.tool).toBe('Helm');
  const adopted = object({ annotations: { ...live.metadata.annotations, 'holdfast.dev/adopt': 'true' } });
  expect(otherOwner(adopted, object())).toBeUndefined();
});

test('an object that nobody tracks is free', () => {
  expect(otherOwner(object({ labels: { app: 'web' } }), object())).toBeUndefined();
});
