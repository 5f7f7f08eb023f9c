/**
 * S1-S33 and L1-L10 of docs/invariants.md as predicates over what happens in the exploration. They are judged from pods, routes and the ledger
 * alone: nothing here asks the core, or a helper of it, what is right.
 */
import { conditionOf } from '../../src/api/kubernetes.ts';
import type { Action, Decision } from '../../src/rollout/outcome.ts';
import { isAnalysed, isFailed, isOverdue, passesAt, podsAsked } from './ledger.ts';
import {
  DEADLINE_MS,
  dataShare,
  INTERVAL_MS,
  isRejected,
  lastGood,
  type Place,
  PODS,
  podsOf,
  type Side,
  serving,
  type Variant,
} from './place.ts';
import { carriedBy, isHeldForGood, isNew, nextStep, otherSideIsFull, riseOf } from './shares.ts';

/** An action at the moment at which it is done. */
export interface Look {
  readonly place: Place;
  /** As it was when the decision was made: the intent may be in the status since. */
  readonly from: Place;
  readonly action: Action;
  readonly decision: Decision;
  readonly variant: Variant;
}

/** Where a fair run came to rest, and where it began. */
export interface Rest {
  readonly place: Place;
  readonly variant: Variant;
}

export interface Rule {
  readonly id: string;
  readonly words: string;
  /** What is wrong with this action here. */
  readonly onAction?: (look: Look) => string | undefined;
  /** What is wrong with the status that was decided on here. */
  readonly onStatus?: (place: Place, decision: Decision, variant: Variant) => string | undefined;
  /** What is wrong with a place in which nothing happens any more. */
  readonly atRest?: (rest: Rest) => string | undefined;
  /** Judged by the exploration itself: how. */
  readonly byExploring?: string;
  /** Not to be seen in so small a world: what shows it. */
  readonly elsewhere?: string;
}

export interface Finding {
  readonly rule: string;
  readonly detail: string;
}

function toTheReady({ place, action, variant }: Look): string | undefined {
  const rise = riseOf(place, action);
  if (!rise || place.proven.length === 0) return undefined;
  const { up, down, before, after } = rise;
  const [ready, others] = [serving(podsOf(place, up)), serving(podsOf(place, down))];
  if (others === 0) return undefined;
  if (ready === 0) return `the ${up} gets ${after} % without a ready pod, the ${down} has ${others}`;
  if (after <= carriedBy(place, variant, up) || otherSideIsFull(place, variant, rise)) return undefined;
  if (isFailed(place, down) && isOverdue(place, down)) return undefined;
  return `the ${up} goes from ${before} to ${after} % with ${ready} ready pods, the ${down} has ${others}`;
}

/** A write that takes ready pods away from a side. */
function keepsWhoServes(look: Look): string | undefined {
  const { place, action } = look;
  if (action.type === 'ScalePrimary') {
    const isLess = action.replicas < serving(place.primary) && dataShare(place, 'primary') > 0;
    return isLess ? 'serving pods of the primary would be scaled down' : undefined;
  }
  if (action.type === 'ScaleCanary' || (action.type === 'ApplyCanary' && action.replicas === 0)) {
    const isOnly = action.replicas === 0 && serving(place.target) > 0 && serving(place.primary) === 0;
    return isOnly ? 'the only ready pods would be scaled down' : undefined;
  }
  if (action.type === 'ApplyPrimary') return replacesAll(look, 'primary', action.digest);
  return action.type === 'ApplyCanary' ? replacesAll(look, 'canary', action.digest) : undefined;
}

/** Where pods go before new ones come, a template is written once the traffic has left, if somebody else can take it. */
function replacesAll({ place, variant }: Look, side: Side, digest: string): string | undefined {
  const pods = podsOf(place, side);
  const other = podsOf(place, side === 'primary' ? 'canary' : 'primary');
  if (!variant.recreate || pods?.digest === digest || serving(pods) === 0 || serving(other) === 0)
    return undefined;
  const share = dataShare(place, side);
  return share > 0
    ? `all pods of the ${side} are replaced while it has up to ${share} % of the traffic`
    : undefined;
}

