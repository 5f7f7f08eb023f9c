import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import {
  isRecord,
  type KubernetesObject,
  objectKey,
  podTemplatePath,
  recordOf,
  recordsOf,
  textOf,
  valueAt,
} from '../../api/kubernetes.ts';
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

/**
 * Other workloads whose pods have the value that tells the target's pods apart, as the components of a chart share `app.kubernetes.io/name`: the
 * Services that Holdfast writes select by that label alone, and would send requests to them.
 */
export function sharedLabelFindings(
  { objects, lineOf }: RenderResult,
  {
    canary,
    plan,
    primary,
  }: { canary: Canary; plan: CanaryPlan & { state: 'release' }; primary: KubernetesObject },
): FileProblem[] {
  const { object: target, origin } = plan.target;
  if (isService(target) || sharesWorkload(canary.spec.provider)) return [];
  const [ofTarget, ofPrimary] = [podLabels(target), podLabels(primary)];
  const [key] = Object.entries(ofPrimary).find(([name, value]) => ofTarget[name] !== value) ?? [];
  if (key === undefined) return [];
  const others = objects.filter(
    ({ object }) =>
      object.metadata.namespace === target.metadata.namespace &&
      objectKey(object) !== objectKey(target) &&
      templateLabels(object)[key] === ofTarget[key],
  );
  if (others.length === 0) return [];
  const shown = others.slice(0, 3).map(({ object }) => `${object.kind} ${object.metadata.name}`);
  const more = others.length > 3 ? ` and ${others.length - 3} more` : '';
  const field = 'spec.selector.matchLabels';
  const message = `the pods of ${shown.join(', ')}${more} have ${key}=${String(ofTarget[key])}, too, and the Services of Canary ${canary.metadata.name} select by this label alone, so that they get its requests; give each its own value, or choose a label that differs with --selector-labels, here and of holdfast run`;
  return [{ file: origin.file, line: lineOf(origin, field), field, message }];
}

/** Of whatever makes pods; others have none. */
function templateLabels(object: KubernetesObject): Labels {
  const template = recordOf(valueAt(object, podTemplatePath(object.kind)));
  return Array.isArray(recordOf(template.spec).containers)
    ? recordOf(recordOf(template.metadata).labels)
    : {};
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
