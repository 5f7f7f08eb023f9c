import { sleep } from '../../../api/clock.ts';
import { describe, type KubernetesObject } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { formatOrigin, type RenderedObject } from '../../../render/rendered-object.ts';
import { createHiding } from '../../../render/sops/hiding.ts';
import type { Correction } from '../../corrections.ts';
import { EngineError, failureOf, isMissingRight } from '../../failure.ts';
import type { ApplyFailure, ApplyResult, SourceParts, SyncContext } from '../context/context.ts';
import { contestedInWords } from '../scope/field-conflicts.ts';
import { clusterOf, type SourceWriter, waysOut, writerOf } from '../scope/permissions.ts';
import { type AppliedObject, applyObject, type KindWait } from './apply-object.ts';
import { applyWaves, backendOf, inParallel } from './apply-order.ts';

/**
 * Applies the objects of no Canary, wave by wave. One refused object stops neither the others nor any Canary;
 * what is there already costs no request. Never throws for a single object.
 */
export async function applyAll(context: SyncContext, rest: readonly RenderedObject[]): Promise<ApplyResult> {
  const { parts, source, signal } = context;
  const kinds = createKindWait(parts);
  const writer = writerOf(source, parts.rights);
  const origins = new Map(rest.map((entry) => [entry.object, entry] as const));
  const outcome: Outcome = { drift: [], taken: [], changed: 0 };
  const failed = new Map<KubernetesObject, ApplyFailure>();
  const waves = applyWaves(rest.map(({ object }) => object));
  for (const wave of waves) {
    await inParallel(wave, async (object) => {
      if (signal.aborted) return;
      try {
        await refuseWithoutBackend(context, object, failed);
        const applied = await applyObject(context, kinds, object);
        if (applied.changed && object.kind === 'CustomResourceDefinition') kinds.expectNew();
        addToOutcome(outcome, object, applied);
      } catch (error) {
        failed.set(object, failureFor(object, { source, writer, entry: origins.get(object), error }));
      }
    });
  }
  signal.throwIfAborted();
  // In the order of the objects, whatever was answered first: what is the same at each poll is reported once.
  const failures = waves.flat().flatMap((object) => failed.get(object) ?? []);
  return { ...outcome, failures: withoutSecrets(failures, origins), applied: rest.length - failures.length };
}

/** What is there, but not this Source's to write. */
const appliedByOthers: ReadonlySet<string> = new Set(['Conflicted', 'OwnedByAnotherSource']);

/** Throws EngineError BackendNotApplied for one that is not there yet. `refused`: of the waves before it; one that is there in an older form is no matter. */
async function refuseWithoutBackend(
  context: SyncContext,
  object: KubernetesObject,
  refused: ReadonlyMap<KubernetesObject, ApplyFailure>,
): Promise<void> {
  const own = [...refused].filter(([, { reason }]) => !appliedByOthers.has(reason)).map(([one]) => one);
  const backend = backendOf(object, own);
  if (backend.length === 0 || (await isThere(context, object))) return;
  for (const one of backend)
    if (!(await isThere(context, one)))
      throw new EngineError(
        'BackendNotApplied',
        `waits for ${describe(one)}, without which nobody would answer the API server`,
      );
}

/** Watches show what the Source holds; what it is to take over may be there, too. */
async function isThere({ parts, source, watch }: SyncContext, object: KubernetesObject): Promise<boolean> {
  const { namespace, name } = object.metadata;
  if (watch.setOf(object)?.get(namespace, name)) return true;
  const reader = { cluster: clusterOf(parts, source), user: writerOf(source, parts.rights).user };
  const live = await parts.presence.read(object, reader).catch(() => undefined);
  return live !== undefined;
}

interface Outcome {
  readonly drift: Correction[];
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
  const lacksRight = isMissingRight(error);
  // What the server says about a Secret is withheld: who may not write it is reported all the same.
  const isNamed = writer.user === undefined || message.includes(writer.user);
  const who = lacksRight && !isNamed ? `; written as ${writer.user}` : '';
  const how = lacksRight && writer.kind === 'default' ? `; ${waysOut(source)}` : '';
  const said = `${place}${describe(object)}: ${message}${who}${how}`;
  return { reason, message: said, object, transient, lacksRight };
}

/** The API server and its webhooks may quote what they were sent. */
function withoutSecrets(
  failures: readonly ApplyFailure[],
  origins: ReadonlyMap<KubernetesObject, RenderedObject>,
): ApplyFailure[] {
  const secretsIn = ({ object }: ApplyFailure) => origins.get(object)?.secrets;
  const hiding = createHiding();
  for (const secrets of new Set(failures.map(secretsIn))) if (secrets) hiding.add(secrets);
  return failures.map((failure) =>
    secretsIn(failure) ? { ...failure, message: hiding.hide(failure.message) } : failure,
  );
}

/** A kind may become known a moment after its CRD was applied; so long one sync waits for all of them together. */
const newKindWaitMs = 10_000;
const newKindRetryMs = 500;

/** For one sync; nothing is expected yet. */
function createKindWait({ cluster, clock }: Pick<SourceParts, 'cluster' | 'clock'>): KindWait {
  let waitUntilMs = 0;
  return {
    expectNew() {
      waitUntilMs = clock.nowMs() + newKindWaitMs;
    },
    async require({ apiVersion, kind }) {
      while (!(await cluster.kindOf(apiVersion, kind))) {
        if (clock.nowMs() >= waitUntilMs)
          throw new EngineError(
            'UnknownKind',
            `the cluster serves no ${kind} of ${apiVersion}; install its CustomResourceDefinition first`,
            true,
          );
        await sleep(clock, newKindRetryMs);
      }
    },
  };
}
