import { type CanaryStatus, whyReverted } from '../api/canary/status.ts';
import { gitPart } from '../api/commit.ts';
import { lineOf } from '../api/incident.ts';
import { conditionOf } from '../api/kubernetes.ts';
import { shorten } from '../api/limits.ts';
import type { SourceWrite } from '../api/source/source.ts';
import { type CanaryInCluster, ledgerRef, revertBranch, statusContext } from './names.ts';
import {
  bumpRecord,
  type GitRecord,
  isUnfinished,
  openRequests,
  owesComment,
  statusRecord,
} from './records.ts';

/** The input of the decision about one Canary. */
export interface Facts {
  readonly where: CanaryInCluster;
  readonly write: SourceWrite;
  readonly status: CanaryStatus;
  /** The release at head, if Git was read. */
  readonly head: { readonly digest: string; readonly commit: string } | undefined;
  /** The commit of the ledger's ref, as read last. */
  readonly ledger: string | undefined;
  /** What is in Git already, as recorded in the Canary's condition. */
  readonly records: readonly GitRecord[];
}

/** The state of a release as a commit status. */
export interface WantedStatus {
  readonly commit: string;
  readonly state: 'pending' | 'success' | 'failure' | 'error';
  readonly context: string;
  readonly description: string;
  /** The stage of the release, if the state alone does not say it; else empty. */
  readonly about: string;
}

/** A release to be reverted in Git. */
export interface WantedRevert {
  readonly mode: 'commit' | 'pullRequest';
  readonly branch: string;
  readonly digest: string;
  /** The rejected commit, and the one to go back to. */
  readonly bad: string;
  readonly good: string;
  readonly goodDigest: string;
  /** Why: a reason of docs/reasons.md, and the finding as text. */
  readonly reason: string;
  readonly finding: string;
}

/** A pull request to be closed. */
export interface OutdatedRequest {
  readonly branch: string;
  readonly digest: string;
  /** It was closed, and still gets the comment that says why. */
  readonly owesComment: boolean;
  /** Head still has the release, which was tried again and is good by now. */
  readonly isGood: boolean;
}

/** What is to be written to Git for one Canary now; empty when nothing is missing. */
export interface WantedInGit {
  readonly ledger?: { readonly ref: string; readonly before: string | undefined; readonly after: string };
  readonly statuses: readonly WantedStatus[];
  readonly revert?: WantedRevert;
  /** A commit that brings a rejected release back, to be reported on its pull request. */
  readonly bump?: { readonly branch: string; readonly digest: string; readonly commit: string };
  /** Pull requests whose release is no longer at head, as a person fixed it first, or is good by now. */
  readonly outdated: readonly OutdatedRequest[];
}

/** Longest description that every forge takes. */
const MAX_DESCRIPTION = 140;

/** What should be in Git for a Canary and is not there yet. Pure: the same facts give the same answer, after a restart too. */
export function wantedInGit(facts: Facts): WantedInGit {
  const { where, write, status, head, ledger: before, records } = facts;
  // The ledger follows the release that has proven itself, whose digest and commit are recorded together, and never goes back to nothing.
  const after = status.lastKnownGood?.commit;
  const isMoved = write.ledger && isCommit(after) && after !== before;
  const now = head && revertBranch(where, head.digest);
  const isGood = head !== undefined && head.digest === status.lastKnownGood?.digest;
  const revert = wantedRevert(facts);
  // It is a comment on the pull request, so that comes first.
  const bump = revert ? undefined : wantedBump(facts);
  return {
    ...(isMoved ? { ledger: { ref: ledgerRef(where), before, after } } : {}),
    ...(revert ? { revert } : {}),
    ...(bump ? { bump } : {}),
    statuses: wantedStatuses(facts),
    outdated: openRequests(records)
      .filter(({ branch }) => now !== undefined && (isGood || branch !== now))
      .map(({ branch, outcome }) => ({
        branch,
        digest: branch.slice(branch.lastIndexOf('-') + 1),
        owesComment: owesComment(outcome),
        isGood: branch === now,
      })),
  };
}