function weightsAddUp({ action }: Look): string | undefined {
  if (action.type !== 'SetTraffic') return undefined;
  const { primaryWeight, canaryWeight } = action.route;
  const isWhole = Number.isInteger(primaryWeight) && Number.isInteger(canaryWeight);
  return isWhole && primaryWeight >= 0 && canaryWeight >= 0 && primaryWeight + canaryWeight === 100
    ? undefined
    : `weights ${primaryWeight}/${canaryWeight}`;
}

/** A share of something that is not proven rises by the next step, after a check that passed at this share of this side. */
function afterACheck(look: Look): string | undefined {
  const { place, action, variant } = look;
  const rise = riseOf(place, action);
  if (!rise || place.proven.length === 0) return undefined;
  const { up, down, before, after } = rise;
  const digest = podsOf(place, up)?.digest;
  if (digest === undefined || !isNew(place, digest) || isAnalysed(place.ledger, digest, variant))
    return undefined;
  if (serving(podsOf(place, down)) === 0 || otherSideIsFull(place, variant, rise)) return undefined;
  // Back to what served before, from something that is no better.
  if (
    isFailed(place, down) &&
    (up === 'canary' || isOverdue(place, down)) &&
    isRejected(place, podsOf(place, down)?.digest)
  )
    return undefined;
  if (after > nextStep(variant, before))
    return `${digest} goes from ${before} to ${after} % of the ${up}, beyond the next step`;
  if (before === 0 || passesAt(place.ledger, digest, up, before) > 0) return undefined;
  return `${digest} goes from ${before} to ${after} % of the ${up} before a check passed there`;
}

/** Requests reach a release as soon as it runs where they go: bringing one up under traffic is giving it a share. */
function noShareByTemplate({ place, action }: Look): string | undefined {
  if (action.type !== 'ApplyCanary' || place.target?.digest === action.digest || action.replicas === 0)
    return undefined;
  const share = dataShare(place, 'canary');
  if (share === 0 || serving(place.primary) === 0) return undefined;
  return `${action.digest} is brought up while the canary may have ${share} % of the traffic`;
}

function onlyTriedReachesThePrimary({ place, action, variant }: Look): string | undefined {
  if (action.type !== 'ApplyPrimary' || place.proven.length === 0 || place.primary?.digest === action.digest)
    return undefined;
  const { digest } = action;
  if (!isNew(place, digest) || isAnalysed(place.ledger, digest, variant)) return undefined;
  const post = place.status.postPromotion?.state;
  const share = dataShare(place, 'primary');
  if (post !== undefined || place.status.phase === 'Progressing') {
    // Through the primary: while the canary has everything.
    if (share === 0 && serving(place.target) > 0) return undefined;
    if (serving(place.primary) === 0 && serving(place.target) === 0) return undefined;
  }
  return `${digest} reaches a primary with up to ${share} % of the traffic, and was not analysed`;
}

function drainedFirst({ place, action }: Look): string | undefined {
  const empties = (action.type === 'ScaleCanary' || action.type === 'ApplyCanary') && action.replicas === 0;
  if (!empties || !place.route || (place.target?.desired ?? 0) === 0) return undefined;
  if (place.route.weight > 0) return `the canary still has ${place.route.weight} %`;
  const share = dataShare(place, 'canary');
  return share > 0 ? `the data plane may still send ${share} % to the canary` : undefined;
}

/** Traffic goes to a primary whose rollout is complete. */
function toAWholePrimary({ place, action, variant }: Look): string | undefined {
  const rise = riseOf(place, action);
  const { primary, target } = place;
  if (rise?.up !== 'primary' || !primary || place.proven.length === 0) return undefined;
  const isWhole = primary.old === 0 && primary.ready >= podsAsked(place, variant, 'primary');
  if (isWhole || serving(target) === 0 || otherSideIsFull(place, variant, rise)) return undefined;
  if (isFailed(place, 'canary') && rise.after <= carriedBy(place, variant, 'primary')) return undefined;
  if (isFailed(place, 'canary') && isOverdue(place, 'canary')) return undefined;
  return `${primary.digest} on the primary gets ${rise.after} % with ${primary.ready} ready pods of it`;
}

