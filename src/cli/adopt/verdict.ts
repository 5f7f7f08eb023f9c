import type { Decision } from '../../rollout/action.ts';
import { type Run, runOf } from '../../rollout/run.ts';
import { step } from '../../rollout/step.ts';
import type { HeadView, World } from '../../rollout/world.ts';
import { worldAfter } from '../explain/forecast.ts';

/**
 * What becomes of a Canary. `takenOver`: by metadata alone, and nothing is rolled out. `carriedOn`: what Flagger was doing is brought to its
 * end. `rolledOut`: a rollout starts. `waits`: nothing, until something passes. `refused`: nothing, until somebody changes something. `ours`: it
 * is Holdfast's already.
 */
export type Outcome = 'takenOver' | 'carriedOn' | 'rolledOut' | 'waits' | 'refused' | 'ours';

/** What Holdfast would do with a Canary when it is started, and why. */
export interface Verdict {
  readonly outcome: Outcome;
  readonly what: string;
  readonly why: string;
}

/** Decisions that one look leads to without waiting for pods are few. */
const mostDecisions = 8;

/** Says what would be done, from the decisions that the controller would take. Pure. */
export function judgeAdoption(world: World): Verdict {
  const { canary, primary, head } = world;
  const decisions = decide(world);
  const line = decisions[0]?.status.message ?? '';
  if (canary.metadata.deletionTimestamp !== undefined)
    return { outcome: 'carriedOn', what: 'the deletion is brought to its end', why: line };
  if (canary.spec.suspend) return { outcome: 'waits', what: 'nothing', why: line };
  if (head.kind !== 'release') return withoutHead(head);
  if (primary?.digest !== undefined) return alreadyOurs(world, decisions);
  const isAdopted = decisions.some(({ actions }) => actions.some(({ type }) => type === 'AdoptPrimary'));
  return isAdopted ? adopted(world, decisions) : notAdopted(world, line);
}

/** Until a release begins, or nothing changes any more. */
function decide(world: World): Decision[] {
  const decisions: Decision[] = [];
  let now = world;
  while (decisions.length < mostDecisions) {
    const decision = step(now);
    decisions.push(decision);
    const next = { ...worldAfter(decision, now), nowMs: world.nowMs };
    if (decision.status.run || whatCounts(next) === whatCounts(now)) break;
    now = next;
  }
  return decisions;
}

function whatCounts({ status, primary, records, rejected }: World): string {
  return JSON.stringify([status, primary?.digest, records, rejected.length]);
}

function withoutHead(head: Exclude<HeadView, { kind: 'release' }>): Verdict {
  const isInGit = head.kind === 'unknown' && head.reason === 'NoSource';
  if (!isInGit) return { outcome: 'refused', what: 'nothing', why: head.message };
  const why =
    'Holdfast wrote its target from Git, which this command does not ask: holdfast run --shadow tells';
  return { outcome: 'ours', what: 'what Git says', why };
}

function alreadyOurs(world: World, decisions: readonly Decision[]): Verdict {
  const end = decisions.at(-1)?.status;
  const why = end?.message ?? leftIn(world);
  if (end?.run && !world.status.run) return { outcome: 'rolledOut', what: 'a rollout starts', why };
  const isFailed = end?.phase === 'Failed';
  return {
    outcome: 'ours',
    what: isFailed ? 'what failed is not tried again until it changes' : 'goes on as it is',
    why: isFailed ? why : 'its primary is marked as running a release of Holdfast',
  };
}

function adopted(world: World, decisions: readonly Decision[]): Verdict {
  const { phase = '' } = world.status;
  const end = decisions.at(-1)?.status;
  const flagger = leftIn(world);
  const isStalled = phase === 'Failed' && (world.status.canaryWeight ?? 0) > 0;
  const process = phase === '' || phase === 'Initializing' ? 'initialization' : 'promotion';
  if (end?.phase === 'Initializing' || end?.postPromotion?.state === 'Converging')
    return {
      outcome: 'carriedOn',
      what: isStalled ? 'the canary serves until the primary is up' : `the ${process} is brought to its end`,
      why: `${flagger}, and the primary has the target's template`,
    };
  const run = end && runOf(end);
  if (run) return begun(world, run);
  if (end?.phase === 'Failed')
    return {
      outcome: 'takenOver',
      what: 'what failed is not tried again until it changes',
      why: `${flagger}, and the target holds what it had tried`,
    };
  const isFinishing = phase === 'Promoting' || phase === 'Finalising';
  return {
    outcome: isFinishing ? 'carriedOn' : 'takenOver',
    what: isFinishing ? 'the promotion is brought to its end' : 'no pod restarts, nothing is rolled out',
    why: `${flagger}, and the primary runs what the target says`,
  };
}

/** A release begins right after the take-over: what Flagger was trying, or what came meanwhile. */
function begun(world: World, run: Run): Verdict {
  const why = leftIn(world);
  if (run.keepsPods)
    return {
      outcome: 'carriedOn',
      what: 'the same revision is tried again from the first step, with the pods that are there',
      why,
    };
  if (world.status.phase === 'Waiting')
    return { outcome: 'carriedOn', what: 'its gates are asked again', why };
  return {
    outcome: 'rolledOut',
    what: world.canary.spec.skipAnalysis ? 'a rollout starts, without analysis' : 'a new analysis starts',
    why: `the target holds another revision than the primary runs; ${why}`,
  };
}

/** Nothing of Flagger's can be taken for a good release. */
function notAdopted(world: World, line: string): Verdict {
  if (!world.primary) return { outcome: 'carriedOn', what: 'the primary is created', why: 'there is none' };
  if (world.adoptable && line.startsWith('Flagger promoted'))
    return { outcome: 'carriedOn', what: 'the promotion is waited for', why: line };
  return {
    outcome: 'rolledOut',
    what: 'the primary is written from the target, and its pods restart',
    why: `no release has proven itself, and the target holds another one than the primary; ${leftIn(world)}`,
  };
}

function leftIn({ status: { phase, canaryWeight = 0 } }: World): string {
  const share = canaryWeight > 0 ? ` with ${canaryWeight} % on the canary` : '';
  return `Flagger left it in ${phase || 'no phase'}${share}`;
}
