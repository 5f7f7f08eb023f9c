/** The last valid spec of a Canary goes on to be acted on while the newest one cannot be (ADR 30). */

import { type Canary, postPromotionAnnotation, sharesWorkload } from '../../../api/canary/canary.ts';
import type { SpecInForce } from '../../../api/canary/status.ts';
import { canaryStatus } from '../../../api/canary/summary.ts';
import { checkCanary } from '../../../api/canary/validate.ts';
import { awaitsFinalizer } from '../../../api/flagger.ts';
import { parseCanary } from '../../../api/kinds/parse.ts';
import { describe, type KubernetesObject, recordOf } from '../../../api/kubernetes.ts';
import { EngineError, type Failure, invalidCanary, unknownProvider } from '../../failure.ts';
import { providerOf, type ReadParts } from '../context/observation.ts';

/** Reasons of specs that only their author can fix. */
const invalidReasons: ReadonlySet<string> = new Set(['InvalidSpec', 'UnknownProvider']);

/** A Canary that can be acted on. */
export interface CanaryInForce {
  /** With the spec in force; all else is as it is now. */
  readonly canary: Canary;
  /** To be stored in the status. */
  readonly specInForce: SpecInForce;
  /** Why the newest spec is not the one in force. */
  readonly invalid?: Failure | undefined;
}

/**
 * The Canary with its newest spec or, where that cannot be acted on, with the last one that could: a commit must not take the
 * protection from a service. Requests by annotation, suspend, revertOnDeletion, a deletion and the generation are always the current ones.
 */
export function canaryInForce(
  parts: Pick<ReadParts, 'canaries' | 'options' | 'routing'>,
  object: KubernetesObject,
): CanaryInForce | { readonly failure: EngineError } {
  const newest = otherTarget(object) ?? otherRoute(parts, object) ?? readCanary(parts, object);
  if (!('failure' in newest)) {
    const { canary } = newest;
    // As it was read, with what an annotation said of it: the annotation may be what is changed next.
    const spec = canary.spec as unknown as Record<string, unknown>;
    return { canary, specInForce: { generation: canary.metadata.generation ?? 0, spec } };
  }
  const lastValid = lastValidSpec(object);
  if (!lastValid || !invalidReasons.has(newest.failure.reason)) return newest;
  const before = readCanary(parts, withSpec(object, lastValid));
  if ('failure' in before) return newest;
  const { reason, message, transient } = newest.failure;
  const explained = `${message}; the spec of generation ${lastValid.generation} stays in force`;
  const invalid = new EngineError(reason, explained, transient);
  const { canary } = before;
  const spec = { ...canary.spec, ...askedAnyway(object) };
  return { canary: { ...canary, spec }, specInForce: lastValid, invalid };
}

/** Whoever stops a Canary, or wants its traffic back before it goes, means that whatever else the spec says. */
function askedAnyway({ spec }: KubernetesObject): Pick<Canary['spec'], 'suspend' | 'revertOnDeletion'> {
  const { suspend, revertOnDeletion } = recordOf(spec);
  return {
    ...(suspend === true ? { suspend } : {}),
    ...(revertOnDeletion === true ? { revertOnDeletion } : {}),
  };
}

/**
 * Another target after a release proved itself: its primary, records and routes are the former target's, and every request would fail while
 * they are made anew.
 */
function otherTarget(object: KubernetesObject): { readonly failure: EngineError } | undefined {
  const nameOf = (spec: unknown) => {
    const { kind = '', name = '' } =
      (spec as { targetRef?: { kind?: string; name?: string } }).targetRef ?? {};
    return `${kind} ${name}`;
  };
  const before = lastValidSpec(object);
  if (!before || !canaryStatus(object).lastKnownGood || nameOf(before.spec) === nameOf(object.spec ?? {}))
    return undefined;
  const message = `a Canary keeps its target, ${nameOf(before.spec)}; give ${nameOf(object.spec ?? {})} a Canary of its own`;
  return { failure: invalidCanary([{ path: 'spec.targetRef', message }]) };
}

