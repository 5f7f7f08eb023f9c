import { sharesWorkload } from '../../api/canary/canary.ts';
import type { CanaryStatus, CheckResult } from '../../api/canary/status.ts';

/** Phase, post-promotion state or message of the Canary's status changed. */
export interface StateChanged {
  readonly type: 'state';
  readonly phase: string;
  /** Empty before promotion and after the end. */
  readonly state: string;
  readonly reason: string;
  readonly message: string;
  readonly next: string;
  /** When `next` comes, RFC 3339; empty when it is not known. */
  readonly nextTime: string;
}

/** Who answers requests, as read back from the route. */
export interface TrafficMoved {
  readonly type: 'traffic';
  readonly primaryWeight: number;
  readonly canaryWeight: number;
  readonly serving: readonly ServingName[];
}

/** One workload that answers requests. */
export interface ServingName {
  readonly role: 'primary' | 'canary';
  readonly commit: string;
  readonly weight: number;
  readonly ready: number;
}

/** A blue/green iteration passed (providers without weights). */
interface IterationDone {
  readonly type: 'iteration';
  readonly iteration: number;
}

/** The checks of one interval. */
interface Checked {
  readonly type: 'checks';
  readonly during: 'analysis' | 'verification';
  readonly results: readonly CheckResult[];
}

/** What a change of a Canary's status shows. */
export type RolloutNews = StateChanged | TrafficMoved | IterationDone | Checked;

/** What has changed between two statuses of a Canary, in the order in which it is printed. `target`: name of the workload of spec.targetRef. */
export function newsOf(before: CanaryStatus, after: CanaryStatus, target: string): RolloutNews[] {
  const traffic = trafficOf(after, target);
  const state = stateOf(after);
  const news: RolloutNews[] = [];
  if (differs(before.checks, after.checks) && after.checks?.length) news.push(checked(before, after));
  if ((after.iterations ?? 0) > (before.iterations ?? 0))
    news.push({ type: 'iteration', iteration: after.iterations ?? 0 });
  if (traffic.serving.length > 0 && differs(shares(trafficOf(before, target)), shares(traffic)))
    news.push(traffic);
  if (differs(stateOf(before), state)) news.push(state);
  return news;
}

function differs(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) !== JSON.stringify(right);
}

/** Verification counts from the state before: the last check ends it. */
function checked(before: CanaryStatus, after: CanaryStatus): Checked {
  const verifying = [before, after].some(({ postPromotion }) => postPromotion?.state === 'Verifying');
  return { type: 'checks', during: verifying ? 'verification' : 'analysis', results: after.checks ?? [] };
}

function trafficOf(status: CanaryStatus, target: string): TrafficMoved {
  const canaryWeight = status.canaryWeight ?? 0;
  // Rolled out in place, both sides are pods of one workload: the release tells them apart.
  const isCanary = sharesWorkload(status.provider)
    ? ({ digest }: { digest: string }) => digest === status.run?.digest
    : ({ workload }: { workload: string }) => workload === target;
  const serving = (status.serving ?? []).map(
    (entry): ServingName => ({
      role: isCanary(entry) ? 'canary' : 'primary',
      commit: entry.commit,
      weight: entry.weight,
      ready: entry.ready,
    }),
  );
  return { type: 'traffic', primaryWeight: 100 - canaryWeight, canaryWeight, serving };
}

/** A change of the pods under the same weights is not reported. */
function shares({ serving }: TrafficMoved): unknown {
  return serving.map(({ role, weight }) => [role, weight]);
}

function stateOf({ phase, postPromotion, message, next }: CanaryStatus): StateChanged {
  return {
    type: 'state',
    phase: phase ?? '',
    state: postPromotion?.state ?? '',
    reason: postPromotion?.reason ?? '',
    message: message ?? '',
    next: next?.action ?? '',
    nextTime: next?.time ?? '',
  };
}