function provenByChecks({ place, action, variant }: Look): string | undefined {
  if (action.type !== 'MarkProven' || place.proven.length === 0) return undefined;
  const { digest } = action;
  const { primary, ledger, head } = place;
  if (primary?.digest !== digest) return `the primary runs ${primary?.digest}, not ${digest}`;
  if (primary.drifted) return `somebody changed the template of ${digest}`;
  if (primary.ready < podsAsked(place, variant, 'primary'))
    return `${primary.ready} pods of ${digest} are ready`;
  if (dataShare(place, 'canary') > 0) return `the canary may still have ${dataShare(place, 'canary')} %`;
  const asked = variant.spec.postPromotion?.successThreshold ?? 1;
  const needed = head === digest || head === 'unknown' ? asked : Math.min(1, asked);
  const passed = ledger.counts[`${digest}/verified`] ?? 0;
  return passed >= needed || !isNew(place, digest)
    ? undefined
    : `${passed} of ${needed} checks of ${digest} passed`;
}

function keptBeforeOverwritten({ place, action }: Look): string | undefined {
  const { primary } = place;
  if (action.type !== 'ApplyPrimary' || !primary || primary.digest === action.digest) return undefined;
  const good = lastGood(place);
  if (good !== undefined && !place.saved.includes(good))
    return `there is no record of the last-known-good ${good}`;
  return place.saved.includes(primary.digest)
    ? undefined
    : `what the primary runs (${primary.digest}) is not kept`;
}

function keptBytesOnly({ place, action }: Look): string | undefined {
  if (action.type !== 'ApplyPrimary' || place.head === action.digest) return undefined;
  const { digest } = action;
  if (place.damaged.includes(digest as never)) return `the record of ${digest} is damaged`;
  return place.saved.includes(digest as never) || place.proven.length === 0
    ? undefined
    : `there is no record of ${digest}`;
}

function oneWayBack({ place, action }: Look): string | undefined {
  const digest = place.primary?.digest;
  if (action.type !== 'ApplyPrimary' || digest === undefined || digest === action.digest) return undefined;
  const isSecond = isRejected(place, digest) && place.ledger.left.includes(digest);
  return isSecond ? `the primary is taken back from ${digest} for the second time` : undefined;
}

function rejectedStaysOut({ place, action }: Look): string | undefined {
  const runs = action.type === 'ApplyPrimary' || (action.type === 'ApplyCanary' && action.replicas > 0);
  if (!runs || !isRejected(place, action.digest)) return undefined;
  // What serves alone may be kept up.
  const side = action.type === 'ApplyPrimary' ? 'primary' : 'canary';
  return podsOf(place, side)?.digest === action.digest ? undefined : `${action.digest} was rejected`;
}

function standsStillWhenFallen({ place, from, action }: Look): string | undefined {
  const isFallen = from.status.phase === 'Failed' && from.status.postPromotion?.state === 'Held';
  if (!isFallen || (action.type !== 'ApplyPrimary' && action.type !== 'ApplyCanary')) return undefined;
  const { digest } = action;
  const isAsked = digest === place.head || digest === lastGood(place);
  const isThere = podsOf(place, action.type === 'ApplyPrimary' ? 'primary' : 'canary')?.digest === digest;
  return isAsked || isThere ? undefined : `${digest} is written although the last-known-good itself failed`;
}

function nothingWhileSuspended({ place, action }: Look): string | undefined {
  return place.isSuspended ? `${action.type} while suspended` : undefined;
}

/** halt: templates, config and replicas stand still while Held, but for a newer commit through the primary. */
function haltStandsStill({ place, from, action, variant }: Look): string | undefined {
  const onFailure = place.onFailure ?? variant.spec.postPromotion?.onFailure ?? 'auto';
  const isHeld = from.status.postPromotion?.state === 'Held' && from.status.phase !== 'Failed';
  if (onFailure !== 'halt' || !isHeld || action.type !== 'ApplyPrimary') return undefined;
  const isBack = action.digest === lastGood(place) && place.primary?.digest !== action.digest;
  return isBack && place.head !== action.digest && place.abort === ''
    ? `the last-known-good is written although templates stand still`
    : undefined;
}

