import { expect, test } from 'vitest';
import { describe, type KubernetesObject } from '../../../api/kubernetes.ts';
import { aCanary, aTarget } from '../../../workload/shared/fixtures.test-support.ts';
import { createLiveHeads } from './live-heads.ts';
import type { NamespaceView } from './namespace-view.ts';

const [older, newer] = ['a'.repeat(40), 'b'.repeat(40)];
const view = { namespace: 'shop', records: () => [] } as unknown as NamespaceView;

/** The commit that is read for a target with these marks, beside objects of other tools with these statuses. */
async function commitOf(
  marks: Pick<KubernetesObject['metadata'], 'labels' | 'annotations'>,
  statuses: Readonly<Record<string, unknown>>,
): Promise<string | undefined> {
  const get = async (reference: Parameters<typeof describe>[0]) => {
    const status = statuses[describe(reference)];
    return status ? ({ ...reference, metadata: { name: 'x' }, status } as KubernetesObject) : undefined;
  };
  const heads = createLiveHeads({ cluster: { get }, secretKey: new Uint8Array(32), tracksConfig: false });
  const target = aTarget();
  const head = await heads.read(aCanary(), { ...target, metadata: { ...target.metadata, ...marks } }, view);
  return head?.release?.commit.commit;
}

const flux = {
  labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop', 'kustomize.toolkit.fluxcd.io/namespace': 'flux' },
};

test('the commit of a target that Flux applies is the one that its Kustomization tries now', async () => {
  const status = { lastAttemptedRevision: `main@sha1:${newer}`, lastAppliedRevision: `main@sha1:${older}` };
  expect(await commitOf(flux, { 'Kustomization flux/shop': status })).toBe(newer);
  const oci = {
    lastAttemptedOriginRevision: `main@sha1:${newer}`,
    lastAttemptedRevision: 'latest@sha256:00',
  };
  expect(await commitOf(flux, { 'Kustomization flux/shop': oci })).toBe(newer);
});

test('the commit of a target that Argo CD applies is the one of its last operation, else the one that was compared', async () => {
  const synced = { sync: { revision: older } };
  const status = { ...synced, operationState: { syncResult: { revision: newer } } };
  const tracked = { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:apps/Deployment:shop/podinfo' } };
  expect(await commitOf({ ...tracked, labels: {} }, { 'Application argocd/shop': status })).toBe(newer);
  const instance = { labels: { 'argocd.argoproj.io/instance': 'teams_shop' } };
  expect(await commitOf(instance, { 'Application teams/shop': synced })).toBe(older);
});

test('the commit of a target that Argo CD tracks by the label of charts is that of the Application which lists it', async () => {
  const labels = { 'app.kubernetes.io/instance': 'shop' };
  const { kind, metadata } = aTarget();
  const resources = [{ kind, namespace: metadata.namespace, name: metadata.name }];
  const status = { sync: { revision: newer } };
  expect(await commitOf({ labels }, { 'Application argocd/shop': { ...status, resources } })).toBe(newer);
  expect(await commitOf({ labels }, { 'Application argocd/shop': status })).toBe('');
});

test('no commit is known where the other tool has none, or cannot be read', async () => {
  expect(await commitOf(flux, { 'Kustomization flux/shop': { lastAttemptedRevision: 'none' } })).toBe('');
  expect(await commitOf(flux, {})).toBe('');
});
