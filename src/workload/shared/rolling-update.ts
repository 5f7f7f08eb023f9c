/**
 * How far a Deployment's own rolling update may go (ADR 21). New pods that never become available leave its controller two bounds: pods in
 * all, and pods of older templates. Both are written as whole percentages, so that a share stays one when the number of pods changes.
 */

/** The two bounds of a held rolling update, in whole percent of the wanted pods. */
export interface Hold {
  readonly surgePercent: number;
  readonly unavailablePercent: number;
}

/** A held rolling update as it is, and the step that it is to reach. */
interface HoldGoal {
  /** Pods the Deployment asks for. */
  readonly replicas: number;
  /** The share of the step, 1 to 100. */
  readonly weightPercent: number;
  /** As written; undefined before the first step. */
  readonly hold: Hold | undefined;
  /** Ready pods of the new template. */
  readonly ready: number;
  /** The user's own bounds, in pods. */
  readonly own: Fenceposts;
}

/** Before the first step: at most one pod, in case the Deployment is resumed by hand. */
export const FIRST_HOLD: Hold = { surgePercent: 1, unavailablePercent: 0 };

/** Most pods for which whole percentages hit every count; above, a share is rounded down. */
const EXACT_UP_TO = 100;

/** Pods of the new template that a step of this share is: rounded up, at least one. */
export function podsOfShare(weightPercent: number, replicas: number): number {
  return floorOf(percentOfShare(weightPercent, replicas), replicas);
}

/** The same for kinds whose pods are counted one by one: exact for any number of pods. */
export function podsOfShareExactly(weightPercent: number, replicas: number): number {
  return ceilOf(weightPercent, replicas);
}

/** Most pods of older templates that may be gone under these bounds. */
export function goneUnder({ unavailablePercent }: Hold, replicas: number): number {
  return floorOf(unavailablePercent, replicas);
}

/** Most pods of the new template that there can be under these bounds, whatever the controller does. */
export function grantedBy(hold: Hold, replicas: number): number {
  return Math.min(replicas, ceilOf(hold.surgePercent, replicas) + goneUnder(hold, replicas));
}

/** The step is reached: the bounds allow all its pods, and no pod above the wanted number. */
export function isWholeStep({ replicas, weightPercent, hold, ready }: Omit<HoldGoal, 'own'>): boolean {
  const wanted = podsOfShare(weightPercent, replicas);
  return hold?.surgePercent === 0 && goneUnder(hold, replicas) >= wanted && ready >= wanted;
}

/**
 * The next bounds on the way to a step; the same ones while their pods are not ready yet. New pods come first, as many at once as the
 * user's own maxSurge lets, then as many old ones go; without room for more, old ones go first.
 */
export function nextHold({ replicas, weightPercent, hold, ready, own }: HoldGoal): Hold {
  const wanted = podsOfShare(weightPercent, replicas);
  if (hold && ready < Math.min(grantedBy(hold, replicas), wanted)) return hold;
  const final = percentOfShare(weightPercent, replicas);
  const before = hold?.unavailablePercent ?? 0;
  /** Without surge. A share that was reached is never taken back by bounds. */
  const settled = (percent: number): Hold => ({
    surgePercent: 0,
    unavailablePercent: Math.max(1, before, percent),
  });
  if (hold && hold.surgePercent > 0) {
    const reached = grantedBy(hold, replicas);
    const sum = hold.surgePercent + hold.unavailablePercent;
    return settled(reached >= wanted ? final : Math.max(sum, percentOfPods(reached, replicas)));
  }
  const reached = floorOf(before, replicas);
  if (reached >= wanted) return settled(final);
  const surgePercent = Math.floor((100 * Math.min(wanted - reached, own.maxSurge)) / replicas);
  if (surgePercent > 0) return { surgePercent, unavailablePercent: before };
  const next = Math.min(wanted, reached + Math.max(1, own.maxUnavailable));
  const percent = Math.max(before + 1, percentOfPods(next, replicas));
  return settled(next >= wanted ? final : Math.min(final, percent));
}

function percentOfShare(weightPercent: number, replicas: number): number {
  if (replicas > EXACT_UP_TO) return weightPercent;
  return percentOfPods(ceilOf(weightPercent, replicas), replicas);
}

/** The percentage that gives this many pods, or the largest number below for which there is one. */
function percentOfPods(pods: number, replicas: number): number {
  const up = Math.ceil((100 * pods) / Math.max(1, replicas));
  return floorOf(up, replicas) > pods ? Math.floor((100 * pods) / replicas) : up;
}

function ceilOf(percent: number, replicas: number): number {
  return Math.ceil((percent * replicas) / 100);
}

function floorOf(percent: number, replicas: number): number {
  return Math.floor((percent * replicas) / 100);
}

/** Arithmetic of a Deployment's rolling update, rounded as Kubernetes rounds. */

/** Most pods above and below the wanted number during an update. */
interface Fenceposts {
  maxSurge: number;
  maxUnavailable: number;
}

/** maxSurge rounds up, maxUnavailable down; both 0 means one pod may be missing. Default 25 % each. */
export function fenceposts(
  replicas: number,
  rollingUpdate: Readonly<Record<string, unknown>> | null | undefined,
): Fenceposts {
  const podsOf = (value: unknown): number => {
    if (typeof value === 'number') return value;
    const percent = /^(\d{1,5})%$/.exec(typeof value === 'string' ? value : '25%')?.[1];
    return percent === undefined ? Number(value) || 0 : (Number(percent) * replicas) / 100;
  };
  const maxSurge = Math.ceil(podsOf(rollingUpdate?.maxSurge));
  const maxUnavailable = Math.floor(podsOf(rollingUpdate?.maxUnavailable));
  return { maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable };
}

/** Whether a change of the template leaves a ready pod at every moment, given that all pods are ready before it. */
export function keepsReadyPod(
  replicas: number,
  strategy: Readonly<Record<string, unknown>> | undefined,
): boolean {
  if (strategy?.type === 'Recreate') return false;
  const { maxUnavailable } = fenceposts(
    replicas,
    strategy?.rollingUpdate as Record<string, unknown> | undefined,
  );
  return replicas - maxUnavailable >= 1;
}
