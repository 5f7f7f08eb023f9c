import { postPromotionAnnotation } from '../../api/canary/canary.ts';
import {
  canaryLabel,
  controllerOf,
  isRecord,
  type KubernetesObject,
  labelValue,
  recordOf,
} from '../../api/kubernetes.ts';
import { serviceNameLabel } from '../../workload/pods/endpoints.ts';
import { specsOf } from './status/spec-in-force.ts';

/** A key that every Canary has. */
export const anyChange = 'any';

/**
 * The keys of a changed object of a Canary's namespace: it can matter to the Canaries that have one of them (`keysOfCanary`). Workloads, Services and
 * routes have their names, pods, ReplicaSets and ControllerRevisions that of their owner, Secrets their label. A needless key costs a pass, a missing
 * one misses a change: unknown kinds count as routes.
 */
export function keysOfObject({ kind, metadata }: KubernetesObject): readonly string[] {
  const { name, labels = {} } = metadata;
  const ofLabel = labels[canaryLabel] === undefined ? [] : [`label ${labels[canaryLabel]}`];
  switch (kind) {
    case 'Pod':
      return [anyPod, ...ownerKeys({ metadata })];
    case 'ReplicaSet':
    case 'ControllerRevision':
      return ownerKeys({ metadata });
    case 'Revision':
      return [`workload ${labels['serving.knative.dev/service']}`];
    case 'Deployment':
    case 'DaemonSet':
    case 'StatefulSet':
      return [`workload ${name}`, `workload ${without('-primary', name)}`];
    case 'HorizontalPodAutoscaler':
    case 'ScaledObject':
      return [`scaler ${name}`, `scaler ${without('-primary', name)}`];
    case 'Service':
      return [name, without('-primary', name), without('-canary', name)].map((apex) => `service ${apex}`);
    case 'EndpointSlice': {
      // Of the Services of both sides; where a Service is the target, they are its copies.
      const service = labels[serviceNameLabel] ?? '';
      const apexes = [without('-primary', service), without('-canary', service)];
      return apexes.filter((apex) => apex !== service).map((apex) => `service ${apex}`);
    }
    case 'Secret':
      return ofLabel;
    default:
      return [`route ${name}`, ...ofLabel];
  }
}

/** Of a Canary, in its newest spec and in the one in force; from the raw object: one that does not parse is looked at, too. */
export function keysOfCanary(canary: KubernetesObject): readonly string[] {
  const { namespace = '', name } = canary.metadata;
  const keys = specsOf(canary).flatMap(({ spec }) => keysOfSpec(spec));
  return [anyChange, `label ${labelValue(name)}`, ...new Set(keys)].map((key) => keyIn(namespace, key));
}

/** As the keys of many namespaces stand in one index. */
export function keyIn(namespace: string, key: string): string {
  return `${namespace}/${key}`;
}

/** Where the target is a Service, its pods may have any owner. */
const anyPod = 'any pod';

function keysOfSpec(spec: unknown): readonly string[] {
  const { targetRef, service, autoscalerRef, ingressRef, routeRef, upstreamRef } = recordOf(spec);
  const target = nameIn(targetRef);
  const apex = nameIn(service) || target;
  return [
    `workload ${target}`,
    `service ${apex}`,
    `scaler ${nameIn(autoscalerRef)}`,
    ...[apex, ...[ingressRef, routeRef, upstreamRef].map(nameIn)].map((route) => `route ${route}`),
    ...(recordOf(targetRef).kind === 'Service' ? [anyPod] : []),
  ];
}

/** Empty where a field that need not parse names nothing, as no object is called. */
function nameIn(reference: unknown): string {
  const { name } = recordOf(reference);
  return typeof name === 'string' ? name : '';
}

/** What is called after a workload begins with its name and a hyphen: `web`, `web-primary` and more of a ReplicaSet `web-primary-6d5b2448f9`. */
function ownerKeys(object: Pick<KubernetesObject, 'metadata'>): readonly string[] {
  const owner = controllerOf(object)?.name;
  if (owner === undefined) return [];
  const starts = [...owner.matchAll(/-/g)].map(({ index }) => owner.slice(0, index));
  return [...starts, owner].map((workload) => `workload ${workload}`);
}

function without(suffix: string, name: string): string {
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
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
