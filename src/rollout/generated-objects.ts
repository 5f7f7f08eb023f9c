import { trafficAt } from '../api/canary/plan.ts';
import { copyName, isBroken } from '../health/drift.ts';
import { canaryServes, servingPods } from '../health/readiness.ts';
import type { Action } from './action.ts';
import type { Context } from './context.ts';
import { act, combine, type Effects, emit } from './outcome.ts';
import { isDigestLost, soundRecord } from './records.ts';
import type { Run } from './run.ts';

/**
 * Adds the actions that keep apex, primary and canary Service and a route in every state: if somebody deleted one it is created again at once,
 * and Services before traffic is moved to them (design section 4). Costs no request while nothing is missing.
 */
export function withServices(
  context: Context,
  run: Run | undefined,
  actions: readonly Action[],
): readonly Action[] {
  const { world, plan } = context;
  const { primary, target } = world;
  const primaryDigest = primary ? primary.digest : target?.digest;
  if (primaryDigest === undefined || !isOnRecord(context, primaryDigest)) return actions;
  // If it is unknown what the target runs and nothing is tried, the canary's Service is as the primary's.
  const isUnknown = target && target.digest === undefined && !run && !world.route?.canaryWeight;
  const shown = isUnknown ? primaryDigest : target?.digest;
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
export function canRestoreCopies({ world, head }: Context): boolean {
  const digest = world.primary?.digest;
  if (!digest || isDigestLost(world, digest)) return false;
  return head?.digest === digest || soundRecord(world, digest) !== undefined;
}
