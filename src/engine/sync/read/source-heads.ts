import { describe, type KubernetesObject, keyOf, namespacedName } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { type ReleaseCanary, releaseOfPlan, viewOf } from '../../../release/build.ts';
import type { CanaryPlan } from '../../../release/plan.ts';
import { recordTooLarge } from '../../../release/record.ts';
import { type FileProblem, formatOrigin, formatProblem } from '../../../render/rendered-object.ts';
import type { Head } from '../../canary/context/heads.ts';
import type { ApplyFailure, Snapshot, SourceContext, SourceParts, SourceState } from '../context/context.ts';
import { objectsByCanaryName } from '../scope/canary-objects.ts';
import { type SourceRights, whyNotAllowed } from '../scope/permissions.ts';

/** The heads of one snapshot, and problems that only building the releases shows. */
export interface SnapshotHeads {
  readonly heads: ReadonlyMap<string, Head>;
  readonly problems: readonly FileProblem[];
}

/** What the snapshot says about each Canary; none has config or a scaler that the Source may not write (S21). */
export function headsOf(
  { parts, source }: Pick<SourceContext, 'parts' | 'source'>,
  snapshot: Snapshot,
): SnapshotHeads {
  const problems: FileProblem[] = [];
  const reading = { ...snapshot, sharedWith: objectsByCanaryName(snapshot.all) };
  const heads = snapshot.plans.map((plan) => {
    const head = headOf(parts, plan, reading, problems);
    const why = refusalOf(source, plan, parts.rights);
    return [keyOf(plan.canary), why ? waiting('NotAllowed', why) : head] as const;
  });
  return { heads: new Map(heads), problems };
}

/** Why a release may not be written; undefined: it may, or there is none. */
export function refusalOf(source: Source, plan: CanaryPlan, rights: SourceRights): string | undefined {
  if (plan.state !== 'release') return undefined;
  const { target, configs, scaler } = plan;
  for (const { object, origin } of [target, ...configs, ...(scaler ? [scaler] : [])]) {
    const why = whyNotAllowed(source, object, rights);
    if (why !== undefined) return `${formatOrigin(origin)}: ${describe(object)}: ${why}`;
  }
  return undefined;
}

/**
 * The heads once everything else was applied. A Canary object that could not be applied keeps its rollout waiting: the cluster still holds
 * the older spec. Remembers good releases as the plan to keep when files break (S24).
 */
export function settledHeads(
  state: Pick<SourceState, 'previous'>,
  { plans, isWhole }: Pick<Snapshot, 'plans' | 'isWhole'>,
  built: SnapshotHeads['heads'],
  failures: readonly ApplyFailure[],
): Map<string, Head> {
  const heads = new Map<string, Head>();
  // Of a Canary that is gone nothing is kept, or a file that breaks later would withhold its former target.
  const planned = new Set(plans.map(({ canary }) => keyOf(canary)));
  if (isWhole)
    for (const key of [...state.previous.keys()]) if (!planned.has(key)) state.previous.delete(key);
  for (const { canary, state: plan } of plans) {
    const key = keyOf(canary);
    const refused = failures.find(({ object }) => object.kind === 'Canary' && namespacedName(object) === key);
    const head = refused ? waiting('CanaryNotApplied', refused.message) : built.get(key);
    if (!head) continue;
    heads.set(key, head);
    if (head.release) state.previous.set(key, head.release);
    else if (plan === 'missing') state.previous.delete(key);
  }
  return heads;
}

interface HeadReading extends Pick<Snapshot, 'commit' | 'lineOf'> {
  /** Objects that rollouts and the Source write, one after the other: of the Canary's names. */
  readonly sharedWith: (canary: KubernetesObject) => readonly KubernetesObject[];
}

function headOf(parts: SourceParts, plan: CanaryPlan, reading: HeadReading, problems: FileProblem[]): Head {
  if (plan.state === 'missing') return { view: { kind: 'missing', message: plan.message } };
  if (plan.state === 'frozen')
    return waiting(plan.waitsFor === undefined ? 'InvalidManifests' : 'SourceNotRead', plan.message);
  const built = releaseAt(parts, plan, reading);
  if (built?.ok) {
    const problem = recordTooLarge(built.ok);
    if (problem) return waiting('RecordTooLarge', problem);
    const scaler = plan.scaler && { scaler: plan.scaler.object };
    const canary = canaryOf(parts, plan);
    const written = [plan.target, ...plan.configs, ...(plan.scaler ? [plan.scaler] : [])];
    const secrets = written.flatMap((entry) => entry.secrets ?? []);
    const more = { ...scaler, shared: canary && reading.sharedWith(canary), secrets };
    return { view: { kind: 'release', release: viewOf(built.ok) }, release: built.ok, ...more };
  }
  if (!built) return waiting('CanaryUnknown', 'the Canary is in neither Git nor the cluster');
  problems.push(built.problem);
  return waiting('InvalidManifests', formatProblem(built.problem));
}

/** The release of a plan; undefined when the Canary is in neither Git nor the cluster. */
export function releaseAt(
  parts: Pick<SourceParts, 'canary' | 'secretKey'>,
  plan: Extract<CanaryPlan, { state: 'release' }>,
  { commit, lineOf }: Pick<Snapshot, 'commit' | 'lineOf'>,
): ReturnType<typeof releaseOfPlan> | undefined {
  const canary = canaryOf(parts, plan);
  if (!canary) return undefined;
  const { secretKey } = parts;
  // One from the cluster was validated there.
  const valid = canary as unknown as ReleaseCanary;
  return releaseOfPlan({ plan, canary: valid, commit, lineOf, secretKey });
}

/** As Git has it, else as the cluster does. */
function canaryOf(
  parts: Pick<SourceParts, 'canary'>,
  plan: Extract<CanaryPlan, { state: 'release' }>,
): KubernetesObject | undefined {
  return plan.object ?? parts.canary(plan.canary);
}

function waiting(reason: string, message: string): Head {
  return { view: { kind: 'unknown', reason, message } };
}
