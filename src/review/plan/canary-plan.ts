/** What a commit means for each Canary of a Source. Pure. */
import { type Canary, effectivePostPromotion } from '../../api/canary/canary.ts';
import { gitPart } from '../../api/commit.ts';
import { canonicalJson, commandOn, keyOf, nameOfKey } from '../../api/kubernetes.ts';
import type { CanaryPlan } from '../../release/plan.ts';
import { type Release, settingsKey, settingsOf } from '../../release/release.ts';
import { type FlightOptions, flightPlanOf } from './flight-plan.ts';
import { commitWords, compareWithBase, type PromotedState } from './promoted-state.ts';
import type { Removal } from './removals.ts';
import type { CanaryPlanned, Revertible } from './report.ts';

/** A Canary on one side: its plan with the release that was built of it. */
export interface CanarySide {
  readonly plan: CanaryPlan;
  readonly release: Release | undefined;
  /** Why there is no release although the plan holds one. */
  readonly problem?: string | undefined;
  /** `file:line: field: message` of what is doubtful about the release. */
  readonly doubts?: readonly string[];
}

/** What is known of what is promoted. */
export interface Promoted {
  readonly state: PromotedState;
  /** The release at the promoted commit, built as those of the two sides. */
  readonly release: Release | undefined;
}

/** Everything the decision on one Canary depends on. */
interface CanaryInput {
  /** `namespace/name`. */
  readonly key: string;
  readonly before: CanarySide | undefined;
  readonly after: CanarySide | undefined;
  readonly promoted: Promoted | undefined;
  /** What becomes of the Canary in the cluster where it leaves Git. */
  readonly removal?: Removal | undefined;
  readonly options: Pick<FlightOptions, 'minIntervalMs' | 'defaultProvider' | 'window'>;
}

/** What the commit means for the Canary; undefined: nothing changes. */
export function planCanary(input: CanaryInput): CanaryPlanned | undefined {
  const { key, before, after } = input;
  if (!after) return { canary: key, change: 'removed', summary: removalWords(input.removal) };
  const standing = promotedStateFor(input);
  const common = { canary: key, ...(standing ? { standing } : {}) };
  const { plan, release, problem } = after;
  if (plan.state === 'missing') return { ...common, change: 'missing', summary: plan.message };
  if (plan.state === 'frozen') return { ...common, change: 'frozen', summary: plan.message };
  if (!release) {
    const why = problem ?? 'the Canary is in none of the files';
    return { ...common, change: 'frozen', summary: `the current release stays until this is fixed: ${why}` };
  }
  const change = changeOf(input, release);
  if (change === undefined)
    return standing?.deviation === undefined
      ? undefined
      : { ...common, change: 'none', summary: 'it does not change' };
  const canary = plan.object;
  if (!canary || change === 'settings' || change === 'spec' || change === 'rejected')
    return { ...common, change, summary: summaryOf(input, change, before?.release, release) };
  const isFirst = change === 'first';
  const flight = flightPlanOf(canary, {
    ...input.options,
    isFirst,
    skipsAnalysis: isFirst || change === 'again',
  });
  const summary = summaryOf(input, change, before?.release, release);
  return { ...common, change, summary, flight, revert: revertOf(input, canary, isFirst) };
}

function removalWords(removal: Removal | undefined): string {
  if (removal?.fate === 'stays')
    return `removed from Git, stays in the cluster${removal.reason ? `: ${removal.reason}` : ''}`;
  if (removal?.fate === 'pruned') return 'removed from Git together with its target, deleted';
  return 'removed from Git, deleted once its target takes the traffic back';
}

type Change = 'release' | 'first' | 'again' | 'rejected' | 'settings' | 'spec' | undefined;

/** A release is what its digest says; what is promoted counts more than what base says. */
function changeOf({ before, after, promoted }: CanaryInput, release: Release): Change {
  const old = before?.release;
  const isSameAsBase = old !== undefined && old.digest === release.digest;
  const good = promoted?.release;
  const hasNothingGood = promoted ? promoted.state.promoted === undefined : !old;
  if (!isSameAsBase) {
    if (rejectionOf(promoted, release)) return 'rejected';
    if (hasNothingGood) return 'first';
    return good?.digest === release.digest ? 'again' : 'release';
  }
  const settings = (target: Release['target']) => settingsKey(settingsOf(target));
  if (settings(old.target) !== settings(release.target)) return 'settings';
  return isCanaryOther({ before, after }) ? 'spec' : undefined;
}

