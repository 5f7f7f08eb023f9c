import type { Canary } from '../../api/canary.ts';
import { sharesWorkload } from '../../api/effective.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { parseCanary } from '../../api/parse.ts';
import { checkCanary } from '../../api/semantic.ts';
import { EngineError } from '../failure.ts';
import { type CanaryParts, providerOf } from './canary-parts.ts';
import { invalidCanary } from './canary-status.ts';

/**
 * The Canary as a typed object, or the reason why it cannot be acted on: schema, semantics, provider, or a target that an older Canary
 * has already. Only what stops it is a failure.
 */
export function readCanary(
  parts: Pick<CanaryParts, 'canaries' | 'options' | 'routing'>,
  object: KubernetesObject,
): { canary: Canary } | { failure: EngineError } {
  const parsed = parseCanary(object);
  if (!parsed.ok) return { failure: invalidCanary(parsed.problems) };
  const canary = parsed.value;
  const { defaultProvider, minIntervalMs, forbidsOtherNamespaces = false } = parts.options;
  const { problems } = checkCanary(canary, {
    ...{ defaultProvider, forbidsOtherNamespaces },
    intervalFloorMs: minIntervalMs,
  });
  if (problems.length > 0) return { failure: invalidCanary(problems) };
  const routing = routingFailure(parts, canary);
  if (routing) return { failure: routing };
  const rival = rivalOf(parts.canaries.list(), canary);
  return rival ? { failure: conflict(canary, rival) } : { canary };
}

/** Of its router, where it needs one. */
function routingFailure(
  parts: Pick<CanaryParts, 'options' | 'routing'>,
  canary: Canary,
): EngineError | undefined {
  const provider = providerOf(canary, parts.options);
  if (sharesWorkload(provider)) return undefined;
  const router = parts.routing(provider);
  if (!router)
    return new EngineError(
      'UnknownProvider',
      `spec.provider: this version cannot route traffic with ${provider}`,
    );
  const problems = router.check(canary).filter(({ severity }) => severity === 'error');
  return problems.length > 0 ? invalidCanary(problems) : undefined;
}

/** The Canary that had the same target first. */
function rivalOf(canaries: readonly KubernetesObject[], canary: Canary): KubernetesObject | undefined {
  return canaries.find(
    (other) =>
      other.metadata.namespace === canary.metadata.namespace &&
      other.metadata.name !== canary.metadata.name &&
      !other.metadata.deletionTimestamp &&
      sameTarget(other, canary) &&
      isOlder(other, canary),
  );
}

function sameTarget(other: KubernetesObject, canary: Canary): boolean {
  const target = (other.spec as { targetRef?: { kind?: string; name?: string } } | undefined)?.targetRef;
  return target?.kind === canary.spec.targetRef.kind && target.name === canary.spec.targetRef.name;
}

function isOlder(other: KubernetesObject, canary: Canary): boolean {
  const [theirs, ours] = [other.metadata.creationTimestamp ?? '', canary.metadata.creationTimestamp ?? ''];
  return theirs === ours ? other.metadata.name < canary.metadata.name : theirs < ours;
}

function conflict(canary: Canary, rival: KubernetesObject): EngineError {
  const { kind, name } = canary.spec.targetRef;
  return new EngineError(
    'TargetConflict',
    `spec.targetRef: ${kind} ${name} is the target of ${describe(rival)} already; delete one of the two Canaries`,
  );
}
