import type { KubernetesObject } from '../api/kubernetes.ts';
import { type ReleaseCanary, viewOf } from '../release/build.ts';
import { canaryKey } from '../release/candidates.ts';
import { releaseOfPlan } from '../release/from-plan.ts';
import { tooLarge } from '../release/record-size.ts';
import type { CanaryPlan } from '../release/select.ts';
import { type FileProblem, formatProblem } from '../render/types.ts';
import type { Head } from './heads.ts';
import type { ApplyFailure, Snapshot, SourceParts, SourceState } from './source-parts.ts';

/** The heads of one snapshot, and problems that only building the releases shows. */
export interface SnapshotHeads {
  readonly heads: ReadonlyMap<string, Head>;
  readonly problems: readonly FileProblem[];
}

/**
 * What the snapshot says about each Canary. A Canary object that could not be applied keeps its rollout waiting: the cluster still holds
 * the older spec. Remembers good releases as the plan to keep when files break (S24).
 */
export function headsOf(
  parts: SourceParts,
  state: SourceState,
  snapshot: Snapshot,
  failures: readonly ApplyFailure[],
): SnapshotHeads {
  const heads = new Map<string, Head>();
  const problems: FileProblem[] = [];
  for (const plan of snapshot.plans) {
    const key = canaryKey(plan.canary);
    const refused = failures.find(({ object }) => isCanaryOf(object, plan.canary));
    const head = refused
      ? waiting('CanaryNotApplied', refused.message)
      : headOf(parts, plan, snapshot, problems);
    heads.set(key, head);
    if (head.release) state.previous.set(key, head.release);
    else if (plan.state === 'missing') state.previous.delete(key);
  }
  return { heads, problems };
}

function headOf(parts: SourceParts, plan: CanaryPlan, snapshot: Snapshot, problems: FileProblem[]): Head {
  if (plan.state === 'missing') return { view: { kind: 'missing', message: plan.message } };
  if (plan.state === 'frozen') return waiting('InvalidManifests', plan.message);
  const built = releaseAt(parts, plan, snapshot);
  if (built?.ok) {
    const problem = tooLarge(built.ok);
    if (problem) return waiting('RecordTooLarge', problem);
    return { view: { kind: 'release', release: viewOf(built.ok) }, release: built.ok };
  }
  if (!built) return waiting('CanaryUnknown', 'the Canary is in neither Git nor the cluster');
  problems.push(built.problem);
  return waiting('InvalidManifests', formatProblem(built.problem));
}

/** The release of a plan; undefined when the Canary is in neither Git nor the cluster. */
export function releaseAt(
  parts: SourceParts,
  plan: Extract<CanaryPlan, { state: 'release' }>,
  { commit, lineOf }: Snapshot,
): ReturnType<typeof releaseOfPlan> | undefined {
  const canary = plan.object ?? parts.canaries().find((object) => isNamed(object, plan.canary));
  if (!canary) return undefined;
  const { secretKey } = parts;
  return releaseOfPlan({ plan, canary: asReleaseCanary(canary), commit, lineOf, secretKey });
}

/** One from the cluster was validated there. */
function asReleaseCanary(canary: KubernetesObject): ReleaseCanary {
  return canary as unknown as ReleaseCanary;
}

function waiting(reason: string, message: string): Head {
  return { view: { kind: 'unknown', reason, message } };
}

function isCanaryOf(object: KubernetesObject, name: { namespace: string; name: string }): boolean {
  return object.kind === 'Canary' && isNamed(object, name);
}

function isNamed({ metadata }: KubernetesObject, name: { namespace: string; name: string }): boolean {
  return (metadata.namespace ?? '') === name.namespace && metadata.name === name.name;
}