function neverRejectedForNothing({ place, action }: Look): string | undefined {
  if (action.type !== 'Reject' || place.ledger.marks.includes(action.digest)) return undefined;
  return `${action.digest} is rejected, and nothing but missing answers speaks against it`;
}

const ofDeadlines: ReadonlySet<string> = new Set([
  ...['ProgressDeadlineExceeded', 'PrimaryNotReady', 'CapacityNotReached', 'NoData', 'LKGNotReady'],
]);

function noDeadlineByTheClock({ place, action }: Look): string | undefined {
  if (action.type !== 'Reject' || !ofDeadlines.has(action.reason) || place.skewMs === 0) return undefined;
  const ledMs = place.nowMs - place.leadsSinceMs;
  return ledMs < DEADLINE_MS - INTERVAL_MS
    ? `${action.digest} is rejected ${ledMs} ms after a clock jumped`
    : undefined;
}

function boundedActions(_place: Place, { actions }: Decision): string | undefined {
  return actions.length <= 40 ? undefined : `${actions.length} actions`;
}

function readyIsTrue(place: Place, { status }: Decision, variant: Variant): string | undefined {
  const isTrue = (name: string) => conditionOf(status, name)?.status === 'True';
  if (isTrue('Stalled') && isTrue('Reconciling')) return 'Stalled and Reconciling are both True';
  if (!isTrue('Ready')) return undefined;
  if (isTrue('Stalled')) return 'Ready and Stalled are both True';
  const { primary, route } = place;
  const good = lastGood(place);
  if (primary?.digest !== good) return `Ready=True, but the primary runs ${primary?.digest} and not ${good}`;
  if (route?.weight !== 0) return `Ready=True, but the canary has ${route?.weight} %`;
  const isWhole =
    primary !== undefined && primary.old === 0 && primary.ready >= podsAsked(place, variant, 'primary');
  if (!isWhole) return `Ready=True, but the primary has ${primary?.ready} ready pods`;
  return status.run === undefined ? undefined : 'Ready=True, but a release is under way';
}

function statusFollows(place: Place, { status }: Decision): string | undefined {
  if (place.isSuspended) return undefined;
  const weight = place.route?.weight ?? 0;
  if ((status.canaryWeight ?? 0) !== weight) return `canaryWeight ${status.canaryWeight} of ${weight}`;
  const { lastKnownGood: good, lastPromotedCommit: commit } = status;
  if (good && good.commit !== `sha-${good.digest}`)
    return `lastKnownGood names ${good.commit} for ${good.digest}`;
  const isOfProven = place.proven.some((digest) => commit === `sha-${digest}`);
  return commit === undefined || isOfProven
    ? undefined
    : `lastPromotedCommit is ${commit}, which never proved itself`;
}

/** What this status says is an end. */
function endOf({ place, variant }: Rest): string | undefined {
  const { phase, postPromotion: post, run } = place.status;
  if (place.proven.length === 0) return undefined;
  const good = lastGood(place);
  const isLost = good === undefined || place.damaged.includes(good);
  if (post?.state === 'Held')
    return isHeldForGood(place, variant, isLost) ? undefined : `Held (${post.reason}) without end`;
  if (run === undefined && (phase === 'Succeeded' || phase === 'Initialized' || phase === 'Failed'))
    return undefined;
  return isLost
    ? undefined
    : `nothing happens any more in ${phase}/${post?.state ?? '-'}: ${place.status.message}`;
}

function servedAtRest({ place }: Rest): string | undefined {
  const { route, primary, target } = place;
  if (!route || place.proven.length === 0) return undefined;
  if (route.data > 0 && serving(target) === 0 && serving(primary) > 0)
    return `${route.data} % go to a canary without ready pods for ever`;
  if (route.data < 100 && serving(primary) === 0 && serving(target) > 0)
    return `${100 - route.data} % go to a primary without ready pods for ever`;
  return undefined;
}

