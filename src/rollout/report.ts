import type { Finding } from '../api/canary/conditions.ts';
import type { CanaryStatus, Serving } from '../api/canary/status.ts';
import { limits } from '../api/limits.ts';
import { driftComparisons } from '../health/drift.ts';
import { hasConverged } from '../health/readiness.ts';
import type { WorkloadView } from '../health/workload-view.ts';
import type { Action, RolloutEvent } from './action.ts';
import type { Context } from './context.ts';
import type { Note } from './outcome.ts';
import { describeDamage } from './records.ts';
import { headRelease, lastKnownGood, type Run, runOf } from './run.ts';
import { wantedPods } from './states/recreate.ts';
import { isScaledToZero } from './traffic/scalers.ts';
import type { RecordView, World } from './world.ts';

/** A decision and the status that says so, from which the report is made. */
export interface Result extends Context {
  readonly status: CanaryStatus;
  readonly run: Run | undefined;
  readonly actions: readonly Action[];
  readonly events: readonly RolloutEvent[];
  readonly note: Note | undefined;
}

/** Who answers requests, read back: workload, release, share and ready pods; largest share first. */
export function servingOf(world: World, run: Run | undefined): Serving[] {
  const { route, primary, target } = world;
  if (!route) return [];
  const seen = { world, run };
  const rows = [
    entry(seen, primary, route.primaryWeight, digestOfPrimaryPods(seen)),
    entry(seen, target, route.canaryWeight, target?.digest),
  ];
  return rows.filter((row) => row !== undefined).sort((a, b) => b.weight - a.weight);
}

/** What the primary's ready pods run: until one of the new template is ready, it is what the primary ran before. */
type Seen = { readonly world: World; readonly run: Run | undefined };

function digestOfPrimaryPods(draft: Seen): string | undefined {
  const { primary } = draft.world;
  if (!primary || primary.updatedReadyReplicas > 0 || primary.readyReplicas === 0) return primary?.digest;
  const good = lastKnownGood(draft.world)?.digest;
  return primary.digest === good ? draft.run?.digest : good;
}

function entry(
  draft: Seen,
  view: WorkloadView | undefined,
  weight: number,
  digest: string | undefined,
): Serving | undefined {
  if (!view || weight === 0) return undefined;
  const known = commitOf(draft, digest);
  return {
    workload: view.name,
    digest: digest ?? '',
    commit: known?.commit ?? '',
    ...(known?.subject ? { subject: known.subject.slice(0, limits.subjectCharacters) } : {}),
    weight,
    ready: view.readyReplicas,
  };
}

/** The commit of a digest, from whoever knows it: the run, head or a record. */
function commitOf(draft: Seen, digest: string | undefined): { commit: string; subject: string } | undefined {
  const head = headRelease(draft.world);
  if (draft.run && draft.run.digest === digest) return draft.run;
  const record = draft.world.records.find((candidate) => candidate.digest === digest);
  if (record) return record.commit;
  return head?.digest === digest ? head?.commit : undefined;
}

/** All conditions except Promoted, from the draft: Ready, Reconciling, Stalled (kstatus), Verified, Reverted, Held, Drifted, RollbackReady. */
export function findingsOf(result: Result): Finding[] {
  return [
    ...readiness(result),
    rollbackReady(result),
    drifted(result),
    ...verified(result),
    ...reverted(result),
  ];
}

function readiness(result: Result): Finding[] {
  const { status, note, run } = result;
  const reason = note?.reason ?? status.phase ?? 'Unknown';
  const message = note?.message ?? '';
  const isHeld = status.postPromotion?.state === 'Held';
  const stalled = note?.stalled === true || (status.phase === 'Failed' && (!run || isHeld));
  const say = (type: string, value: boolean): Finding => ({
    type,
    status: value ? 'True' : 'False',
    reason,
    message,
  });
  return [
    say('Ready', isReady(result)),
    say('Reconciling', run !== undefined && !isHeld),
    say('Stalled', stalled),
    isHeld ? say('Held', true) : { type: 'Held', status: 'False', reason: 'NotHeld', message: '' },
  ];
}