/** Whether the Canary itself is another one, where both sides have it. */
function isCanaryOther({ before, after }: Pick<CanaryInput, 'before' | 'after'>): boolean {
  const canary = (side: CanarySide | undefined) =>
    side?.plan.state === 'release' ? (side.plan.object ?? null) : null;
  return before !== undefined && canonicalJson(canary(before)) !== canonicalJson(canary(after));
}

/** Digests of a cluster have another key than ours for Secrets: without one in the release they can be compared, else the commits are. */
function rejectionOf(
  promoted: Promoted | undefined,
  release: Release | undefined,
): PromotedState['rejected'][number] | undefined {
  if (!promoted || !release) return undefined;
  const isOurs = !release.configs.some(({ kind }) => kind === 'Secret');
  return promoted.state.rejected.find(
    ({ digest, commit }) =>
      (isOurs && gitPart(digest) === gitPart(release.digest)) ||
      (commit !== '' && commit === release.commit.commit),
  );
}

function promotedStateFor({ before, promoted }: CanaryInput): PromotedState | undefined {
  if (!promoted) return undefined;
  const rejection = rejectionOf(promoted, before?.release);
  return compareWithBase(promoted.state, {
    promotedDigest: promoted.release?.digest,
    baseDigest: before?.release?.digest,
    baseRejected: rejection && { reason: rejection.reason },
  });
}

function summaryOf(
  input: CanaryInput,
  change: NonNullable<Change>,
  old: Release | undefined,
  release: Release,
): string {
  const isOther = isCanaryOther(input);
  switch (change) {
    case 'first':
      return 'first release: promoted to the primary without analysis';
    case 'again':
      return 'already promoted: no analysis; a rollout in progress ends, and the primary runs this release again';
    case 'rejected': {
      const reason = rejectionOf(input.promoted, release)?.reason ?? '';
      return `this release was rejected before (${reason}) and is not rolled out again; to try it again after the merge, run: ${commandOn('retry', nameOfKey(input.key))}`;
    }
    case 'settings':
      return isOther
        ? 'replicas, strategy or deadlines change: applied to the primary without analysis; the Canary changes, too: the next rollout uses the new spec'
        : 'only replicas, strategy or deadlines change: applied to the primary without analysis';
    case 'spec':
      return 'only the Canary changes: the next rollout uses the new spec';
    case 'release': {
      const parts = old ? [...partsOf(old, release), ...(isOther ? ['the Canary changes'] : [])] : [];
      return `a rollout starts${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
    }
  }
}

/** What of a release differs. */
function partsOf(old: Release, now: Release): string[] {
  const differs = (left: unknown, right: unknown) =>
    canonicalJson(left ?? null) !== canonicalJson(right ?? null);
  const template = (release: Release) =>
    (release.target.spec as { template?: unknown } | undefined)?.template;
  return [
    ...(differs(template(old), template(now)) ? ['the pod template changes'] : []),
    ...(differs(old.ports, now.ports) ? ['ports change'] : []),
    ...(differs(old.configs, now.configs) ? ['config changes'] : []),
  ];
}

function revertOf({ before, promoted }: CanaryInput, canary: Canary, isFirst: boolean): Revertible {
  const { onFailure } = effectivePostPromotion(canary, 0);
  if (isFirst) return { possible: 'no', onFailure, why: 'there is no earlier release to go back to' };
  const good = promoted?.state.promoted;
  const from = promoted?.state.from;
  const base = before?.release?.commit;
  const to =
    good && from
      ? { ...good, from }
      : base && { commit: base.commit, subject: base.subject, from: 'base' as const };
  const common = { onFailure, ...(to ? { to } : {}) };
  if (onFailure === 'halt')
    return {
      ...common,
      possible: 'no',
      why: 'onFailure is halt: a failed release stays until a person decides',
    };
  if (onFailure === 'hold')
    return {
      ...common,
      possible: 'no',
      why: 'onFailure is hold: a failed release is held until Git changes or someone runs holdfast rollback',
    };
  if (to && to.from !== 'base')
    return { ...common, possible: 'yes', why: `a failed release is rolled back to ${commitWords(to)}` };
  const why =
    'a failed release is rolled back to the release promoted by then; it was not looked up, so base is assumed';
  return { ...common, possible: 'unknown', why };
}

/** Keys of the Canaries of either side, head's first. */
export function canaryKeys(...sides: ReadonlyArray<readonly CanaryPlan[]>): string[] {
  return [...new Set(sides.flat().map(({ canary }) => keyOf(canary)))];
}