function cleanAtRest({ place }: Rest): string | undefined {
  const { status, primary, target, route, proven } = place;
  if (proven.length === 0 || status.run !== undefined || status.postPromotion !== undefined) return undefined;
  const good = lastGood(place);
  if (good !== undefined && place.damaged.includes(good)) return undefined;
  if (primary?.digest !== good)
    return `${status.phase}, but the primary runs ${primary?.digest} and not ${good}`;
  if (route?.weight !== 0 && serving(primary) > 0)
    return `${status.phase}, but the canary has ${route?.weight} %`;
  if (target && target.desired > 0 && route?.weight === 0)
    return `${status.phase}, but the canary has ${target.desired} pods`;
  return undefined;
}

function asPlannedAtRest({ place }: Rest): string | undefined {
  const { primary, status } = place;
  if (!primary || place.proven.length === 0 || status.postPromotion?.state === 'Held') return undefined;
  return primary.desired === PODS
    ? undefined
    : `somebody scaled the primary to ${primary.desired}, and it stays so`;
}

function headIsTried({ place, variant }: Rest): string | undefined {
  const { head, proven, primary, target, status } = place;
  const good = lastGood(place);
  if (head === 'unknown' || proven.length === 0 || head === good || isRejected(place, head)) return undefined;
  const isLost = good !== undefined && place.damaged.includes(good);
  const isHeld = status.postPromotion?.state === 'Held';
  if (isLost && !isHeld) return undefined;
  const isThere = primary?.digest === head || target?.digest === head;
  if (isThere && isHeld && isHeldForGood(place, variant, isLost)) return undefined;
  return `${head} is what Git says, and is never tried: ${status.message}`;
}

const ofMatrix = 'test/rollout/matrix.test.ts';

