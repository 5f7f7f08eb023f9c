/** Scalers (autoscalerRef): what is written for both copies, and what is read back (flagger-behaviour.md 2.10, S18). */
import type { Canary } from '../api/canary/canary.ts';
import {
  describe,
  fromEntries,
  type KubernetesObject,
  keepAwayAnnotations,
  ownerReference,
  ownLabels,
  present,
} from '../api/kubernetes.ts';
import { durationOr } from '../api/time.ts';
import type { ScalerSide, ScalerView } from '../rollout/world.ts';
import { copyableEntries, primaryName } from './shared/metadata.ts';
import { refuseForeign, refuseTarget } from './shared/refusal.ts';

type Fields = Record<string, unknown>;

/** One kind of scaler: the fields of its bounds, and their defaults. */
export interface ScalerKind {
  readonly apiVersion: string;
  readonly kind: ScalerView['kind'];
  readonly minimum: { readonly field: string; readonly standard: number };
  readonly maximum: { readonly field: string; readonly standard: number };
}

const kinds: readonly ScalerKind[] = [
  {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    minimum: { field: 'minReplicas', standard: 1 },
    maximum: { field: 'maxReplicas', standard: 1 },
  },
  {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    minimum: { field: 'minReplicaCount', standard: 0 },
    maximum: { field: 'maxReplicaCount', standard: 100 },
  },
];

/** What minReplicas was before a rollout raised it. */
const minReplicasAnnotation = 'holdfast.dev/min-replicas';
/** KEDA scales to this number instead of minReplicaCount while there is no load; saved while a rollout needs pods. */
const idleField = 'idleReplicaCount';
const idleAnnotation = 'holdfast.dev/idle-replicas';
/** KEDA scales to this number and then pauses. */
const pausedAnnotation = 'autoscaling.keda.sh/paused-replicas';

/** Others set these of KEDA: it adds no pod then. */
const holdingAnnotations = ['autoscaling.keda.sh/paused', 'autoscaling.keda.sh/paused-scale-out'];

/** On the scaler in Git: how long it takes to react to a change of the load, at most 10m. */
const settleAnnotation = 'holdfast.dev/settle-time';
/** From requests to a HorizontalPodAutoscaler: scrape interval, a rate over at most a minute, its own 15 s. */
const usualSettleMs = 60_000;
const mostSettleMs = 600_000;

/** Kinds of targets without `replicas`. */
const unscaled: ReadonlySet<string> = new Set(['DaemonSet', 'Service']);

/** Kinds of scalers, whether they are served or not. */
export const scalerKinds: readonly { readonly apiVersion: string; readonly kind: string }[] = kinds;

/** The part of a Canary's spec that names its scaler; from an object that need not be valid. */
export interface ScalerSpec {
  readonly targetRef?:
    | { readonly apiVersion?: string | undefined; readonly kind?: string | undefined }
    | undefined;
  readonly autoscalerRef?:
    | { readonly kind?: string | undefined; readonly name?: string | undefined }
    | undefined;
}

/** The kind of scaler of a Canary; undefined without one, and for targets that cannot be scaled. */
export function scalerKindOf({ targetRef, autoscalerRef }: ScalerSpec): ScalerKind | undefined {
  if (!autoscalerRef || unscaled.has(targetRef?.kind ?? '')) return undefined;
  return kinds.find(({ kind }) => kind === autoscalerRef.kind);
}

/** Names of the scalers of both copies. */
export function scalerNames(canary: { readonly spec: ScalerSpec }): { canary: string; primary: string } {
  const name = canary.spec.autoscalerRef?.name ?? '';
  return { canary: name, primary: `${name}-primary` };
}

/** One scaler as the rollout sees it; undefined when it does not exist. */
export function scalerSide(kind: ScalerKind, object: KubernetesObject | undefined): ScalerSide | undefined {
  if (!object || object.metadata.deletionTimestamp) return undefined;
  const { annotations = {} } = object.metadata;
  const isRaised = annotations[minReplicasAnnotation] !== undefined;
  return {
    minReplicas: lowestOf(kind, object),
    maxReplicas: boundOf(object, kind.maximum),
    restoreMinReplicas: isRaised ? (idleOf(object) ?? minReplicasOf(kind, object)) : undefined,
    paused: annotations[pausedAnnotation] === '0',
    heldBy: holdingAnnotations.find((key) => annotations[key] === 'true'),
  };
}

/** Milliseconds until this scaler reacts to a change of the load. */
export function settleMsOf(object: KubernetesObject | undefined): number {
  return Math.min(durationOr(object?.metadata.annotations?.[settleAnnotation], usualSettleMs), mostSettleMs);
}

