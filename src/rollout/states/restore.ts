/** Restores what is missing or was changed by others: workloads, replicas, Services, copies of config, records. */

import { trafficAt } from '../../api/canary/plan.ts';
import { gitPart } from '../../api/commit.ts';
import { conditionOf } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { copyName, isBroken, isOfRelease } from '../../health/drift.ts';
import { hasConverged } from '../../health/readiness.ts';
import { canaryServes, servingPods, wantedPods } from '../../health/workload-view.ts';
import { type Context, remainingMs } from '../context.ts';
import { type Action, act, combine, type Effects, emit, note, stall, wake } from '../outcome.ts';
import { type Outcome, withRun } from '../state.ts';
import { fullSize, resumeReplicas } from '../traffic/traffic.ts';
import {
  describeDamage,
  describeRelease,
  isAbandoned,
  isDigestLost,
  isLost,
  lastKnownGood,
  type RecordView,
  type Run,
  soundRecord,
  type World,
} from '../world.ts';

/** Writes a release to the primary, over exactly the version that was observed (S17). */
export function applyPrimary({ world }: Context, digest: string): Action {
  const { primary } = world;
  const precondition = primary && { uid: primary.uid, resourceVersion: primary.resourceVersion };
  return { type: 'ApplyPrimary', digest, precondition };
}

/** A missing primary is created from the record of the last-known-good, whatever head says (design section 4, bootstrap). Undefined if it exists. */
export function recreatedPrimary(context: Context): Effects | undefined {
  const { world, good } = context;
  if (world.primary || !good) return undefined;
  if (isLost(good)) return reportLost(world, good);
  const write = act(applyPrimary(context, good.digest));
  if (world.status.move)
    return combine(
      write,
      note('Moving', `creating the primary from ${describeRelease(good)}; the target serves`),
    );
  return combine(
    write,
    emit('Warning', 'PrimaryMissing', `the primary is missing; recreating it from ${describeRelease(good)}`),
    note('PrimaryMissing', 'the primary is missing; recreating it from the last-known-good'),
  );
}

/** A missing canary is created with this release, unless another tool writes the target: then it is up to that tool. */
export function recreatedCanary({ world }: Context, digest: string): Action[] {
  if (world.target || world.foreignTarget || world.sharesWorkload) return [];
  return [{ type: 'ApplyCanary', digest, replicas: fullSize(world) }];
}

/** The primary gets replicas, strategy and deadlines of head, which need no analysis. */
export function applySettings({ world, head }: Context): Effects {
  if (!head || !world.primary || world.primary.settingsKey === head.settingsKey) return {};
  return act({ type: 'ApplySettings', digest: head.digest, settingsKey: head.settingsKey });
}

/** A template of the primary that others changed is written again, and judged only after that (issue 11, 11). */
export function restoreTemplate(context: Context, digest: string): Effects | undefined {
  const change = changeOfTemplate(context);
  if (change === undefined) return undefined;
  return combine(
    act(applyPrimary(context, digest)),
    note('ForeignChange', `${change} of the primary; it is restored`),
  );
}

function changeOfTemplate({ world: { primary, sharesWorkload } }: Context): string | undefined {
  const change = primary?.drift?.fields.find(({ path }) => isOfRelease(path));
  if (!change || sharesWorkload) return undefined;
  return `${primary?.drift?.manager ?? 'another client'} changed ${change.path}`;
}

/**
 * A template that another controller changes as soon as it is restored, such as a policy that mutates what exists, is restored once an interval: each
 * write replaces pods, and there would be one a second until the deadline.
 */
export function paceRestores(context: Context, outcome: Outcome): Outcome {
  const { next, actions = [] } = outcome;
  const { primary } = context.world;
  const isRestore = (action: Action) => action.type === 'ApplyPrimary' && action.digest === primary?.digest;
  if (!('iterations' in next) || !actions.some(isRestore)) return outcome;
  const { intervalMs, progressDeadlineMs } = context.plan.postPromotion;
  const { restoredTime } = next.run;
  const pauseMs = Math.min(intervalMs, progressDeadlineMs / 2);
  const leftMs = restoredTime === undefined ? 0 : remainingMs(context, restoredTime, pauseMs);
  if (leftMs === 0) {
    const goesOn = restoredTime !== undefined && remainingMs(context, restoredTime, progressDeadlineMs) > 0;
    const { restoredSince = context.now } = goesOn ? next.run : {};
    return { ...outcome, next: withRun(next, { restoredSince, restoredTime: context.now }) };
  }
  const others = actions.filter((action) => !isRestore(action));
  return { ...outcome, ...combine(outcome, wake(leftMs)), actions: others };
}

