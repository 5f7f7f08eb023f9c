import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import { isRecord, type KubernetesObject, recordOf, recordsOf, textOf } from '../../api/kubernetes.ts';
import { isService, templateOf } from '../../release/release.ts';
import type { CanaryPlan } from '../../release/select.ts';
import type { FileProblem, RenderResult } from '../../render/rendered-object.ts';
import { serviceNames } from '../../workload/shared/metadata.ts';

/** How the kinds select pods, by apiVersion without its version and kind. */
const podSelectors: Readonly<Record<string, (spec: Readonly<Record<string, unknown>>) => unknown>> = {
  ' Service': ({ selector }) => (isRecord(selector) ? { matchLabels: selector } : undefined),
  'policy PodDisruptionBudget': ({ selector }) => selector,
  'networking.k8s.io NetworkPolicy': ({ podSelector }) => podSelector,
  'monitoring.coreos.com PodMonitor': ({ selector }) => selector,
};

/**
 * Objects that select the target's pods and not those of its primary, which alone run between releases: a Service without endpoints, a budget or a policy
 * that covers nothing. Those that Holdfast writes itself are left out.
 */
export function selectorFindings(
  { objects, lineOf }: RenderResult,
  {
    canary,
    plan,
    primary,
  }: { canary: Canary; plan: CanaryPlan & { state: 'release' }; primary: KubernetesObject },
): FileProblem[] {
  const target = plan.target.object;
  if (isService(target) || sharesWorkload(canary.spec.provider)) return [];
  const [ofTarget, ofPrimary] = [podLabels(target), podLabels(primary)];
  const own = Object.entries(ofPrimary).find(([key, value]) => ofTarget[key] !== value);
  if (!own) return [];
  const written = Object.values(serviceNames(canary));
  return objects
    .filter(({ object }) => object.metadata.namespace === target.metadata.namespace)
    .filter(({ object }) => !isService(object) || !written.includes(object.metadata.name))
    .flatMap(({ object, origin }): FileProblem[] => {
      const [group = ''] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : [];
      const selector = podSelectors[`${group} ${object.kind}`]?.(recordOf(object.spec));
      if (!isRecord(selector) || !selects(selector, ofTarget) || selects(selector, ofPrimary)) return [];
      const field = object.kind === 'NetworkPolicy' ? 'spec.podSelector' : 'spec.selector';
      const message = `selects the pods of ${target.kind} ${target.metadata.name}, of which there are none between releases, and not those of its primary, which have ${own.join('=')}; select by another label of the pod template`;
      return [{ file: origin.file, line: lineOf(origin, field), field, message }];
    });
}

type Labels = Readonly<Record<string, unknown>>;

function podLabels(target: KubernetesObject): Labels {
  return templateOf({ target }).metadata?.labels ?? {};
}

function selects(
  { matchLabels, matchExpressions }: Readonly<Record<string, unknown>>,
  labels: Labels,
): boolean {
  return (
    Object.entries(recordOf(matchLabels)).every(([key, value]) => labels[key] === value) &&
    recordsOf(matchExpressions).every(({ key, operator, values }) => {
      const value = labels[textOf(key) ?? ''];
      const isAmong = Array.isArray(values) && values.includes(value);
      if (operator === 'In') return isAmong;
      if (operator === 'NotIn') return !isAmong;
      return (operator === 'Exists') === (value !== undefined);
    })
  );
}