/** Every rule, and what is made of it here. */
export const RULES: readonly Rule[] = [
  { id: 'S1', words: 'no traffic to the unready', onAction: toTheReady, atRest: servedAtRest },
  { id: 'S2', words: 'keep the healthy one', onAction: keepsWhoServes },
  { id: 'S3', words: 'weights are whole and add up', onAction: weightsAddUp },
  {
    id: 'S4',
    words: 'a share rises by a step, after a check',
    onAction: (look) => afterACheck(look) ?? noShareByTemplate(look),
  },
  { id: 'S5', words: 'only what was tried reaches the primary', onAction: onlyTriedReachesThePrimary },
  {
    id: 'S6',
    words: 'what was analysed is promoted',
    byExploring: 'by digest, with S5: a digest stands for its bytes',
  },
  { id: 'S7', words: 'no share, read back and arrived, before no pods', onAction: drainedFirst },
  { id: 'S8', words: 'traffic to a whole primary', onAction: toAWholePrimary },
  { id: 'S9', words: 'good only after all checks with all traffic', onAction: provenByChecks },
  { id: 'S10', words: 'kept before it is overwritten', onAction: keptBeforeOverwritten },
  {
    id: 'S11',
    words: 'the last-known-good is never lost',
    elsewhere: 'src/release/record.test.ts, test/sandbox/git-meanwhile.test.ts: bytes',
  },
  { id: 'S12', words: 'a revert writes kept bytes', onAction: keptBytesOnly },
  { id: 'S13', words: 'one revert per digest', onAction: oneWayBack },
  { id: 'S14', words: 'what was rejected stays out', onAction: rejectedStaysOut },
  {
    id: 'S15',
    words: 'nothing is written once the last-known-good fell',
    onAction: (look) => standsStillWhenFallen(look) ?? haltStandsStill(look),
  },
  {
    id: 'S16',
    words: 'config before template',
    elsewhere: 'test/sandbox/config-dependencies.test.ts: ApplyPrimary does both',
  },
  {
    id: 'S17',
    words: 'writes carry versions',
    elsewhere: 'src/cluster/client/client.test.ts: writes are below the core',
  },
  {
    id: 'S18',
    words: 'scalers own replicas',
    elsewhere: 'test/rollout/scalers.test.ts: there are no scalers here',
  },
  {
    id: 'S19',
    words: 'a fresh look before what destroys',
    elsewhere: 'src/cluster/sandbox.test.ts: looks are always fresh here',
  },
  {
    id: 'S20',
    words: 'one leader writes',
    elsewhere: 'src/server/cluster.test.ts: there is one leader at a time here',
  },
  {
    id: 'S21',
    words: 'confinement',
    elsewhere: 'src/engine/sync/scope/permissions.test.ts: there are no kinds here',
  },
  { id: 'S22', words: 'authenticity', elsewhere: 'src/git/sign/verifier.test.ts' },
  { id: 'S23', words: 'freshness of history', elsewhere: 'test/sandbox/rewritten.test.ts' },
  {
    id: 'S24',
    words: 'all-or-nothing snapshot',
    elsewhere: 'src/release/select.test.ts; here: head may be unknown at any time',
  },
  { id: 'S25', words: 'absence is not deletion', elsewhere: 'src/engine/sync/scope/prune-plan.test.ts' },
  { id: 'S26', words: 'suspended: nothing is written', onAction: nothingWhileSuspended },
  { id: 'S27', words: 'Ready=True is true', onStatus: readyIsTrue },
  { id: 'S28', words: 'status is never ahead', onStatus: statusFollows },
  { id: 'S29', words: 'a missing answer is no failure after promotion', onAction: neverRejectedForNothing },
  { id: 'S30', words: 'no deadline by a wall clock', onAction: noDeadlineByTheClock },
  {
    id: 'S31',
    words: 'no Secret is shown',
    elsewhere: 'src/cluster/errors.test.ts, test/sandbox/bad-commits.test.ts',
  },
  { id: 'S32', words: 'bounded', onStatus: boundedActions },
  {
    id: 'S33',
    words: 'any prefix is safe',
    byExploring: 'each decision is broken off after each of its writes',
  },
  {
    id: 'L1',
    words: 'it ends',
    atRest: endOf,
    byExploring: 'a fair run from every place, within 20 minutes',
  },
  {
    id: 'L2',
    words: 'at rest nothing is written',
    atRest: asPlannedAtRest,
    byExploring: 'no circle of a fair run writes',
  },
  { id: 'L3', words: 'a revert ends on the last-known-good', atRest: cleanAtRest },
  {
    id: 'L4',
    words: 'a transient failure ends in success',
    byExploring: 'all heal before the primary is given up',
  },
  { id: 'L5', words: 'a new digest is tried', atRest: headIsTried },
  {
    id: 'L6',
    words: 'a run that needs no Git ends without',
    byExploring: 'with L1: Git stays unreadable in a fair run, and metrics silent',
  },
  {
    id: 'L7',
    words: 'a crash loop gets on',
    elsewhere: `${ofMatrix}, test/rollout/scalers.test.ts: crashes stop in a fair run`,
  },
  {
    id: 'L8',
    words: 'one that hangs delays nobody',
    elsewhere: 'src/engine/checks/checks.test.ts: there is one Canary here',
  },
  { id: 'L9', words: 'a dead watch is noticed', elsewhere: 'src/cluster/caches/reflector-silence.test.ts' },
  {
    id: 'L10',
    words: 'deletion ends',
    elsewhere: 'test/rollout/properties.test.ts, test/sandbox/deletion.test.ts',
  },
];

const ofActions = RULES.flatMap(({ id, onAction }) => (onAction ? [{ id, check: onAction }] : []));
const ofStatuses = RULES.flatMap(({ id, onStatus }) => (onStatus ? [{ id, check: onStatus }] : []));
const ofRest = RULES.flatMap(({ id, atRest }) => (atRest ? [{ id, check: atRest }] : []));

/** What is wrong with an action at the moment at which it is done. */
export function judgeAction(look: Look): Finding[] {
  return ofActions.flatMap(({ id, check }) => found(id, check(look)));
}

/** What is wrong with what a decision says. */
export function judgeStatus(place: Place, decision: Decision, variant: Variant): Finding[] {
  return ofStatuses.flatMap(({ id, check }) => found(id, check(place, decision, variant)));
}

/** What is wrong with a place in which nothing happens any more. */
export function judgeRest(rest: Rest): Finding[] {
  return ofRest.flatMap(({ id, check }) => found(id, check(rest)));
}

function found(rule: string, detail: string | undefined): Finding[] {
  return detail === undefined ? [] : [{ rule, detail }];
}