/** S27: Ready only when the primary runs the last-known-good with all traffic and nothing is pending. */
function isReady(result: Result): boolean {
  const { status, world, run } = result;
  const settled = status.phase === 'Succeeded' || status.phase === 'Initialized';
  if (!settled || run || world.route?.canaryWeight !== 0) return false;
  const good = lastKnownGood(world)?.digest;
  const runsGood = good !== undefined && world.primary?.digest === good;
  return runsGood && (hasConverged(world.primary, result.plan.primaryReadyPercent) || isScaledToZero(world));
}

function rollbackReady(result: Result): Finding {
  const type = 'RollbackReady';
  const { world } = result;
  const good = lastKnownGood(world);
  if (!good) return { type, status: 'False', reason: 'NoRecord', message: 'no release is proven good yet' };
  if (good.damaged !== undefined)
    return { type, status: 'False', reason: 'RecordDamaged', message: describeDamage(world, good) };
  const drilled = drillOf(world, good);
  if (drilled) return { type, ...drilled };
  return { type, status: 'True', reason: 'RecordKept', message: `record ${good.name} was read back` };
}

/** What the last drill of this very release found stands in the condition; a newer release needs a new drill. */
function drillOf(world: World, good: RecordView): Omit<Finding, 'type'> | undefined {
  if (world.status.lastKnownGood?.digest !== good.digest) return undefined;
  const before = world.status.conditions?.find((condition) => condition.type === 'RollbackReady');
  if (before?.reason !== 'DrillPassed' && before?.reason !== 'DrillFailed') return undefined;
  const { status, reason, message } = before;
  return { status, reason, message: message ?? '' };
}

function drifted(result: Result): Finding {
  const { primary, scaler, sharesWorkload } = result.world;
  const changed = primary ? driftComparisons(primary).filter(({ met }) => !met) : [];
  const wanted = primary && !scaler?.primary && !sharesWorkload ? wantedPods(primary) : undefined;
  if (primary && wanted !== undefined && wanted !== primary.desiredReplicas) {
    const message = `${primary.name} was scaled to ${primary.desiredReplicas} pods by somebody else; it is scaled back to ${wanted}`;
    return { type: 'Drifted', status: 'True', reason: 'ReplicasChanged', message };
  }
  if (changed.length === 0) return { type: 'Drifted', status: 'False', reason: 'InSync', message: '' };
  const what = changed.map(({ detail }) => detail).join('; ');
  const message = `${what}; the next release overwrites it`;
  return { type: 'Drifted', status: 'True', reason: 'ForeignChange', message };
}

function verified(result: Result): Finding[] {
  const { status, run } = result;
  const state = status.postPromotion?.state;
  if (run?.ending?.phase === 'Succeeded' && run.ending.reason === 'Succeeded') {
    return [{ type: 'Verified', status: 'True', reason: 'Succeeded', message: run.ending.message }];
  }
  if (state === 'Verifying') {
    const reason = status.postPromotion?.reason ?? 'Verifying';
    return [{ type: 'Verified', status: 'Unknown', reason, message: 'checks after promotion are running' }];
  }
  const superseded = result.events.find((event) => event.reason === 'Superseded');
  if (superseded)
    return [{ type: 'Verified', status: 'False', reason: 'Superseded', message: superseded.message }];
  if (run?.revert?.reject) {
    return [{ type: 'Verified', status: 'False', reason: run.revert.reason, message: run.revert.finding }];
  }
  return [];
}

/** Unknown while reverting; True together with the phase Failed that ends it; False from the next release on. */
function reverted(result: Result): Finding[] {
  const { run, status, world } = result;
  if (run?.revert) {
    return [{ type: 'Reverted', status: 'Unknown', reason: run.revert.reason, message: run.revert.finding }];
  }
  const ended = run ? undefined : runOf(world.status);
  if (ended?.revert && ended.ending?.phase === 'Failed') {
    const { reason, message } = ended.ending;
    return [{ type: 'Reverted', status: 'True', reason, message }];
  }
  const isSet = (status.conditions ?? []).some(
    (entry) => entry.type === 'Reverted' && entry.status !== 'False',
  );
  if (!isSet || status.phase === 'Failed') return [];
  return [{ type: 'Reverted', status: 'False', reason: 'NotReverted', message: '' }];
}
