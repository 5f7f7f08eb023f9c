/** The last valid spec of a Canary goes on to be acted on while the newest one cannot be (ADR 30). */
import type { Canary } from '../../api/canary.ts';
import type { CanaryStatus, SpecInForce } from '../../api/canary-status.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { postPromotionAnnotation } from '../../api/post-promotion-annotation.ts';
import { EngineError, type Failure } from '../failure.ts';
import { readCanary } from './canary-check.ts';
import type { CanaryParts } from './canary-parts.ts';

/** Reasons of specs that only their author can mend. */
const invalidReasons: ReadonlySet<string> = new Set(['InvalidSpec', 'UnknownProvider']);

/** A Canary that can be acted on. */
export interface CanaryInForce {
  /** With the spec in force; all else is as it is now. */
  readonly canary: Canary;
  /** To be kept in the status. */
  readonly specInForce: SpecInForce;
  /** Why the newest spec is not the one in force. */
  readonly invalid?: Failure | undefined;
}

/**
 * The Canary with its newest spec or, where that cannot be acted on, with the last one that could: whoever is served by it must not lose its
 * protection by a commit. Requests by annotation, a deletion and the generation are always those of now.
 */
export function canaryInForce(
  parts: Pick<CanaryParts, 'canaries' | 'options' | 'routing'>,
  object: KubernetesObject,
): CanaryInForce | { readonly failure: EngineError } {
  const newest = readCanary(parts, object);
  if (!('failure' in newest)) return { canary: newest.canary, specInForce: toKeep(newest.canary) };
  const kept = keptSpec(object);
  if (!kept || !invalidReasons.has(newest.failure.reason)) return newest;
  const before = readCanary(parts, withSpec(object, kept));
  if ('failure' in before) return newest;
  const { reason, message } = newest.failure;
  const stays = `${message}; the spec of generation ${kept.generation} stays in force`;
  return { canary: before.canary, specInForce: kept, invalid: new EngineError(reason, stays) };
}

/** The object once more with the spec that the status keeps, where that is another one; for who only looks at names. */
export function specsOf(object: KubernetesObject): readonly KubernetesObject[] {
  const kept = keptSpec(object);
  if (!kept || kept.generation === object.metadata.generation) return [object];
  return [object, withSpec(object, kept)];
}

/** As it was read, with what an annotation said of it: the annotation may be what is changed next. */
function toKeep({ metadata, spec }: Canary): SpecInForce {
  return { generation: metadata.generation ?? 0, spec: spec as unknown as Record<string, unknown> };
}

function keptSpec({ status }: KubernetesObject): SpecInForce | undefined {
  const { specInForce } = (status ?? {}) as CanaryStatus;
  return typeof specInForce?.spec === 'object' && specInForce.spec !== null ? specInForce : undefined;
}

function withSpec(object: KubernetesObject, { spec }: SpecInForce): KubernetesObject {
  const { [postPromotionAnnotation]: _, ...annotations } = object.metadata.annotations ?? {};
  return { ...object, metadata: { ...object.metadata, annotations }, spec };
}
