import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { ConditionNews } from '../../conditions.ts';
import { listed } from '../listed.ts';
import type { SourceState } from '../source-parts.ts';

type News = Omit<ConditionNews, 'type'>;

/**
 * The condition Healthy: False while one of the Source's Canaries is rejected or held (design section 2.2), and with `spec.wait` until every
 * object that it applied works; Unknown as long as that may still come.
 */
export function healthyNews(
  { snapshot, health }: Pick<SourceState, 'snapshot' | 'health'>,
  canaries: readonly KubernetesObject[],
): News {
  if (!snapshot)
    return { status: 'Unknown', reason: 'NotRead', message: 'the repository has not been read yet' };
  const names = new Set(snapshot.plans.map(({ canary }) => `${canary.namespace}/${canary.name}`));
  const ill = canaries.filter((canary) => {
    const key = `${canary.metadata.namespace}/${canary.metadata.name}`;
    return names.has(key) && isRejectedOrHeld(canary);
  });
  if (ill.length > 0) return { status: 'False', reason: 'CanaryRejected', message: listed(ill.map(inWords)) };
  const { objects = 0, failed = [], progressing = [], isLate = false } = health ?? {};
  if (failed.length > 0)
    return { status: 'False', reason: 'Unhealthy', message: listed([...failed, ...progressing]) };
  if (progressing.length > 0) {
    const message = listed(progressing);
    if (isLate)
      return { status: 'False', reason: 'HealthTimeout', message: `not within spec.timeout: ${message}` };
    return { status: 'Unknown', reason: 'Progressing', message };
  }
  const works = health ? `${objects} objects work; ` : '';
  return {
    status: 'True',
    reason: 'Healthy',
    message: `${works}${names.size} Canaries, none rejected or held`,
  };
}

function inWords({ metadata, status }: KubernetesObject): string {
  const message = (status as { message?: string } | undefined)?.message ?? '';
  return `Canary ${metadata.namespace}/${metadata.name}: ${message}`;
}

function isRejectedOrHeld({ status }: KubernetesObject): boolean {
  const { phase, postPromotion } = (status ?? {}) as { phase?: string; postPromotion?: { state?: string } };
  return phase === 'Failed' || postPromotion?.state === 'Held';
}