/** What a Canary's Services and routes are found by. */
interface RouteSpec {
  readonly provider?: string;
  readonly targetRef?: { readonly name?: string };
  readonly service?: { readonly name?: string };
  readonly ingressRef?: unknown;
  readonly routeRef?: unknown;
  readonly upstreamRef?: unknown;
}

/** Other Services or routes while the canary has traffic: its share, or its mirror, would stay on the former ones, and its pods are removed at the end. */
function otherRoute(
  { options }: Pick<ReadParts, 'options'>,
  object: KubernetesObject,
): { readonly failure: EngineError } | undefined {
  const before = lastValidSpec(object);
  const { canaryWeight = 0, iterations = 0, lastKnownGood } = canaryStatus(object);
  if (!before || !lastKnownGood) return undefined;
  // Requests may be copied to it as well.
  const isMirrored = iterations > 0 && recordOf(before.spec.analysis).mirror === true;
  if (canaryWeight === 0 && !isMirrored) return undefined;
  const [former, now] = [before.spec, object.spec ?? {}].map((spec) =>
    partsOfRoute(spec as RouteSpec, options),
  );
  // Between native and copies nothing of this changes before the release has ended (ADR 21).
  if (!former || !now || sharesWorkload(former['spec.provider']) || sharesWorkload(now['spec.provider']))
    return undefined;
  const path = Object.keys(now).find((field) => former[field] !== now[field]);
  if (path === undefined) return undefined;
  // Without the share, which changes with each step: a new message is a new Event.
  const message = 'takes effect once the canary has no traffic';
  return { failure: new EngineError('InvalidSpec', `${path}: ${message}`, true) };
}

function partsOfRoute(
  { provider, targetRef, service, ingressRef, routeRef, upstreamRef }: RouteSpec,
  { defaultProvider }: Pick<ReadParts['options'], 'defaultProvider'>,
): Record<string, string> {
  return {
    'spec.provider': provider ?? defaultProvider,
    'spec.service.name': service?.name || (targetRef?.name ?? ''),
    'spec.ingressRef': JSON.stringify(ingressRef ?? null),
    'spec.routeRef': JSON.stringify(routeRef ?? null),
    'spec.upstreamRef': JSON.stringify(upstreamRef ?? null),
  };
}

/** The object, and once more with the spec in force where that is another one; for callers that only need names. */
export function specsOf(object: KubernetesObject): readonly KubernetesObject[] {
  const lastValid = lastValidSpec(object);
  if (!lastValid || lastValid.generation === object.metadata.generation) return [object];
  return [object, withSpec(object, lastValid)];
}

/** The targets of a Canary, in its newest spec and in the one in force: Canaries that share one of them are found by it. */
export function targetKeys(object: KubernetesObject): readonly string[] {
  const keys = specsOf(object).map(({ spec }) => {
    const { kind, name } = recordOf(recordOf(spec).targetRef);
    return JSON.stringify([object.metadata.namespace, kind, name]);
  });
  return [...new Set(keys)];
}

/** The object with the spec in force, as its status says, for callers that read what a rollout would write. */
export function inForce(object: KubernetesObject): KubernetesObject {
  return specsOf(object).at(-1) ?? object;
}

function lastValidSpec(object: KubernetesObject): SpecInForce | undefined {
  const { specInForce } = canaryStatus(object);
  return typeof specInForce?.spec === 'object' && specInForce.spec !== null ? specInForce : undefined;
}

function withSpec(object: KubernetesObject, { spec }: SpecInForce): KubernetesObject {
  const { [postPromotionAnnotation]: _, ...annotations } = object.metadata.annotations ?? {};
  return { ...object, metadata: { ...object.metadata, annotations }, spec };
}