/** The target's scaler as in Git, with explicit bounds, so that one removed from Git does not stay. Throws RefusedError. */
export function ownScaler(kind: ScalerKind, canary: Canary, scaler: KubernetesObject): KubernetesObject {
  refuseOther(kind, canary, scaler);
  const { name, labels } = scaler.metadata;
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name,
      namespace: namespaceOf(canary),
      ...(labels ? { labels } : {}),
      annotations: withoutPause(scaler.metadata.annotations),
    },
    spec: {
      ...givenFields(scaler),
      [kind.minimum.field]: minReplicasOf(kind, scaler),
      [kind.maximum.field]: boundOf(scaler, kind.maximum),
    },
  };
}

/** A rollout alone sets this pause: one from Git would be written and replaced by turns. */
function withoutPause(
  annotations: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const { [pausedAnnotation]: _, ...others } = annotations ?? {};
  return others;
}

/** The spec without fields of no value (`metrics:`), as charts leave them: the API server has its defaults there, and they would be written at each look. */
function givenFields({ spec }: KubernetesObject): Fields {
  return fromEntries(Object.entries(spec as Fields).filter(([, value]) => value !== null));
}

/** The primary's copy of the target's scaler, never raised and never paused (flagger issue 1934). Throws RefusedError. */
export function primaryScaler(
  kind: ScalerKind,
  canary: Canary,
  { source, live }: { source: KubernetesObject; live: KubernetesObject | undefined },
): KubernetesObject {
  refuseOther(kind, canary, source);
  refuseForeign(live, canary);
  const spec = givenFields(source);
  const scaleTargetRef = { ...(spec.scaleTargetRef as Fields), name: primaryName(canary) };
  const annotations = withoutPause(copyableEntries(source.metadata.annotations));
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name: scalerNames(canary).primary,
      namespace: namespaceOf(canary),
      labels: { ...copyableEntries(source.metadata.labels), ...ownLabels(canary) },
      annotations: { ...(kind.kind === 'ScaledObject' ? annotations : {}), ...keepAwayAnnotations },
      ownerReferences: [ownerReference(canary)],
    },
    spec: {
      ...spec,
      ...(kind.kind === 'ScaledObject' ? primaryTriggers(canary, spec) : {}),
      ...primaryBounds(kind, canary, source),
      ...present({ [idleField]: idleOf(source) }),
      scaleTargetRef,
    },
  };
}

/** Bounds that primaryScalerReplicas leaves out are those of the target's scaler. */
function primaryBounds(kind: ScalerKind, canary: Canary, source: KubernetesObject): Record<string, number> {
  const given = canary.spec.autoscalerRef?.primaryScalerReplicas;
  const { minReplicas = minReplicasOf(kind, source), maxReplicas = boundOf(source, kind.maximum) } =
    given ?? {};
  if (given && minReplicas > maxReplicas)
    refuseTarget(
      canary,
      'spec.autoscalerRef.primaryScalerReplicas',
      `the primary would have at least ${minReplicas} and at most ${maxReplicas} pods`,
    );
  return { [kind.minimum.field]: minReplicas, [kind.maximum.field]: maxReplicas };
}

/** Merge patch that raises minReplicas and records the former value, or restores that; undefined when nothing is to be done. */
export function minReplicasPatch(
  kind: ScalerKind,
  object: KubernetesObject,
  minReplicas: number | undefined,
): Record<string, unknown> | undefined {
  const { annotations = {} } = object.metadata;
  const { [minReplicasAnnotation]: before, [idleAnnotation]: idleBefore } = annotations;
  if (minReplicas === lowestOf(kind, object)) return undefined;
  const { field } = kind.minimum;
  const current = boundOf(object, kind.minimum);
  if (minReplicas !== undefined) {
    const idle = idleIn(object);
    const saved = { [minReplicasAnnotation]: before ?? String(current) };
    if (idle === undefined) return { metadata: { annotations: saved }, spec: { [field]: minReplicas } };
    return {
      metadata: { annotations: { ...saved, [idleAnnotation]: String(idle) } },
      spec: { [field]: Math.max(minReplicas, current), [idleField]: null },
    };
  }
  if (before === undefined) return undefined;
  const gone = { [minReplicasAnnotation]: null, ...(idleBefore ? { [idleAnnotation]: null } : {}) };
  return {
    metadata: { annotations: gone },
    spec: { [field]: minReplicasOf(kind, object), ...present({ [idleField]: idleOf(object) }) },
  };
}

/** Merge patch that removes an idleReplicaCount that is not wanted any more: who restored it owns it, too. */
export function idlePatch(
  live: KubernetesObject,
  wanted: KubernetesObject,
): Record<string, unknown> | undefined {
  const isLeft = idleIn(live) !== undefined && idleIn(wanted) === undefined;
  return isLeft ? { spec: { [idleField]: null } } : undefined;
}

