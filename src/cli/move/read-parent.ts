import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client.ts';
import { tracksOn } from '../../engine/source/tracks.ts';
import type { Parent } from './facts.ts';
import { getTool } from './read-objects.ts';
import { shellLine } from './shell.ts';

/** What applies the manifest of the owner, as its own marks say; undefined where it has none. Throws ApiError. */
export async function parentOf(client: ClusterClient, marked: KubernetesObject): Promise<Parent | undefined> {
  const [track] = tracksOn(marked).filter(({ kind }) => kind === 'Kustomization' || kind === 'Application');
  if (!track) return undefined;
  if (track.kind === 'Kustomization') {
    const [namespace = '', name = ''] = track.owner.split('/');
    const found = await getTool(client, 'Kustomization', { namespace, name });
    const { prune, suspend } = (found?.spec ?? {}) as { prune?: boolean; suspend?: boolean };
    const look = shellLine('flux', '-n', namespace, 'reconcile', 'kustomization', name, '--with-source');
    return { name: track.detail, prunes: prune === true && suspend !== true, look };
  }
  const { namespace = '' } = marked.metadata;
  const name = track.owner.includes('_') ? track.owner.slice(track.owner.indexOf('_') + 1) : track.owner;
  const found = await getTool(client, 'Application', { namespace, name });
  const { syncPolicy } = (found?.spec ?? {}) as { syncPolicy?: { automated?: { prune?: boolean } } };
  return {
    name: track.detail,
    prunes: syncPolicy?.automated?.prune === true,
    look: shellLine('argocd', 'app', 'sync', name),
  };
}
