import { sharesWorkload } from '../../api/canary/canary.ts';
import { describeAction } from '../../engine/canary/perform/action-text.ts';
import type { Action, Decision } from '../../rollout/outcome.ts';
import { step } from '../../rollout/step.ts';
import { nextSequence, type World } from '../../rollout/world.ts';

/** A moment at which something would be decided, if the cluster stays as it is. */
export interface Moment {
  readonly timeMs: number;
  readonly phase: string;
  readonly state: string | undefined;
  /** The line of the status then. */
  readonly message: string;
  /** What would be written. */
  readonly actions: readonly string[];
}

/** How the forecast ends. */
export interface Forecast {
  readonly moments: readonly Moment[];
  /** Why the forecast ends after the last moment. */
  readonly end: string;
}

const mostSteps = 40;
const mostMoments = 8;

/**
 * Runs the rollout's decisions on a world in which only routes, records and rejections change: what pods do after a write, and what metrics
 * say, cannot be predicted. Pure.
 */
export function forecast(world: World): Forecast {
  const moments: Moment[] = [];
  let now = world;
  for (let count = 0; count < mostSteps && moments.length < mostMoments; count += 1) {
    const decision = withChangesOnly(step(now), now);
    const moment = momentOf(decision, now.nowMs);
    const last = moments.at(-1);
    const isNew = last?.phase !== moment.phase || last.state !== moment.state;
    if (isNew || moment.actions.length > 0) moments.push(moment);
    const end = endOf(decision, now);
    if (end !== undefined) return { moments, end };
    now = worldAfter(decision, now);
  }
  return { moments, end: 'and so on' };
}

const routeParts = ['primaryWeight', 'canaryWeight', 'mirrored', 'matched'] as const;

/** Without actions that keep things as they are, and cost no request where they are: Services are taken to be there. */
function withChangesOnly(decision: Decision, { route }: World): Decision {
  const changes = (action: Action) =>
    action.type === 'SetTraffic'
      ? route === undefined || routeParts.some((part) => action.route[part] !== route[part])
      : action.type !== 'EnsureServices';
  return { ...decision, actions: decision.actions.filter(changes) };
}

function momentOf({ status, actions }: Decision, timeMs: number): Moment {
  return {
    timeMs,
    phase: status.phase ?? '',
    state: status.postPromotion?.state,
    message: status.message ?? '',
    actions: actions.map((action) => describeAction(action, sharesWorkload(status.provider))),
  };
}

/** Why the forecast ends after this decision; undefined where it goes on. */
function endOf({ status, actions, check, wakeAfterMs }: Decision, now: World): string | undefined {
  if (check) return `then these metrics are queried: ${check.metrics.join(', ')}`;
  if (actions.some(({ type }) => !foreseeable.has(type)))
    return 'what follows depends on how the pods behave';
  if (hasChanged(status, now) || actions.length > 0 || wakeAfterMs !== undefined) return undefined;
  return 'then nothing until the cluster or Git changes';
}

/**
 * The world once a decision was carried out, as far as it can be predicted. A change is reconciled again at once, as the controller
 * does; else time passes. Pure.
 */
export function worldAfter({ status, actions, wakeAfterMs }: Decision, now: World): World {
  const atOnce = actions.length > 0 || hasChanged(status, now);
  const nowMs = now.nowMs + (atOnce ? 0 : (wakeAfterMs ?? 0));
  return actions.reduce(assume, { ...now, status, nowMs });
}

function hasChanged(status: Decision['status'], now: World): boolean {
  return JSON.stringify(status) !== JSON.stringify(now.status);
}

/** Writes whose effect on the world is known beforehand. */
const foreseeable: ReadonlySet<Action['type']> = new Set([
  ...([
    'SetTraffic',
    'Reject',
    'Unreject',
    'SaveRecord',
    'MarkProven',
    'RemoveRecords',
    'AdoptPrimary',
  ] as const),
]);

function assume(world: World, action: Action): World {
  if (action.type === 'SetTraffic') return { ...world, route: { ...action.route, accepted: true } };
  if (action.type === 'Unreject')
    return { ...world, rejected: world.rejected.filter(({ digest }) => digest !== action.digest) };
  if (action.type === 'Reject') {
    const { digest, commit, reason, cause } = action;
    const time = new Date(world.nowMs).toISOString();
    const rejection = { digest, commit, reason, time, ...(cause ? { cause } : {}) };
    return { ...world, rejected: [...world.rejected, rejection] };
  }
  if (action.type === 'AdoptPrimary') {
    const primary = world.primary && { ...world.primary, digest: action.digest };
    return { ...world, primary, adoptable: undefined };
  }
  return { ...world, records: recordsAfter(action, world) };
}

function recordsAfter(action: Action, { records, nowMs }: World): World['records'] {
  if (action.type === 'SaveRecord') {
    const commit = { commit: '', subject: '', author: '', time: '' };
    return [{ digest: action.digest, commit, name: 'assumed', promotedTime: undefined }, ...records];
  }
  if (action.type === 'RemoveRecords') return records.filter(({ name }) => !action.names.includes(name));
  if (action.type !== 'MarkProven') return records;
  const promotedTime = new Date(nowMs).toISOString();
  const { digest, after } = action;
  const sequence = nextSequence(records, digest, after);
  return records.map((record) => (record.digest === digest ? { ...record, promotedTime, sequence } : record));
}
