import { type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import {
  groupOf,
  isRecord,
  type KubernetesObject,
  objectKey,
  podTemplatePath,
  recordOf,
  recordsOf,
  textOf,
  valueAt,
} from '../../api/kubernetes.ts';
import { listNames } from '../../api/limits.ts';
import type { CanaryPlan } from '../../release/plan.ts';
import { isService, templateOf } from '../../release/release.ts';
import type { FileProblem, RenderResult } from '../../render/rendered-object.ts';
import { serviceNames } from '../../workload/shared/metadata.ts';

/** How the kinds select pods, by apiVersion without its version and kind. */
const podSelectors: Readonly<Record<string, (spec: Readonly<Record<string, unknown>>) => unknown>> = {
  ' Service': ({ selector }) => (isRecord(selector) ? { matchLabels: selector } : undefined),
  'policy PodDisruptionBudget': ({ selector }) => selector,
  'networking.k8s.io NetworkPolicy': ({ podSelector }) => podSelector,
  'monitoring.coreos.com PodMonitor': ({ selector }) => selector,
};

/** The field in which the kinds that set the number or the size of pods name a workload, by apiVersion without its version and kind. */
const scaledBy: Readonly<Record<string, string>> = {
  'autoscaling HorizontalPodAutoscaler': 'scaleTargetRef',
  'keda.sh ScaledObject': 'scaleTargetRef',
  'autoscaling.k8s.io VerticalPodAutoscaler': 'targetRef',
};

/** What select the wrong pods beside a Canary: objects of Git that miss the pods of its primary, and its own Services that meet those of other workloads. */
export function selectorFindings(
  rendered: RenderResult,
  {
    canary,
    plan,
    primary,
    defaultProvider,
  }: {
    canary: Canary;
    plan: CanaryPlan & { state: 'release' };
    primary: KubernetesObject;
    defaultProvider: string;
  },
): FileProblem[] {
  const { object: target, origin } = plan.target;
  if (isService(target) || sharesWorkload(canary.spec.provider ?? defaultProvider)) return [];
  const beside = rendered.objects.filter(
    ({ object }) =>
      object.metadata.namespace === target.metadata.namespace && objectKey(object) !== objectKey(target),
  );
  const scalers = scalersWithoutPrimary(beside, canary, primary).map(
    ({ object, origin: place }): FileProblem => {
      const field = `spec.${scalerField(object)}.name`;
      const isNamed = object.kind !== 'VerticalPodAutoscaler';
      const remedy = isNamed
        ? `name it in spec.autoscalerRef of Canary ${canary.metadata.name}`
        : `name ${primary.metadata.name} here`;
      const message = `scales ${target.kind} ${target.metadata.name}, which has no pods between releases, and not its primary; ${remedy}`;
      return { file: place.file, line: rendered.lineOf(place, field), field, message };
    },
  );
  const labels = { target: podLabels(target), primary: podLabels(primary) };
  const [key] = Object.entries(labels.primary).find(([name, value]) => labels.target[name] !== value) ?? [];
  if (key === undefined) return scalers;
  const shared = sharedLabel(beside, canary, { key, value: labels.target[key] });
  const field = 'spec.selector.matchLabels';
  return [
    ...scalers,
    ...missingPrimary(beside, canary, labels).map(({ object, origin: place }): FileProblem => {
      const selector = object.kind === 'NetworkPolicy' ? 'spec.podSelector' : 'spec.selector';
      const message = `selects the pods of ${target.kind} ${target.metadata.name}, of which there are none between releases, and not those of its primary, which have ${key}=${labels.primary[key]}; select by another label of the pod template`;
      return { file: place.file, line: rendered.lineOf(place, selector), field: selector, message };
    }),
    ...(shared ? [{ file: origin.file, line: rendered.lineOf(origin, field), field, message: shared }] : []),
  ];
}

/**
 * Objects that select the target's pods and not those of its primary, which alone run between releases: a Service without endpoints, a budget or a policy
 * that covers nothing. Those that Holdfast writes itself are left out, and those beside which another one selects the primary's alone.
 */
function missingPrimary(
  beside: RenderResult['objects'],
  canary: Canary,
  { target, primary }: { readonly target: Labels; readonly primary: Labels },
): RenderResult['objects'] {
  const written = Object.values(serviceNames(canary));
  const selecting = beside.filter(
    ({ object }) => !isService(object) || !written.includes(object.metadata.name),
  );
  const thoseOf = (labels: Labels, others: Labels) =>
    selecting.filter(({ object }) => selectsPods(object, labels) && !selectsPods(object, others));
  const paired = new Set(thoseOf(primary, target).map(({ object }) => object.kind));
  return thoseOf(target, primary).filter(({ object }) => !paired.has(object.kind));
}

/** Scalers that name the target, but for the kind that Holdfast copies for the primary, and those beside which another one names the primary. */
function scalersWithoutPrimary(
  beside: RenderResult['objects'],
  { spec: { targetRef, autoscalerRef } }: Canary,
  primary: KubernetesObject,
): RenderResult['objects'] {
  const thoseOf = (workload: string) =>
    beside.filter(({ object }) => {
      const { kind = 'Deployment', name } = recordOf(recordOf(object.spec)[scalerField(object)]);
      return kind === targetRef.kind && name === workload;
    });
  const paired = new Set(thoseOf(primary.metadata.name).map(({ object }) => object.kind));
  return thoseOf(targetRef.name).filter(
    ({ object: { kind } }) => !paired.has(kind) && kind !== autoscalerRef?.kind,
  );
}

function scalerField({ apiVersion, kind }: KubernetesObject): string {
  return scaledBy[`${groupOf(apiVersion)} ${kind}`] ?? '';
}

function selectsPods({ apiVersion, kind, spec }: KubernetesObject, labels: Labels): boolean {
  const selector = podSelectors[`${groupOf(apiVersion)} ${kind}`]?.(recordOf(spec));
  return isRecord(selector) && selects(selector, labels);
}

/**
 * Which other workloads' pods have the value that tells the target's pods apart, as the components of a chart share `app.kubernetes.io/name`: the
 * Services that Holdfast writes select by that label alone, and would send requests to them.
 */
function sharedLabel(
  beside: RenderResult['objects'],
  canary: Canary,
  { key, value }: { readonly key: string; readonly value: string | undefined },
): string | undefined {
  const others = beside.filter(({ object }) => templateLabels(object)[key] === value);
  if (others.length === 0) return undefined;
  const named = others.map(({ object }) => `${object.kind} ${object.metadata.name}`);
  return `the pods of ${listNames(named, 3)} have ${key}=${value}, too, and the Services of Canary ${canary.metadata.name} select by this label alone, so that they get its requests; give each its own value, or choose a label that differs with --selector-labels, here and of holdfast run`;
}

/** Of whatever makes pods; others have none. */
function templateLabels(object: KubernetesObject): Readonly<Record<string, unknown>> {
  const template = recordOf(valueAt(object, podTemplatePath(object.kind)));
  return Array.isArray(recordOf(template.spec).containers)
    ? recordOf(recordOf(template.metadata).labels)
    : {};
}

type Labels = Readonly<Record<string, string>>;

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