/** A primary that was scaled by hand gets the number of pods that Git asks for; at zero pods it gets at least one (issue 11, 14 and 22). */
export function scalePrimaryBack({ world }: Context): Action[] {
  const { primary, scaler } = world;
  if (!primary || world.sharesWorkload) return [];
  if (scaler?.primary) {
    // A HorizontalPodAutoscaler does nothing at zero replicas, so no other controller scales it up again.
    const isOff = scaler.kind === 'HorizontalPodAutoscaler' && primary.desiredReplicas === 0;
    return isOff ? [{ type: 'ScalePrimary', replicas: resumeReplicas(scaler.primary) }] : [];
  }
  const wanted = wantedPods(primary);
  if (wanted === undefined) return [];
  return primary.desiredReplicas === wanted ? [] : [{ type: 'ScalePrimary', replicas: wanted }];
}

/** The primary runs its release as it was written, with the number of pods that it should have. */
export function isComplete(context: Context): boolean {
  const { world, plan } = context;
  return hasConverged(world.primary, plan.primaryReadyPercent) && whyKeptBack(context) === undefined;
}

/** Why it is not complete: what somebody else makes of it, or `why`. */
export function whyIncomplete(context: Context, why: string): string {
  return whyKeptBack(context) ?? why;
}

/** What was put back, and is there again. */
function whyKeptBack(context: Context): string | undefined {
  const { primary } = context.world;
  const change = changeOfTemplate(context);
  if (change !== undefined) return `${change} of the primary again and again`;
  const [back] = scalePrimaryBack(context);
  if (!primary || back?.type !== 'ScalePrimary') return undefined;
  return `${primary.name} has ${primary.desiredReplicas} of ${back.replicas} pods: something else sets their number`;
}

/**
 * Adds the actions that keep apex, primary and canary Service and a route in every state: if one was deleted, it is created again at once,
 * and Services before traffic is moved to them (design section 4). Costs no request while nothing is missing.
 */
export function withServices(
  context: Context,
  run: Run | undefined,
  actions: readonly Action[],
): readonly Action[] {
  const { world, plan, good } = context;
  const { primary, target } = world;
  if (isAbandoned(world)) return actions;
  // Without a workload whose release is known the last-known-good comes back, and traffic to it waits for the Services.
  const primaryDigest = primary ? primary.digest : (target?.digest ?? good?.digest);
  if (primaryDigest === undefined || !isOnRecord(context, primaryDigest)) return actions;
  // Where the target is gone, or what it runs is unknown, it is the release that is tried; if none is, the Service is as the primary's: a route names both.
  const tried = run?.side === 'primary' ? undefined : run?.digest;
  const isUntried = !run && !world.route?.canaryWeight;
  const shown = target?.digest ?? (isUntried ? primaryDigest : tried);
  const canaryDigest = shown !== undefined && isOnRecord(context, shown) ? shown : undefined;
  const services = { type: 'EnsureServices', primaryDigest, canaryDigest } as const;
  const move = actions.findIndex(({ type }) => type === 'SetTraffic');
  if (move >= 0) return [...actions.slice(0, move), services, ...actions.slice(move)];
  // A missing route leads to a ready side at once (see traffic.ts); if there is none, to the primary.
  const isReady = servingPods(primary) > 0 || canaryServes(target);
  const route: Action[] = world.route || isReady ? [] : [{ type: 'SetTraffic', route: trafficAt(plan, 0) }];
  return [...actions, services, ...route];
}

/** Its ports are known, from head or from a record, which may be damaged. */
function isOnRecord({ world, head }: Context, digest: string): boolean {
  return head?.digest === digest || world.records.some((record) => record.digest === digest);
}

/**
 * The primary's copies of ConfigMaps and Secrets belong to the release that it runs, as one set (S16): one that is missing, or is left from
 * another release, is written again in every state. Without it the next pod would not start, or start with another config. One that follows
 * its original outside Git is updated at once, without a release.
 */
