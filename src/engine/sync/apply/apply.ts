import { describe, type KubernetesObject } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { formatOrigin, type RenderedObject } from '../../../render/rendered-object.ts';
import { applySetId } from '../../apply-set.ts';
import { failureOf } from '../../failure.ts';
import type { ApplyFailure, ApplyResult, FieldsLeft, Snapshot, SourceParts } from '../context/context.ts';
import type { SourceDrift } from '../scope/drift.ts';
import { contestedInWords } from '../scope/field-conflicts.ts';
import { type SourceWriter, waysOut, writerOf } from '../scope/permissions.ts';
import { type AppliedObject, type AppliedObjects, applyObject, createKindWait } from './apply-object.ts';
import { applyWaves, inParallel } from './apply-order.ts';

/** What a snapshot is applied with. */
interface ApplyContext {
  readonly watched: AppliedObjects;
  readonly left: FieldsLeft;
  readonly signal: AbortSignal;
}

/**
 * Applies everything of a snapshot that belongs to no Canary, wave by wave. One refused object stops neither the others nor any Canary;
 * what is there already costs no request. Never throws for a single object.
 */
export async function applySnapshot(
  parts: SourceParts,
  source: Source,
  snapshot: Snapshot,
  { watched, left, signal }: ApplyContext,
): Promise<ApplyResult> {
  const kinds = createKindWait(parts);
  const writer = writerOf(source, parts.rights);
  const context = { source, id: applySetId(source), watched, kinds, left };
  const origins = new Map(snapshot.rest.map((entry) => [entry.object, entry] as const));
  const outcome: Outcome = { failures: [], drift: [], taken: [], changed: 0 };
  for (const wave of applyWaves(snapshot.rest.map(({ object }) => object))) {
    await inParallel(wave, async (object) => {
      if (signal.aborted) return;
      try {
        const applied = await applyObject(parts, object, context);
        if (applied.changed && object.kind === 'CustomResourceDefinition') kinds.expectNew();
        addToOutcome(outcome, object, applied);
      } catch (error) {
        outcome.failures.push(failureFor(object, { source, writer, entry: origins.get(object), error }));
      }
    });
  }
  signal.throwIfAborted();
  return { ...outcome, applied: snapshot.rest.length - outcome.failures.length };
}

interface Outcome {
  readonly failures: ApplyFailure[];
  readonly drift: SourceDrift[];
  readonly taken: string[];
  changed: number;
}

function addToOutcome(
  outcome: Outcome,
  object: KubernetesObject,
  { changed, drift, taken }: AppliedObject,
): void {
  if (changed) outcome.changed += 1;
  if (drift) outcome.drift.push(drift);
  if (taken?.length) outcome.taken.push(`${describe(object)}: ${contestedInWords(taken)}`);
}

interface Refusal {
  readonly entry: RenderedObject | undefined;
  readonly error: unknown;
  readonly source: Source;
  readonly writer: SourceWriter;
}

function failureFor(object: KubernetesObject, { entry, error, source, writer }: Refusal): ApplyFailure {
  const { reason, message, transient } = failureOf(error);
  const place = entry ? `${formatOrigin(entry.origin)}: ` : '';
  const isForbidden = reason === 'Forbidden' && writer.user !== undefined;
  // What the server says about a Secret is withheld: who may not write it is reported all the same.
  const who = isForbidden && !message.includes(writer.user) ? `; written as ${writer.user}` : '';
  const how = isForbidden && writer.kind === 'default' ? `; ${waysOut(source)}` : '';
  return { reason, message: `${place}${describe(object)}: ${message}${who}${how}`, object, transient };
}
