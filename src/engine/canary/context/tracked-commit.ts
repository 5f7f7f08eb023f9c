import type { KubernetesObject, ObjectReference } from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { commitAnnotation } from '../../../workload/shared/metadata.ts';

const fullCommit = /(?:^|[:@/+-])([0-9a-f]{40})(?:$|[^0-9a-f])/;

/** What the object's own annotation says; empty when it says no full SHA. */
export function annotatedCommit({ metadata }: KubernetesObject): string {
  return commitIn(metadata.annotations?.[commitAnnotation]);
}

/**
 * The commit that Flux or Argo CD applies or applied last, from the object of theirs that tracks the target. Empty when none is known: it
 * only names a release, so that no right and no answer are no reason to wait.
 */
export async function trackedCommit(
  cluster: Pick<Cluster, 'get'>,
  target: KubernetesObject,
): Promise<string> {
  for (const { reference, revisions } of trackersOf(target)) {
    const tracker = await cluster.get(reference).catch(() => undefined);
    const commit = tracker && revisions(tracker).map(commitIn).find(Boolean);
    if (commit) return commit;
  }
  return '';
}

interface Tracker {
  readonly reference: ObjectReference;
  /** Where it names a revision, the best first. */
  readonly revisions: (tracker: KubernetesObject) => unknown[];
}

function trackersOf({ metadata }: KubernetesObject): Tracker[] {
  const { labels = {}, annotations = {} } = metadata;
  const [appNamespace, application] = argoApplication(
    annotations['argocd.argoproj.io/tracking-id'],
    labels['argocd.argoproj.io/instance'],
  );
  const found: Array<[name: string | undefined, Tracker]> = [
    [
      labels['kustomize.toolkit.fluxcd.io/name'],
      {
        reference: {
          apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
          kind: 'Kustomization',
          namespace: labels['kustomize.toolkit.fluxcd.io/namespace'] ?? '',
          name: labels['kustomize.toolkit.fluxcd.io/name'] ?? '',
        },
        // Written before anything of the revision is applied, so that it names what is being applied now.
        revisions: ({ status }) =>
          ['lastAttemptedOriginRevision', 'lastAttemptedRevision'].map((name) => field(status, name)),
      },
    ],
    [
      application,
      {
        reference: {
          apiVersion: 'argoproj.io/v1alpha1',
          kind: 'Application',
          namespace: appNamespace,
          name: application,
        },
        revisions: ({ status }) => [
          field(field(field(status, 'operationState'), 'syncResult'), 'revision'),
          field(field(status, 'sync'), 'revision'),
        ],
      },
    ],
  ];
  return found.flatMap(([name, tracker]) => (name ? [tracker] : []));
}

/** `name:group/kind:namespace/name`, where the name may be `namespace_name`; the label has the name alone. */
function argoApplication(trackingId: string | undefined, instance: string | undefined): [string, string] {
  const named = trackingId?.split(':')[0] || instance || '';
  const [name = '', namespace = 'argocd'] = named.split('_').reverse();
  return [namespace, name];
}

function commitIn(revision: unknown): string {
  return typeof revision === 'string' ? (fullCommit.exec(revision)?.[1] ?? '') : '';
}

function field(value: unknown, name: string): unknown {
  return (value as Record<string, unknown> | null | undefined)?.[name];
}
