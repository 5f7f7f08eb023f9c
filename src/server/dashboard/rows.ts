import { pauseAnnotation } from '../../api/annotations.ts';
import type { Canary } from '../../api/canary/canary.ts';
import {
  canaryStatus,
  conditionOf,
  messageOf,
  phaseOf,
  reasonBehind,
  shareOf,
  shortCommit,
  sourceMessageOf,
  toneOf,
} from '../../api/canary/summary.ts';
import { isSuspended, type KubernetesObject, partOfLabel } from '../../api/kubernetes.ts';
import type { SourceStatus } from '../../api/source/source.ts';
import type { CanaryRow, SourceRow } from '../../dashboard/views.ts';

const ownerAnnotation = 'holdfast.dev/owner';

/** A Canary in the list. `sourceOf`: the Source with this ApplySet, as `namespace/name`. */
export function canaryRow(
  object: KubernetesObject,
  sourceOf: (applySet: string) => string | undefined,
): CanaryRow {
  const status = canaryStatus(object);
  const { name, namespace = '', annotations = {}, labels = {} } = object.metadata;
  const serving = status.serving?.[0];
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
    owner: annotations[ownerAnnotation] ?? sourceOf(labels[partOfLabel] ?? '') ?? '',
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
