import type { WorkloadView } from '../../health/workload-view.ts';
import type { Action } from '../action.ts';
import type { Context } from '../context.ts';
import { act, combine, type Effects, note, say } from '../outcome.ts';
import { isLost, reportLost } from '../records.ts';
import { fullSize } from '../traffic/capacity.ts';
import { resumeReplicas } from '../traffic/scalers.ts';
import { describeRelease } from '../world.ts';

/** Writes a release to the primary, over exactly the version that was observed (S17). */
export function applyPrimary({ world }: Context, digest: string): Action {
  const { primary } = world;
  const precondition = primary && { uid: primary.uid, resourceVersion: primary.resourceVersion };
  return { type: 'ApplyPrimary', digest, precondition };
}

/** The primary is gone: the last-known-good comes back from its record, whatever head says (design section 4, bootstrap). Undefined while it is there. */
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
    say('Warning', 'PrimaryMissing', `the primary is missing; recreating it from ${describeRelease(good)}`),
    note('PrimaryMissing', 'the primary is missing; recreating it from the last-known-good'),
  );
}

/** A canary that is gone comes back with this release; a target of another tool is that one's to create. */
export function recreatedCanary({ world }: Context, digest: string): Action[] {
  if (world.target || world.foreignTarget || world.sharesWorkload) return [];
  return [{ type: 'ApplyCanary', digest, replicas: fullSize(world) }];
}

/** Somebody scaled the primary: it gets the pods that Git asks for again; one at zero gets some whoever wants how many (issue 11, 14 and 22). */
export function scalePrimaryBack({ world }: Context): Action[] {
  const { primary, scaler } = world;
  if (!primary || world.sharesWorkload) return [];
  if (scaler?.primary) {
    // A HorizontalPodAutoscaler stands still at zero replicas, so that nobody else brings them back.
    const isOff = scaler.kind === 'HorizontalPodAutoscaler' && primary.desiredReplicas === 0;
    return isOff ? [{ type: 'ScalePrimary', replicas: resumeReplicas(scaler.primary) }] : [];
  }
  const wanted = wantedPods(primary);
  if (wanted === undefined) return [];
  return primary.desiredReplicas === wanted ? [] : [{ type: 'ScalePrimary', replicas: wanted }];
}

/** Pods the primary is to have; undefined where nobody says, and it has some. */
export function wantedPods({
  wantedReplicas,
  desiredReplicas,
  followsNodes,
}: WorkloadView): number | undefined {
  if (followsNodes) return undefined;
  if (wantedReplicas !== undefined) return wantedReplicas;
  return desiredReplicas === 0 ? 1 : undefined;
}
