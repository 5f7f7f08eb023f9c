import { pauseAnnotation } from '../../api/annotations.ts';
import type { Canary } from '../../api/canary/canary.ts';
import {
  canaryStatus,
  messageOf,
  phaseOf,
  reasonBehind,
  shareOf,
  shortCommit,
  sourceMessageOf,
  toneOf,
} from '../../api/canary/summary.ts';
import { conditionOf, isSuspended, type KubernetesObject, partOfLabel } from '../../api/kubernetes.ts';
import { limits, shorten } from '../../api/limits.ts';
import type { SourceStatus } from '../../api/source/source.ts';
import type { CanaryRow, ObjectRow, Section, SourceRow } from '../../dashboard/views.ts';
import { inventoryOf, splitGroupKind } from '../../engine/sync/scope/inventory.ts';
import { healthOf } from '../../engine/sync/status/health.ts';

const ownerAnnotation = 'holdfast.dev/owner';

/** A Canary in the list. `sourceOf`: the Source with this ApplySet, as `namespace/name`. */
export function canaryRow(
  object: KubernetesObject,
  sourceOf: (applySet: string) => string | undefined,
): CanaryRow {
  const status = canaryStatus(object);
  const { name, namespace = '', annotations = {}, labels = {} } = object.metadata;
  const serving = status.serving?.[0];
  const owner = annotations[ownerAnnotation] ?? sourceOf(labels[partOfLabel] ?? '') ?? '';
  const ready = conditionOf(status, 'Ready');
  return {
    namespace,
    name,
    tone: toneOf(object),
    phase: phaseOf(object),
    weightPercent: status.canaryWeight,
    share: shareOf(status),
    serving: serving ? (serving.subject ?? shortCommit(serving.commit)) : '',
    servingCommit: serving?.commit ?? '',
    headCommit: status.lastAppliedCommit ?? '',
    reason: ready?.reason ?? '',
    message: messageOf(object),
    why: reasonBehind(object),
    next: status.next,
    owner: shorten(owner, limits.messageCharacters),
    isPaused: annotations[pauseAnnotation] === 'true',
  };
}

/** A Source in the list. */
export function sourceRow(object: KubernetesObject): SourceRow {
  const status = (object.status ?? {}) as SourceStatus;
  const { name, namespace = '' } = object.metadata;
  const ready = conditionOf(status, 'Ready');
  return {
    namespace,
    name,
    tone: ready?.status === 'True' ? 'good' : ready?.status === 'False' ? 'bad' : 'busy',
    ready: isSuspended(object) ? 'Suspended' : (ready?.status ?? '-'),
    reason: ready?.reason ?? '',
    commit: status.appliedCommit ?? '',
    subject: status.head?.subject ?? '',
    canaries: status.counts?.canaries,
    message: sourceMessageOf(object),
  };
}

/** The steps of the analysis, in a few words. */
export function stepsOf({ spec }: Canary): string {
  const { stepWeights, stepWeight, maxWeight, iterations, match, interval } = spec.analysis ?? {};
  const every = interval ? `, every ${interval}` : '';
  if (stepWeights?.length) return `steps ${stepWeights.join(', ')} %${every}`;
  if (stepWeight) return `steps of ${stepWeight} % up to ${maxWeight ?? 100} %${every}`;
  if (iterations) return `${iterations} iterations${match ? ' of an A/B test' : ''}${every}`;
  return every ? `one step${every}` : '';
}

/** The address of a repository. Over SSH the user stays; over HTTP a user name alone may be a token. */
export function withoutCredentials(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  parsed.password = '';
  if (parsed.protocol !== 'ssh:') parsed.username = '';
  return parsed.href;
}

/** Kinds of the objects of a Source, as its annotation for ApplySets says: `Deployment.apps,Service`. Users who may edit the Source can change it, and each kind needs a watch. */
export function groupKindsOf(source: KubernetesObject): ReturnType<typeof splitGroupKind>[] {
  return [...inventoryOf(source).groupKinds].slice(0, limits.kindsOutsideGit).map(splitGroupKind);
}

const tones = { healthy: 'good', progressing: 'busy', failed: 'bad' } as const;

/** The objects of a Source, unhealthy ones first. */
export function objectRows(objects: readonly KubernetesObject[]): ObjectRow[] {
  return objects
    .map((object): ObjectRow => {
      const health = healthOf(object, object);
      const { kind, metadata } = object;
      const problem = health.kind === 'healthy' ? '' : health.why;
      return {
        kind,
        namespace: metadata.namespace ?? '',
        name: metadata.name,
        tone: tones[health.kind],
        problem,
      };
    })
    .sort(
      (a, b) =>
        Number(a.tone === 'good') - Number(b.tone === 'good') ||
        `${a.kind}/${a.namespace}/${a.name}`.localeCompare(`${b.kind}/${b.namespace}/${b.name}`),
    );
}

/** So many of the rows, and how many more there are. */
export function firstOf<Row>(rows: readonly Row[], most: number): Section<readonly Row[]> {
  const more = Math.max(0, rows.length - most);
  return { value: rows.slice(0, most), ...(more > 0 ? { more } : {}) };
}
