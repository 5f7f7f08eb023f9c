import { postPromotionAnnotation } from '../../api/canary/canary.ts';
import { canaryLabel, isRecord, type KubernetesObject, labelValue } from '../../api/kubernetes.ts';
import { serviceNameLabel } from '../../workload/pods/endpoints.ts';

interface Names {
  readonly canary: string;
  readonly target: string;
  readonly apex: string;
  /** Of routing objects: the apex, and those that the Canary names. */
  readonly routes: readonly string[];
  readonly scaler: string | undefined;
  /** The target is a Service: its pods may have any owner. */
  readonly isService: boolean;
}

/**
 * Whether a changed object of a Canary's namespace can matter to it: workloads, Services and routes by name, pods, ReplicaSets and
 * ControllerRevisions by the name of their owner, Secrets by label. A needless yes costs a pass, a wrong no misses a change: unknown kinds matter.
 */
export function affects(object: KubernetesObject, canary: KubernetesObject): boolean {
  const names = relatedNames(canary);
  const { name, labels, ownerReferences } = object.metadata;
  switch (object.kind) {
    case 'Pod':
    case 'ReplicaSet':
    case 'ControllerRevision':
      return (
        (names.isService && object.kind === 'Pod') ||
        ownerReferences?.some(
          (owner) => owner.name === names.target || owner.name.startsWith(`${names.target}-`),
        ) === true
      );
    case 'Revision':
      return labels?.['serving.knative.dev/service'] === names.target;
    case 'Deployment':
    case 'DaemonSet':
    case 'StatefulSet':
      return name === names.target || name === `${names.target}-primary`;
    case 'HorizontalPodAutoscaler':
    case 'ScaledObject':
      return name === names.scaler || name === `${names.scaler}-primary`;
    case 'Service':
      return name === names.apex || name === `${names.apex}-primary` || name === `${names.apex}-canary`;
    case 'EndpointSlice':
      // Of the Services of both sides; where a Service is the target, they are its copies.
      return [`${names.apex}-primary`, `${names.apex}-canary`].includes(labels?.[serviceNameLabel] ?? '');
    case 'Secret':
      return labels?.[canaryLabel] === labelValue(names.canary);
    default:
      return names.routes.includes(name) || labels?.[canaryLabel] === labelValue(names.canary);
  }
}

/** From the raw object: a Canary that does not parse is looked at, too. */
function relatedNames(canary: KubernetesObject): Names {
  const { targetRef, service, autoscalerRef, ...routes } = (canary.spec ?? {}) as {
    targetRef?: { kind?: string; name?: string };
    service?: { name?: string };
    autoscalerRef?: { name?: string };
    ingressRef?: { name?: string };
    routeRef?: { name?: string };
    upstreamRef?: { name?: string };
  };
  const target = targetRef?.name ?? '';
  return {
    canary: canary.metadata.name,
    target,
    apex: service?.name || target,
    routes: [
      service?.name || target,
      ...[routes.ingressRef, routes.routeRef, routes.upstreamRef].flatMap((one) => one?.name ?? []),
    ],
    scaler: autoscalerRef?.name,
    isService: targetRef?.kind === 'Service',
  };
}

/**
 * Whether a changed MetricTemplate or AlertProvider can be one that the Canary names; from the raw Canary, which need not parse. One of another
 * namespace is named with it: a name such as `1m` is in the spec of most Canaries.
 */
export function mayName({ spec = {}, metadata }: KubernetesObject, changed: KubernetesObject): boolean {
  const { name, namespace = '' } = changed.metadata;
  const text = textOf(spec);
  const annotated = metadata.annotations?.[postPromotionAnnotation] ?? '';
  const says = (word: string) => text.includes(JSON.stringify(word)) || annotated.includes(word);
  return (namespace === metadata.namespace || says(namespace)) && says(name);
}

const texts = new WeakMap<object, string>();

/** Specs of the caches never change, and whoever may edit a template can have all of them looked at again and again. */
function textOf(spec: unknown): string {
  if (!isRecord(spec)) return '';
  const text = texts.get(spec) ?? JSON.stringify(spec);
  texts.set(spec, text);
  return text;
}

/** The Canary itself and those with the same target: when one is deleted, the other may begin. */
export function canariesOfSameTarget(
  canary: KubernetesObject,
  all: readonly KubernetesObject[],
): KubernetesObject[] {
  const target = JSON.stringify((canary.spec as { targetRef?: unknown } | undefined)?.targetRef);
  return all.filter(
    (other) =>
      other.metadata.namespace === canary.metadata.namespace &&
      (other.metadata.name === canary.metadata.name ||
        JSON.stringify((other.spec as { targetRef?: unknown } | undefined)?.targetRef) === target),
  );
}
