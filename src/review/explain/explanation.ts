import { sharesWorkload } from '../../api/canary/canary.ts';
import { planOf } from '../../api/canary/plan.ts';
import { namespacedName } from '../../api/kubernetes.ts';
import type { CheckRequest } from '../../api/observed.ts';
import { describeAction } from '../../engine/canary/perform/action-text.ts';
import type { Comparison } from '../../health/comparison.ts';
import { compare } from '../../health/expectation.ts';
import { expectedState } from '../../rollout/checks.ts';
import type { Action, Decision } from '../../rollout/outcome.ts';
import { step } from '../../rollout/step.ts';
import type { World } from '../../rollout/world.ts';
import { type ExpectedRelease, expectedRelease } from '../diff/canary-difference.ts';
import { type Judgement, judge } from './judgement.ts';
import { foreseeable, hasChanged, worldAfter } from './world-after.ts';

/** Everything `holdfast explain` says about a Canary. */
export interface Explanation {
  readonly canary: string;
  /** What was assumed with --what-if; empty: nothing. */
  readonly assumed: readonly string[];
  readonly phase: string;
  readonly state: string;
  /** The release that must be on the primary, by digest and commit. */
  readonly release: ExpectedRelease;
  /** What must be true of the primary, and what is. */
  readonly primary: readonly Comparison[];
  /** Present while a release is on the primary and differs, or its checks fail. */
  readonly judgement?: Judgement;
  readonly forecast: Forecast;
}

/** Explains a world. Pure. */
export function explain(world: World, assumed: readonly string[]): Explanation {
  const { status, canary } = world;
  const release = expectedRelease(world);
  const { digest = '', commit = '', subject = '' } = release ?? {};
  const plan = planOf(canary, world.options);
  const primary = compare(world.primary, expectedState(world, plan, release?.digest));
  const judgement = judge(world, primary);
  return {
    canary: namespacedName(canary),
    assumed,
    phase: status.phase ?? '',
    state: status.postPromotion?.state ?? '',
    release: { digest, commit, subject },
    primary,
    ...(judgement ? { judgement } : {}),
    forecast: forecast(world),
  };
}

// What Holdfast would do next. Pure.

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
interface Forecast {
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
function forecast(world: World): Forecast {
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

function questionsIn({ metrics, hooks }: CheckRequest): string {
  const asked = [
    ...(metrics.length > 0 ? [`these metrics are queried: ${metrics.join(', ')}`] : []),
    ...(hooks.length > 0 ? [`webhooks are called: ${hooks.join(', ')}`] : []),
  ];
  return asked.join('; ') || 'the checks are made';
}

/** Why the forecast ends after this decision; undefined where it continues. */
function endOf({ status, actions, check, wakeAfterMs }: Decision, now: World): string | undefined {
  if (check) return `then ${questionsIn(check)}`;
  if (actions.some(({ type }) => !foreseeable.has(type)))
    return 'what follows depends on how the pods behave';
  if (hasChanged(status, now) || actions.length > 0 || wakeAfterMs !== undefined) return undefined;
  return 'then nothing until the cluster or Git changes';
}