function wantedStatuses({ where, write, status, records }: Facts): WantedStatus[] {
  const commit = status.lastAppliedCommit;
  const state = stateOf(status);
  if (!write.status || !isCommit(commit) || !state) return [];
  const context = statusContext(where);
  const about = aboutOf(status);
  const { message = '', incidents: [last] = [] } = status;
  // The status line; for an incident the short form of its line.
  const isIncident = last !== undefined && lineOf(last) === message;
  const line = isIncident ? lineOf(last, MAX_DESCRIPTION) : shorten(message, MAX_DESCRIPTION);
  const current = { commit, state, context, about, description: line || state };
  const left = records
    .filter((entry) => entry.kind === 'status')
    .filter((entry) => entry.commit !== commit && isUnfinished(entry))
    .map((entry) => entry.commit);
  const superseded = left.map((old): WantedStatus => {
    const description = `superseded by ${commit.slice(0, 7)}`;
    return { commit: old, state: 'error', context, about: '', description };
  });
  const isRecorded = records.some((entry) => entry.text === statusRecord(state, commit, about).text);
  return isRecorded ? superseded : [...superseded, current];
}

/** A release that is held or being reverted has failed for its author, even if it may recover. */
function stateOf(status: CanaryStatus): WantedStatus['state'] | undefined {
  const { phase } = status;
  if (!phase || phase === 'Terminating' || phase === 'Terminated') return undefined;
  if (phase === 'Succeeded' || phase === 'Initialized') return 'success';
  return phase === 'Failed' || aboutOf(status) ? 'failure' : 'pending';
}

function aboutOf({ postPromotion }: CanaryStatus): string {
  const { state } = postPromotion ?? {};
  return state === 'Held' || state === 'Reverting' ? state : '';
}

/** A revert is written for what was reverted in the cluster and still is at head, unless the last-known-good fails as well. */
function wantedRevert({ where, write, status, head, records }: Facts): WantedRevert | undefined {
  const mode = write.revert ?? 'none';
  const rejection = status.rejected?.find(({ digest }) => digest === head?.digest);
  const reverted = conditionOf(status, 'Reverted');
  const good = status.lastKnownGood;
  if (mode === 'none' || !head || !rejection || rejection.suspect || status.phase !== 'Failed')
    return undefined;
  if (reverted?.status !== 'True' || status.lastAppliedSpec !== head.digest) return undefined;
  // The condition is of the release that ended last; head may hold one by now that failed before and never reached the primary.
  if (status.history?.[0]?.digest !== head.digest) return undefined;
  if (!good || !isCommit(good.commit) || gitPart(good.digest) === gitPart(head.digest)) return undefined;
  const branch = revertBranch(where, head.digest);
  if (records.some((entry) => entry.kind === 'revert' && entry.branch === branch)) return undefined;
  const { digest, reason } = rejection;
  const bad = isCommit(rejection.commit) ? rejection.commit : head.commit;
  const finding = whyReverted(reverted.message ?? '');
  return { mode, branch, digest, bad, good: good.commit, goodDigest: good.digest, reason, finding };
}

/** Another commit with a rejected digest starts no release; its author should learn why. */
function wantedBump({ where, write, status, head, records }: Facts): WantedInGit['bump'] {
  const commit = status.lastAppliedCommit;
  const rejection = status.rejected?.find(({ digest }) => digest === head?.digest);
  if (write.revert !== 'pullRequest' || !rejection || status.phase !== 'Failed' || !isCommit(commit))
    return undefined;
  if (commit === rejection.commit || status.lastAppliedSpec !== rejection.digest) return undefined;
  if (records.some((entry) => entry.text === bumpRecord(commit).text)) return undefined;
  return { branch: revertBranch(where, rejection.digest), digest: rejection.digest, commit };
}

function isCommit(commit: string | undefined): commit is string {
  return commit !== undefined && /^[0-9a-f]{40}$/.test(commit);
}
