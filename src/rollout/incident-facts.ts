import type { Canary } from '../api/canary.ts';
import { sharesWorkload } from '../api/effective.ts';
import type { IncidentOutcome } from '../api/incident.ts';
import { revertCommand } from '../api/incident-text.ts';
import type { CommitInfo } from '../api/observed.ts';
import type { RolloutReason } from '../api/reasons.ts';
import { stamp } from '../api/units.ts';
import { diagnose } from '../health/diagnosis.ts';
import { isReady, whyNotReady } from '../health/readiness.ts';
import type { Result } from './report.ts';
import { headRelease, lastKnownGood, type Run } from './run.ts';
import { describe } from './words.ts';

/** The release that news are about. */
export interface About {
  readonly digest: string;
  readonly commit: string;
  readonly author: string;
  readonly subject: string;
  /** Tells one rollout of a digest from the next. */
  readonly since: string;
}

/** The run's release, else head's, with the author from whoever knows the commit. */
export function aboutOf(draft: Result, run: Run | undefined): About {
  const head = headRelease(draft.world);
  if (!run) {
    const { commit, author, subject } = head?.commit ?? unknown;
    const since = commit || stamp(draft.world.nowMs);
    return { digest: head?.digest ?? '', commit, author, subject, since };
  }
  const { digest, commit, subject, startTime } = run;
  const known = [head, ...draft.world.records].find((candidate) => candidate?.digest === digest)?.commit;
  return { digest, commit, author: known?.author ?? '', subject, since: startTime };
}

const unknown: CommitInfo = { commit: '', subject: '', author: '', time: '' };

/** Reasons that were seen on the primary's pods, so that the canary's are what to compare with. */
const ON_PODS: ReadonlySet<RolloutReason> = new Set(['PrimaryNotReady', 'PrimaryUnhealthy', 'Held']);

/** Whether the canary with the same release showed the same; undefined where there is nothing to compare. */
export function canaryComparison(
  { world, plan }: Result,
  reason: RolloutReason,
  run: Run | undefined,
): string | undefined {
  const { target } = world;
  if (!run) return undefined;
  if (reason === 'ChecksFailed' || reason === 'ChecksUnavailable') {
    const skipped = plan.skipAnalysis || run.fastLane;
    return skipped
      ? 'the release had no analysis on the canary'
      : 'the same release had passed its analysis there';
  }
  if (!ON_PODS.has(reason) || target?.digest !== run.digest || target.desiredReplicas === 0) return undefined;
  if (diagnose(world.primary, target).onCanaryToo)
    return `shows the same with the same release: ${whyNotReady(target)}`;
  if (isReady(target, plan.canaryReadyPercent))
    return `healthy with the same release, ${target.readyReplicas} of ${target.desiredReplicas} pods ready`;
  return `not healthy with the same release either: ${whyNotReady(target)}`;
}

/** What of the bad commit is not undone: everything outside the workload's own release (design section 5, scope). */
export function staysApplied(
  { world }: Result,
  outcome: IncidentOutcome,
  commit: string,
): string | undefined {
  if (outcome !== 'Failed' && outcome !== 'Reverted') return undefined;
  const good = lastKnownGood(world);
  if (!good || !commit) return undefined;
  return `all else in ${commit.slice(0, 7)}; only template, ports and config of the workload are those of ${describe(good)}`;
}

/** Where taking the commit back is not the way out. */
const OTHER_COMMANDS: Partial<Record<RolloutReason, 'check' | 'primary' | 'canary'>> = {
  ChecksUnavailable: 'check',
  LKGNotReady: 'primary',
  LKGFailsToo: 'canary',
};

/** One command that fits the state; only names of Kubernetes and hexadecimal digits go into it, since somebody pastes it into a shell. */
export function commandFor(
  { metadata, spec }: Canary,
  { outcome, reason }: { outcome: IncidentOutcome; reason: RolloutReason },
  commit: string,
): string {
  const isRelease = outcome === 'Held' || outcome === 'Failed' || outcome === 'Reverted';
  const other = OTHER_COMMANDS[reason];
  const revert = isRelease && other === undefined ? revertCommand(commit) : undefined;
  if (revert) return revert;
  if (other === 'check') return 'holdfast check';
  const inNamespace = `kubectl -n ${metadata.namespace ?? 'default'} describe`;
  if (other !== 'primary') return `${inNamespace} canary/${metadata.name}`;
  const { apiVersion, kind, name } = spec.targetRef;
  if (apiVersion.startsWith('serving.knative.dev/'))
    return `${inNamespace} services.serving.knative.dev/${name}`;
  const suffix = sharesWorkload(spec.provider) ? '' : '-primary';
  return `${inNamespace} ${kind.toLowerCase()}/${name}${suffix}`;
}