/**
 * The Canary as a typed object, or the reason why it cannot be acted on: schema, semantics, provider, or a target that an older Canary
 * has already. Only what stops it is a failure.
 */
export function readCanary(
  parts: Pick<ReadParts, 'canaries' | 'options' | 'routing'>,
  object: KubernetesObject,
): { canary: Canary } | { failure: EngineError } {
  const parsed = parsedOnce(object);
  if (!parsed.ok) return { failure: invalidCanary(parsed.problems) };
  const canary = parsed.value;
  const { defaultProvider, minIntervalMs, forbidsOtherNamespaces = false } = parts.options;
  const { problems } = checkCanary(canary, {
    defaultProvider,
    forbidsOtherNamespaces,
    intervalFloorMs: minIntervalMs,
  });
  if (problems.length > 0) return { failure: invalidCanary(problems) };
  const routing = routingFailure(parts, canary);
  if (routing) return { failure: routing };
  const sharing = targetKeys(object).flatMap((key) => parts.canaries.byKey(targetKeys, key));
  const other = findConflictingCanary(sharing, canary);
  if (!other) return { canary };
  return { failure: targetConflict(canary, other) };
}

/** A Canary that cannot be acted on, to tell its alerts of that; undefined if not even they can be read. */
export function canaryToTell(object: KubernetesObject): Canary | undefined {
  const parsed = parsedOnce(object);
  return parsed.ok ? parsed.value : undefined;
}

const parsedObjects = new WeakMap<KubernetesObject, ReturnType<typeof parseCanary>>();

/** Objects of the caches never change, and most are looked at in several rounds. */
function parsedOnce(object: KubernetesObject): ReturnType<typeof parseCanary> {
  const parsed = parsedObjects.get(object) ?? parseCanary(object);
  parsedObjects.set(object, parsed);
  return parsed;
}

/** Of its router, where it needs one. */
function routingFailure(
  parts: Pick<ReadParts, 'options' | 'routing'>,
  canary: Canary,
): EngineError | undefined {
  const provider = providerOf(canary, parts.options);
  if (sharesWorkload(provider)) return undefined;
  const router = parts.routing(provider);
  if (!router) return unknownProvider(provider);
  const problems = router.check(canary).filter(({ severity }) => severity === 'error');
  return problems.length > 0 ? invalidCanary(problems) : undefined;
}

function targetConflict({ spec }: Canary, other: KubernetesObject): EngineError {
  const target = `spec.targetRef: ${spec.targetRef.kind} ${spec.targetRef.name}`;
  if (other.metadata.deletionTimestamp !== undefined)
    return new EngineError(
      'TargetConflict',
      `${target} is still the target of ${describe(other)}, which is being deleted; this Canary begins once that is gone`,
      true,
    );
  return new EngineError(
    'TargetConflict',
    `${target} is the target of ${describe(other)} already; delete one of the two Canaries, the one that serves with spec.revertOnDeletion: true, so that the target takes its traffic first`,
  );
}

/** The Canary that had the same target first; one that is being deleted has it until its traffic is handed back. */
function findConflictingCanary(
  canaries: readonly KubernetesObject[],
  canary: Canary,
): KubernetesObject | undefined {
  const { kind, name } = canary.spec.targetRef;
  const age = ({ metadata }: KubernetesObject) => [metadata.creationTimestamp ?? '', metadata.name].join(' ');
  const isElder = (other: KubernetesObject) =>
    other.metadata.namespace === canary.metadata.namespace &&
    other.metadata.name !== canary.metadata.name &&
    (!other.metadata.deletionTimestamp || awaitsFinalizer(other)) &&
    age(other) < age(canary);
  return canaries.filter(isElder).find((other) => {
    // A refused change of the target takes it from no other Canary.
    const { spec } = (otherTarget(other) && lastValidSpec(other)) ?? other;
    const target = (spec as { targetRef?: { kind?: string; name?: string } } | undefined)?.targetRef;
    return target?.kind === kind && target.name === name;
  });
}
