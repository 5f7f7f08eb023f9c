import type { Finding } from '../api/canary/conditions.ts';
import type { CanaryStatus, Serving } from '../api/canary/status.ts';
import { conditionOf } from '../api/kubernetes.ts';
import { beginningOf, limits } from '../api/limits.ts';
import { driftComparisons } from '../health/drift.ts';
import { hasConverged } from '../health/readiness.ts';
import { wantedPods } from '../health/workload-view.ts';
import type { Context } from './context.ts';
import type { Action, Note, RolloutEvent } from './outcome.ts';
import { isScaledToZero } from './traffic/traffic.ts';
import { describeFreeze } from './windows.ts';
import { describeDamage, headRelease, lastKnownGood, type Run, runOf, type World } from './world.ts';

/** A decision and its status, from which conditions and incidents are made. */
export interface Result extends Context {
  readonly status: CanaryStatus;
  readonly run: Run | undefined;
  readonly actions: readonly Action[];
  readonly events: readonly RolloutEvent[];
  readonly note: Note | undefined;
}

/** What serves requests, as read back: workload, release, share and ready pods; largest share first. */
export function servingOf(world: World, run: Run | undefined): Serving[] {
  const { route, primary, target } = world;
  if (!route) return [];
  const good = lastKnownGood(world)?.digest;
  const before = primary?.digest === good ? run?.digest : good;
  // Until a pod of the new template is ready, the primary's ready pods run the release from before.
  const hasOldPods = primary && primary.updatedReadyReplicas === 0 && primary.readyReplicas > 0;
  const sides = [
    { view: primary, weight: route.primaryWeight, digest: hasOldPods ? before : primary?.digest },
    { view: target, weight: route.canaryWeight, digest: target?.digest },
  ];
  const head = headRelease(world);
  return sides
    .flatMap(({ view, weight, digest }) => {
      if (!view || weight === 0) return [];
      const { commit = '', subject = '' } =
        run && run.digest === digest
          ? run
          : ([...world.records, head].find((known) => known?.digest === digest)?.commit ?? {});
      return {
        workload: view.name,
        digest: digest ?? '',
        commit,
        ...(subject ? { subject: beginningOf(subject, limits.subjectCharacters) } : {}),
        weight,
        ready: view.readyReplicas,
      };
    })
    .sort((a, b) => b.weight - a.weight);
}

/** All conditions except Promoted: Ready, Reconciling, Stalled (kstatus), Verified, Reverted, Held, Drifted, RollbackReady. */
export function findingsOf(result: Result): Finding[] {
  return [
    ...readiness(result),
    rollbackReady(result),
    drifted(result),
    ...frozen(result),
    ...verified(result),
    ...reverted(result),
  ];
}

function readiness(result: Result): Finding[] {
  const { status, note, run } = result;
  const isHeld = status.postPromotion?.state === 'Held';
  const stalled = note?.stalled === true || (status.phase === 'Failed' && (!run || isHeld));
  const condition = (type: string, value: boolean, told = note): Finding => ({
    type,
    status: value ? 'True' : 'False',
    reason: told?.reason ?? (status.phase || 'Unknown'),
    message: told?.message ?? '',
  });
  return [
    // Of these one is True at most: kstatus takes the first that it finds.
    condition('Ready', isReady(result) && !stalled, note?.ready),
    condition('Reconciling', run !== undefined && !isHeld && !stalled),
    condition('Stalled', stalled),
    isHeld ? condition('Held', true) : { type: 'Held', status: 'False', reason: 'NotHeld', message: '' },
  ];
}

/** S27: Ready only when the primary runs the last-known-good with all traffic and nothing is pending, as a commit that a person has to correct. */
function isReady(result: Result): boolean {
  const { status, world, run } = result;
  const settled = status.phase === 'Succeeded' || status.phase === 'Initialized';
  if (!settled || run || world.route?.canaryWeight !== 0 || !world.route.accepted) return false;
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
  // The result of a drill stays in the condition until there is a newer last-known-good.
  const before = conditionOf(world.status, type);
  const isDrilled = before?.reason === 'DrillPassed' || before?.reason === 'DrillFailed';
  if (isDrilled && world.status.lastKnownGood?.digest === good.digest)
    return { type, status: before.status, reason: before.reason, message: before.message ?? '' };
  return { type, status: 'True', reason: 'RecordKept', message: `record ${good.name} was read back` };
}

function drifted(result: Result): Finding {
  const { primary, scaler, sharesWorkload } = result.world;
  const changed = primary ? driftComparisons(primary).filter(({ met }) => !met) : [];
  const wanted = primary && !scaler?.primary && !sharesWorkload ? wantedPods(primary) : undefined;
  if (primary && wanted !== undefined && wanted !== primary.desiredReplicas) {
    const message = `${primary.name} was scaled to ${primary.desiredReplicas} pods by someone else; it is scaled back to ${wanted}`;
    return { type: 'Drifted', status: 'True', reason: 'ReplicasChanged', message };
  }
  if (changed.length === 0) return putBack(result);
  const what = changed.map(({ detail }) => detail).join('; ');
  const message = `${what}; the next release overwrites it`;
  return { type: 'Drifted', status: 'True', reason: 'ForeignChange', message };
}

/** What is as it should be now, and was not. */
function putBack({ world: { corrections } }: Result): Finding {
  const type = 'Drifted';
  if (!corrections) return { type, status: 'False', reason: 'InSync', message: '' };
  const { last, contended } = corrections;
  if (contended.length === 0) return { type, status: 'False', reason: 'Corrected', message: last };
  const message = `another writer keeps changing what Holdfast puts back: ${contended.join('; ')}`;
  return { type, status: 'True', reason: 'Contested', message };
}

/** Also while nothing waits, so that people see it before they commit. */
function frozen(result: Result): Finding[] {
  const { freeze, stepFreeze } = result.world;
  if (freeze)
    return [
      {
        type: 'Frozen',
        status: 'True',
        reason: stepFreeze ? 'Frozen' : 'StartsFrozen',
        message: describeFreeze(freeze),
      },
    ];
  const isSet = conditionOf(result.world.status, 'Frozen')?.status === 'True';
  return isSet ? [{ type: 'Frozen', status: 'False', reason: 'NotFrozen', message: '' }] : [];
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
  const before = conditionOf(result.world.status, 'Verified');
  // Checks that were running have ended.
  if (state === 'Held' && before?.status === 'Unknown') {
    const { reason = 'Held', cause = 'the cause is unknown' } = status.postPromotion ?? {};
    return [{ type: 'Verified', status: 'Unknown', reason, message: `the release is held: ${cause}` }];
  }
  const superseded = result.events.find((event) => event.reason === 'Superseded');
  if (superseded)
    return [{ type: 'Verified', status: 'False', reason: 'Superseded', message: superseded.message }];
  if (run?.revert && (run.revert.reject || before?.status === 'Unknown')) {
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
