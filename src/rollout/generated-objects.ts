import { trafficAt } from '../api/canary/plan.ts';
import { copyName, isBroken } from '../health/drift.ts';
import { servingPods } from '../health/readiness.ts';
import type { Action } from './action.ts';
import type { Context } from './context.ts';
import { act, combine, type Effects, say } from './outcome.ts';
import { isDigestLost, soundRecord } from './records.ts';
import type { Run } from './run.ts';
import { canaryServes } from './traffic/capacity.ts';

/**
 * Apex, primary and canary Service, and a route, are there in every state, whatever else is done: what somebody deleted comes back at once,
 * and Services before any traffic is moved to them (design section 4). Costs no request while nothing is missing.
 */
export function withServices(
  context: Context,
  run: Run | undefined,
  actions: readonly Action[],
): readonly Action[] {
  const { world, plan } = context;
  const { primary, target } = world;
  const digest = primary ? primary.digest : target?.digest;
  if (digest === undefined || !isOnRecord(context, digest)) return actions;
  const services = {
    type: 'EnsureServices',
    primaryDigest: digest,
    canaryDigest: canaryDigest(context, run, digest),
  } as const;
  const move = actions.findIndex(({ type }) => type === 'SetTraffic');
  if (move >= 0) return [...actions.slice(0, move), services, ...actions.slice(move)];
  // Who is ready gets it at once (see traffic.ts); where nobody is, it waits for the primary.
  const isReady = servingPods(primary) > 0 || canaryServes(target);
  const route: Action[] = world.route || isReady ? [] : [{ type: 'SetTraffic', route: trafficAt(plan, 0) }];
  return [...actions, services, ...route];
}

/** What the canary's Service is made for. Where nobody can tell what the target runs and nothing is tried, it rests as the primary's. */
function canaryDigest(context: Context, run: Run | undefined, primaryDigest: string): string | undefined {
  const { target, route } = context.world;
  if (target && target.digest === undefined && !run && !route?.canaryWeight) return primaryDigest;
  return target?.digest !== undefined && isOnRecord(context, target.digest) ? target.digest : undefined;
}

/** Its ports can be told, or are known to be lost. */
function isOnRecord({ world, head }: Context, digest: string): boolean {
  return head?.digest === digest || world.records.some((record) => record.digest === digest);
}

/**
 * The primary's copies of ConfigMaps and Secrets belong to the release that it runs, as one set (S16): one that is gone, or is left from
 * another release, is written again, whatever else is done. Without it the next pod would not start, or start with another config. One that is
 * to follow its original outside Git does so at once, without a release.
 */
export function keepConfigCopies(context: Context, actions: readonly Action[]): Effects {
  const { primary } = context.world;
  const copies = primary?.configCopies ?? [];
  const broken = copies.filter(isBroken);
  const outdated = copies.filter(({ state }) => state === 'outdated');
  // Whatever writes the primary writes its copies, too: those of the release that it is to run.
  const isWritten = actions.some(({ type }) => type === 'ApplyPrimary');
  if (broken.length + outdated.length === 0 || isWritten) return {};
  if (!primary?.digest || !canRestoreCopies(context)) return {};
  const names = (list: typeof copies) => list.map(copyName).join(', ');
  return combine(
    broken.length > 0
      ? say('Warning', 'ConfigCopyMissing', `restored for the primary: ${names(broken)}`)
      : {},
    outdated.length > 0
      ? say('Normal', 'ConfigFollowed', `the primary's copies got the newest data: ${names(outdated)}`)
      : {},
    act({ type: 'RestoreConfigs', digest: primary.digest }),
  );
}

/** What the primary runs can be had, so that its copies can be written again. */
export function canRestoreCopies({ world, head }: Context): boolean {
  const digest = world.primary?.digest;
  if (!digest || isDigestLost(world, digest)) return false;
  return head?.digest === digest || soundRecord(world, digest) !== undefined;
}
