import type { CanaryStatus } from '../../api/canary-status.ts';
import type { Checked, Happening, ServingName, StateChanged, TrafficMoved } from './events.ts';

/** What is news in a Canary's status against the one before, in the order in which it should be told. Pure. */
export function changesOf(before: CanaryStatus, after: CanaryStatus, application: string): Happening[] {
  const traffic = trafficOf(after, application);
  const state = stateOf(after);
  const news: Happening[] = [];
  if (differs(before.checks, after.checks) && after.checks?.length) news.push(checked(before, after));
  if ((after.iterations ?? 0) > (before.iterations ?? 0))
    news.push({ type: 'iteration', iteration: after.iterations ?? 0 });
  if (traffic.serving.length > 0 && differs(shares(trafficOf(before, application)), shares(traffic)))
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

function trafficOf(status: CanaryStatus, application: string): TrafficMoved {
  const canaryWeight = status.canaryWeight ?? 0;
  const serving = (status.serving ?? []).map(
    ({ workload, commit, weight, ready }): ServingName => ({
      role: workload === application ? 'canary' : 'primary',
      commit,
      weight,
      ready,
    }),
  );
  return { type: 'traffic', primaryWeight: 100 - canaryWeight, canaryWeight, serving };
}

/** Pods that come and go under the same weights are no news. */
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