export function keepConfigCopies(context: Context, actions: readonly Action[]): Effects {
  const { primary } = context.world;
  const copies = primary?.configCopies ?? [];
  const broken = copies.filter(isBroken);
  const outdated = copies.filter(({ state }) => state === 'outdated');
  // ApplyPrimary writes the copies of its release, too.
  const isWritten = actions.some(({ type }) => type === 'ApplyPrimary');
  if (broken.length + outdated.length === 0 || isWritten) return {};
  if (!primary?.digest || !canRestoreCopies(context)) return {};
  const names = (list: typeof copies) => list.map(copyName).join(', ');
  return combine(
    broken.length > 0
      ? emit('Warning', 'ConfigCopyMissing', `restored for the primary: ${names(broken)}`)
      : {},
    outdated.length > 0
      ? emit('Normal', 'ConfigFollowed', `the primary's copies got the newest data: ${names(outdated)}`)
      : {},
    act({ type: 'RestoreConfigs', digest: primary.digest }),
  );
}

/** Whether the release that the primary runs is available, so that its copies can be written again. */
function canRestoreCopies({ world, head }: Context): boolean {
  const digest = world.primary?.digest;
  if (!digest || isDigestLost(world, digest)) return false;
  return head?.digest === digest || soundRecord(world, digest) !== undefined;
}

/** The primary, mostly scaled by a scaler, or a copy of its config is about to be another one: a check now would judge the old one. */
export function isChanging(context: Context): boolean {
  const { primary } = context.world;
  const isRestored = primary?.configCopies.some(isBroken) === true && canRestoreCopies(context);
  return primary?.observed === false || isRestored;
}

/** Git is read again for a lost release after this time. */
const ASK_AGAIN_MS = 300_000;

/** A damaged record of the last-known-good is written again from Git: the digest proves that these are its bytes. Reported once. */
export function repairRecord({ world, good }: Context): Effects {
  if (good?.damaged === undefined || good.promotedTime === undefined) return {};
  const { digest, promotedTime } = good;
  const before = conditionOf(world.status, 'RollbackReady');
  const event =
    before?.reason === 'RecordDamaged' ? {} : emit('Warning', 'RecordDamaged', describeDamage(world, good));
  if (isLost(good)) return { ...event, ...wake(ASK_AGAIN_MS) };
  return { ...event, ...act({ type: 'SaveRecord', digest, promotedTime }) };
}

/**
 * Deletes proven records beyond the newest few, and unproven ones that neither Git, a workload nor this run is about. While Git was not read,
 * it may be about any of them.
 */
export function removeRecords({ world }: Context): Effects {
  const { head, primary, target, adoptable, status } = world;
  if (head.kind !== 'release') return {};
  const needed = new Set([
    head.release.digest,
    primary?.digest,
    target?.digest,
    adoptable?.release.digest,
    status.run?.digest,
    lastKnownGood(world)?.digest,
  ]);
  const retained = new Set(newestByGitDigest(world, needed).slice(0, limits.keptRecords - 1));
  const surplus = world.records.filter((record) => !needed.has(record.digest) && !retained.has(record));
  return surplus.length > 0 ? act({ type: 'RemoveRecords', names: surplus.map(({ name }) => name) }) : {};
}

/** Of releases that differ only by config outside Git, the newest that a revert may use: rotated Secrets must not displace older commits. */
function newestByGitDigest(
  { records, rejected }: World,
  needed: ReadonlySet<string | undefined>,
): RecordView[] {
  const isRejected = new Set(rejected.map(({ digest }) => digest));
  const seen = new Set<string>();
  return records.filter(({ digest, promotedTime }) => {
    if (needed.has(digest) || promotedTime === undefined) return false;
    const isSuperseded = seen.has(gitPart(digest));
    if (!isRejected.has(digest)) seen.add(gitPart(digest));
    return !isSuperseded;
  });
}

/** Reports that nothing is written, since the last-known-good cannot be restored; a person must act. */
export function reportLost(world: World, good: RecordView): Effects {
  return stall(
    'RecordDamaged',
    `the last-known-good cannot be restored, so nothing is written: ${describeDamage(world, good)}`,
  );
}