/** Merge patch that pauses a ScaledObject at zero pods or resumes it; undefined when nothing is to be done. */
export function pausePatch(object: KubernetesObject, paused: boolean): Record<string, unknown> | undefined {
  const isPaused = object.metadata.annotations?.[pausedAnnotation] === '0';
  if (isPaused === paused) return undefined;
  return { metadata: { annotations: { [pausedAnnotation]: paused ? '0' : null } } };
}

/** minReplicas without a rollout. An unreadable annotation gives the default; at rest Git's value is written. */
function minReplicasOf(kind: ScalerKind, object: KubernetesObject): number {
  const before = object.metadata.annotations?.[minReplicasAnnotation];
  if (before === undefined) return boundOf(object, kind.minimum);
  return /^\d{1,9}$/.test(before) ? Number(before) : kind.minimum.standard;
}

/** The fewest pods that it scales to now. */
function lowestOf(kind: ScalerKind, object: KubernetesObject): number {
  return idleIn(object) ?? boundOf(object, kind.minimum);
}

function idleIn({ spec }: KubernetesObject): number | undefined {
  const value = (spec as Fields | undefined)?.[idleField];
  return typeof value === 'number' ? value : undefined;
}

/** The same without a rollout. */
function idleOf(object: KubernetesObject): number | undefined {
  const before = object.metadata.annotations?.[idleAnnotation] ?? '';
  return idleIn(object) ?? (/^\d{1,9}$/.test(before) ? Number(before) : undefined);
}

function boundOf(
  { spec }: KubernetesObject,
  { field, standard }: { readonly field: string; readonly standard: number },
): number {
  const value = (spec as Fields | undefined)?.[field];
  return typeof value === 'number' ? value : standard;
}

function namespaceOf(canary: Canary): string {
  return canary.metadata.namespace ?? 'default';
}

/** Of another version fields would be read wrongly; of another workload it would be copied for nothing. */
function refuseOther(kind: ScalerKind, canary: Canary, scaler: KubernetesObject): void {
  if (scaler.apiVersion !== kind.apiVersion) {
    const cpu = (scaler.spec as Fields | undefined)?.targetCPUUtilizationPercentage;
    const instead =
      cpu === undefined
        ? ''
        : '; in place of targetCPUUtilizationPercentage, spec.metrics names the resource cpu with its averageUtilization';
    refuseTarget(scaler, 'apiVersion', `must be ${kind.apiVersion}${instead}`);
  }
  const { name } = ((scaler.spec as Fields | undefined)?.scaleTargetRef ?? {}) as { name?: string };
  const target = canary.spec.targetRef.name;
  if (name !== target)
    refuseTarget(scaler, 'spec.scaleTargetRef.name', `must be ${target}, the target of ${describe(canary)}`);
}

// Parts of a ScaledObject that name the target's own pods, rewritten for the primary (flagger-behaviour.md 2.10).

/** Triggers and the name of the generated HorizontalPodAutoscaler, as the primary's ScaledObject has them. */
function primaryTriggers(canary: Canary, spec: Fields): Fields {
  const triggers = Array.isArray(spec.triggers) ? (spec.triggers as Fields[]) : [];
  const advanced = spec.advanced as Fields | undefined;
  const config = advanced?.horizontalPodAutoscalerConfig as Fields | undefined;
  const named = typeof config?.name === 'string' ? { ...config, name: `${config.name}-primary` } : config;
  return {
    triggers: triggers.map((trigger) => primaryTrigger(canary, trigger)),
    ...(advanced && named ? { advanced: { ...advanced, horizontalPodAutoscalerConfig: named } } : {}),
  };
}

/** With primaryScalerQueries only the triggers that they name are changed, and their query is replaced. */
function primaryTrigger(canary: Canary, trigger: Fields): Fields {
  const metadata = trigger.metadata as Fields | undefined;
  const given = canary.spec.autoscalerRef?.primaryScalerQueries;
  const { name } = trigger;
  if (given && !(typeof name === 'string' && Object.hasOwn(given, name))) return trigger;
  const query = given ? given[String(name)] : metadata?.query;
  if (typeof query !== 'string') return trigger;
  const primaryQuery = given ? query : withPrimaryName(canary, query);
  return { ...trigger, metadata: { ...metadata, query: primaryQuery } };
}

/**
 * Names of the target, its canary and its primary all become the primary's. A name inside a longer word is something else, such as a metric
 * that begins with it; Flagger rewrites that, too.
 */
function withPrimaryName(canary: Canary, query: string): string {
  const { name } = canary.spec.targetRef;
  const literal = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const word = new RegExp(`(?<![A-Za-z0-9_])${literal}(-canary|-primary)?(?![A-Za-z0-9_])`, 'g');
  return query.replace(word, () => primaryName(canary));
}
