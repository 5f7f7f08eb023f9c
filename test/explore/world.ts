/** From an abstract place to the `World` that the core is given, and from its actions back to a place. */
import type { Canary } from '../../src/api/canary/canary.ts';
import type { CheckOutcome, CheckRequest } from '../../src/api/observed.ts';
import type { WorkloadView } from '../../src/health/workload-view.ts';
import type { Action, Decision } from '../../src/rollout/outcome.ts';
import * as actions from '../../src/rollout/outcome.ts';
import { step } from '../../src/rollout/step.ts';
import type { RecordView, World } from '../../src/rollout/world.ts';
import { countersOf } from './key.ts';
import { EMPTY_LEDGER, forget, noteAnswer, noteState } from './ledger.ts';
import {
  DIGESTS,
  type Digest,
  isHealthy,
  isRejected,
  type Metric,
  type Place,
  PODS,
  type Pods,
  podsOf,
  SIDES,
  type Side,
  serving,
  type Variant,
} from './place.ts';

export const START_MS = Date.parse('2026-01-01T00:00:00Z');
const LONG_AGO_MS = 3_600_000;

/** Nothing is there yet, and Git says `a`. */
export function emptyPlace(): Place {
  return {
    ...{ nowMs: START_MS, skewMs: 0, leadsSinceMs: START_MS - LONG_AGO_MS, status: {}, head: 'a' },
    ...{ primary: undefined, target: undefined, room: { primary: PODS, canary: PODS }, sick: [] },
    ...{ route: undefined, gateway: true, saved: [], proven: [], damaged: [], rejected: [] },
    ...{ metrics: { canary: 'pass', primary: 'pass' }, answer: undefined, answerAt: '', refuses: '' },
    ...{ isPaused: false, isSuspended: false, abort: '', onFailure: undefined, ledger: EMPTY_LEDGER },
  };
}

const canaries = new Map<string, Canary>();

function canaryOf(place: Place, { name, spec }: Variant): Canary {
  const { onFailure, isPaused, isSuspended, abort } = place;
  const key = `${name}/${onFailure}/${isPaused}/${isSuspended}/${abort}`;
  const known = canaries.get(key);
  if (known) return known;
  const postPromotion = { ...spec.postPromotion, ...(onFailure ? { onFailure } : {}) };
  const annotations = {
    ...(isPaused ? { 'holdfast.dev/pause': 'true' } : {}),
    ...(abort === '' ? {} : { 'holdfast.dev/abort': `${abort}@1` }),
  };
  const made = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'web', namespace: 'test', generation: 1, annotations },
    spec: {
      provider: 'gatewayapi:v1',
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      service: { port: 80 },
      progressDeadlineSeconds: 60,
      ...spec,
      postPromotion,
      ...(isSuspended ? { suspend: true } : {}),
    },
  } as Canary;
  canaries.set(key, made);
  return made;
}

const commits = Object.fromEntries(
  DIGESTS.map((digest) => [
    digest,
    { commit: `sha-${digest}`, subject: digest, author: 'dev', time: '2026-01-01T00:00:00Z' },
  ]),
) as Record<Digest, { commit: string; subject: string; author: string; time: string }>;

const options = { minIntervalMs: 1000, defaultProvider: 'kubernetes' };
const peers = { verifying: 0, failingNow: 0, failedTimes: [] };

/** What the core is shown of a place. */
export function worldOf(place: Place, variant: Variant): World {
  const { route, nowMs, skewMs } = place;
  return {
    nowMs: nowMs + skewMs,
    canary: canaryOf(place, variant),
    status: place.status,
    head: headOf(place),
    records: place.saved.map((digest) => recordOf(place, digest)).reverse(),
    rejected: place.rejected,
    leadingSinceMs: place.leadsSinceMs + skewMs,
    primary: viewOf(place, 'primary', variant),
    target: viewOf(place, 'canary', variant),
    adoptable: undefined,
    route: route && {
      primaryWeight: 100 - route.weight,
      canaryWeight: route.weight,
      mirrored: route.mirrored,
      matched: false,
      accepted: route.accepted,
      ...(route.accepted ? {} : { problem: 'not accepted yet' }),
    },
    checks: place.answer,
    peers,
    options,
  } as World;
}

function headOf({ head }: Place): World['head'] {
  if (head === 'unknown')
    return { kind: 'unknown', reason: 'RenderFailed', message: 'apps/x.yaml:3 is broken' };
  const release = {
    digest: head,
    commit: commits[head],
    settingsKey: 's1',
    replicas: PODS,
    mountsConfig: false,
  };
  return { kind: 'release', release };
}

function recordOf({ proven, damaged, head }: Place, digest: Digest): RecordView {
  const order = proven.indexOf(digest);
  const promotedTime = order < 0 ? undefined : new Date(START_MS + order * 1000).toISOString();
  return {
    ...{ digest, commit: commits[digest], name: `record-${digest}`, promotedTime },
    ...(order < 0 ? {} : { sequence: order + 1 }),
    ...(damaged.includes(digest) ? { damaged: 'its bytes were changed', inGit: head === digest } : {}),
  };
}

function viewOf(place: Place, side: Side, { recreate }: Variant): WorkloadView | undefined {
  const pods = podsOf(place, side);
  if (!pods) return undefined;
  const { digest, desired, ready, old, drifted } = pods;
  const broken = ready < desired && (!isHealthy(place, digest, side) || ready >= place.room[side]);
  const image = drifted ? 'by-hand' : digest;
  return {
    name: side === 'primary' ? 'web-primary' : 'web',
    ...{ uid: side, resourceVersion: '1', digest, settingsKey: 's1', configCopies: [], observed: true },
    drift: drifted
      ? {
          manager: 'kubectl',
          fields: [{ path: 'spec.template.spec.containers[app].image', expected: digest, actual: 'by-hand' }],
        }
      : undefined,
    ...{ desiredReplicas: desired, wantedReplicas: PODS, replicas: desired + old, updatedReplicas: desired },
    ...{ readyReplicas: ready + old, availableReplicas: ready + old, updatedReadyReplicas: ready },
    ...{ followsNodes: false, progressDeadlineExceeded: false, keepsReadyPod: recreate !== true },
    faults: broken
      ? [{ pod: `${side}-1`, container: 'app', reason: 'ProbeFailing', message: 'not ready' }]
      : [],
    ...{ restarts: 0, imagesMatch: true, podContainers: ['app'], endpoints: ready },
    images: [{ container: 'app', image, found: [image], ids: [image] }],
  } as WorkloadView;
}

/** What the core decides there. */
export function decide(place: Place, variant: Variant): Decision {
  return step(worldOf(place, variant));
}

/** Ready pods as far as health and nodes let them be. */
export function withPods(place: Place, side: Side): Place {
  const pods = podsOf(place, side);
  if (!pods) return place;
  const room = place.room[side];
  const ready = isHealthy(place, pods.digest, side) ? Math.min(pods.ready, room) : 0;
  const old = isHealthy(place, pods.oldDigest, side) ? Math.min(pods.old, room - ready) : 0;
  return ready === pods.ready && old === pods.old ? place : withSide(place, side, { ...pods, ready, old });
}

function withSide(place: Place, side: Side, pods: Pods | undefined): Place {
  return side === 'primary' ? { ...place, primary: pods } : { ...place, target: pods };
}

/** Controllers get on by one pod of each side; the same place when there is nothing left to do for them. */
export function rollOn(place: Place): Place {
  return SIDES.reduce((at, side) => {
    const pods = podsOf(at, side);
    if (!pods) return at;
    const goal = isHealthy(at, pods.digest, side) ? Math.min(pods.desired, at.room[side]) : 0;
    const ready = Math.min(goal, pods.ready + 1);
    const old = ready >= pods.desired ? 0 : Math.min(pods.old, pods.desired - ready);
    const next = withSide(at, side, { ...pods, ready, old, oldDigest: old > 0 ? pods.oldDigest : undefined });
    return ready === pods.ready && old === pods.old ? at : withPods(next, side);
  }, place);
}

/** A new template, as its controller takes it up at once. */
function templated(place: Place, side: Side, digest: Digest, desired: number, { recreate }: Variant): Place {
  const pods = podsOf(place, side);
  const ledger = pods?.digest === digest ? place.ledger : forget(place.ledger, digest, side);
  const at = ledger === place.ledger ? place : { ...place, ledger };
  if (!pods)
    return withSide(at, side, { digest, desired, ready: 0, old: 0, oldDigest: undefined, drifted: false });
  if (pods.digest === digest) return scaled(withSide(at, side, { ...pods, drifted: false }), side, desired);
  const old = recreate ? 0 : Math.min(serving(pods), desired);
  const oldDigest = old === 0 ? undefined : pods.ready > 0 ? pods.digest : pods.oldDigest;
  return withSide(at, side, { digest, desired, ready: 0, old, oldDigest, drifted: false });
}

function scaled(place: Place, side: Side, desired: number): Place {
  const pods = podsOf(place, side);
  if (!pods) return place;
  const ready = Math.min(pods.ready, desired);
  const old = Math.min(pods.old, desired - ready);
  return withSide(place, side, { ...pods, desired, ready, old });
}

function routed(place: Place, { route }: Extract<Action, { type: 'SetTraffic' }>): Place {
  const { nowMs, gateway, route: before } = place;
  const { canaryWeight: weight, mirrored } = route;
  if (before && before.weight === weight && before.mirrored === mirrored) return place;
  const [data, dataBefore] = [before?.data ?? 0, before?.dataBefore ?? 0];
  if (!gateway)
    return {
      ...place,
      route: {
        weight,
        mirrored,
        accepted: false,
        data,
        dataBefore,
        dataSinceMs: before?.dataSinceMs ?? nowMs,
      },
    };
  return {
    ...place,
    route: taken({
      ...place,
      route: { weight, mirrored, accepted: false, data, dataBefore, dataSinceMs: nowMs },
    }),
  };
}

/** The route once the data plane has taken it over. */
export function taken({ route, nowMs }: Place): Place['route'] {
  if (!route || route.accepted) return route;
  return { ...route, accepted: true, data: route.weight, dataBefore: route.data, dataSinceMs: nowMs };
}

/** The place after one action. */
export function perform(place: Place, action: Action, variant: Variant): Place {
  const next = changed(place, action, variant);
  return next === place ? place : SIDES.reduce(withPods, next);
}

function changed(place: Place, action: Action, variant: Variant): Place {
  switch (action.type) {
    case 'SaveRecord':
      return saved(place, action.digest as Digest);
    case 'RemoveRecords':
      return forgotten(place, action.names);
    case 'MarkProven': {
      const digest = action.digest as Digest;
      if (place.proven.at(-1) === digest) return place;
      return { ...place, proven: [...place.proven.filter((one) => one !== digest), digest] };
    }
    case 'ApplyCanary':
      return same(place, templated(place, 'canary', action.digest as Digest, action.replicas, variant));
    case 'ScaleCanary':
      return same(place, scaled(place, 'canary', action.replicas));
    case 'ApplyPrimary': {
      const digest = action.digest as Digest;
      const at = left(place, digest);
      return same(place, templated(at, 'primary', digest, PODS, variant));
    }
    case 'ScalePrimary':
      return same(place, scaled(place, 'primary', action.replicas));
    case 'SetTraffic':
      return routed(place, action);
    case 'Reject': {
      const { digest, commit, reason } = action;
      if (isRejected(place, digest)) return place;
      const time = new Date(place.nowMs + place.skewMs).toISOString();
      return { ...place, rejected: [...place.rejected, { digest, commit, reason, time }] };
    }
    case 'Unreject':
      return { ...place, rejected: place.rejected.filter(({ digest }) => digest !== action.digest) };
    default:
      return place;
  }
}

function saved(place: Place, digest: Digest): Place {
  if (place.damaged.includes(digest))
    return { ...place, damaged: place.damaged.filter((one) => one !== digest) };
  if (place.saved.includes(digest)) return place;
  return { ...place, saved: [...place.saved, digest].sort() };
}

/** As `recordOf` names them. */
function forgotten(place: Place, names: readonly string[]): Place {
  return { ...place, saved: place.saved.filter((digest) => !names.includes(`record-${digest}`)) };
}

/** The primary is taken back from a release that was rejected. */
function left(place: Place, digest: Digest): Place {
  const { primary, ledger } = place;
  if (!primary || primary.digest === digest || !isRejected(place, primary.digest)) return place;
  return { ...place, ledger: { ...ledger, left: [...ledger.left, primary.digest].sort() } };
}

function same(before: Place, after: Place): Place {
  const isSamePods = (a: Pods | undefined, b: Pods | undefined) =>
    a === b || JSON.stringify(a) === JSON.stringify(b);
  const isSame =
    isSamePods(before.primary, after.primary) &&
    isSamePods(before.target, after.target) &&
    before.ledger === after.ledger;
  return isSame ? before : after;
}

const laneOf = (actions as { laneOf?: (action: Action) => string }).laneOf;
const laneOrder = ['safety', 'bookkeeping', 'housekeeping', 'teardown'];

/** The order of the engine: lane by lane, where there are lanes, with the record of what the primary gets first. */
function ordered(decided: readonly Action[]): readonly Action[] {
  if (!laneOf) return decided;
  const byLane = laneOrder.flatMap((lane) => decided.filter((action) => laneOf(action) === lane));
  const isFirst = (action: Action) =>
    action.type === 'SaveRecord' &&
    byLane.some(
      (other) =>
        (other.type === 'ApplyPrimary' || other.type === 'ApplyCanary') && other.digest === action.digest,
    );
  return [...byLane.filter(isFirst), ...byLane.filter((action) => !isFirst(action))];
}

/** What a decision led to. */
export interface Played {
  readonly place: Place;
  /** Something was written. */
  readonly wrote: boolean;
  /** A check was asked, and its answer is another one than before. */
  readonly asked: boolean;
  /** An action was refused: the engine tries again after a while. */
  readonly failed: boolean;
}

const RETRY_MS = 5000;

/** Called before each action, with the place as it is then. */
export type Judge = (place: Place, action: Action, decision: Decision) => void;

export interface Playing {
  readonly variant: Variant;
  readonly judge: Judge;
  readonly crashAfter?: number | undefined;
}

/** Does what was decided; after `crashAfter` writes, the intent and the status among them, the program dies and another one leads. */
export function play(place: Place, decision: Decision, playing: Playing): Played {
  const { variant, crashAfter } = playing;
  const status = trimmed(decision.status);
  const isNews = !isSaid(decision.status, place.status);
  const budget = { left: crashAfter ?? Number.POSITIVE_INFINITY };
  const write = (at: Place, next: Place) => (next === at || budget.left-- <= 0 ? at : next);
  const intended = decision.intentFirst && isNews ? write(place, { ...place, status }) : place;
  const { place: acted, failed } = act(intended, decision, { ...playing, write });
  const isLeft = failed && !laneOf;
  const done = isNews && !isLeft && acted.status !== status ? write(acted, { ...acted, status }) : acted;
  const wrote = done !== place;
  if (crashAfter !== undefined)
    return { place: noteState(died(done), variant), wrote, asked: false, failed: false };
  const answered = decision.check && !isLeft ? answer(done, decision.check) : done;
  return { place: noteState(answered, variant), wrote, asked: answered !== done, failed };
}

/** The actions in the engine's order; without lanes the first that fails ends them all. */
function act(
  place: Place,
  decision: Decision,
  { variant, judge, write }: Playing & { write: (at: Place, next: Place) => Place },
): { place: Place; failed: boolean } {
  const undone: Action[] = [];
  let at = place;
  for (const action of ordered(decision.actions)) {
    if (place.refuses === action.type || undone.some((other) => reliesOn(action, other))) {
      undone.push(action);
      if (!laneOf) break;
      continue;
    }
    judge(at, action, decision);
    at = write(at, perform(at, action, variant));
  }
  return { place: at, failed: undone.length > 0 };
}

/** Whether an action must not be done since this other one was not: as the engine sees it (`src/engine/canary/perform`). */
function reliesOn(action: Action, undone: Action): boolean {
  const takesAway =
    action.type === 'ApplyPrimary' ||
    action.type === 'ApplyCanary' ||
    ((action.type === 'ScaleCanary' || action.type === 'ScalePrimary') && action.replicas === 0);
  if (undone.type === 'SetTraffic') return takesAway;
  if (undone.type !== 'SaveRecord') return false;
  const needsRecord =
    action.type === 'ApplyPrimary' || action.type === 'ApplyCanary' || action.type === 'MarkProven';
  return needsRecord && action.digest === undone.digest;
}

/** Another process leads, which knows of no answer. */
function died(place: Place): Place {
  return { ...place, answer: undefined, answerAt: '', leadsSinceMs: place.nowMs };
}

/** Whether both say the same, but for when the last change was. */
function isSaid(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  names.delete('lastTransitionTime');
  return [...names].every((name) => isSaid(one[name], other[name]));
}

/** Lists of what was are kept short: nothing depends on how long they are. */
function trimmed(status: Decision['status']): Decision['status'] {
  const { history, incidents } = status;
  if ((history?.length ?? 0) <= 1 && (incidents?.length ?? 0) <= 1) return status;
  return {
    ...status,
    ...(history ? { history: history.slice(0, 1) } : {}),
    ...(incidents ? { incidents: incidents.slice(0, 1) } : {}),
  };
}

function answer(place: Place, request: CheckRequest): Place {
  if (place.answer?.key === request.key) return place;
  const metric = metricOf(place, request.role);
  const reading =
    metric === 'unknown'
      ? ({ kind: 'noData', detail: 'no values' } as const)
      : ({ kind: 'value', value: metric === 'pass' ? 100 : 50 } as const);
  const readings = request.metrics.map((name) => ({ name, reading }));
  const outcome: CheckOutcome = { key: request.key, atMs: place.nowMs + place.skewMs, readings, hooks: [] };
  const ledger = noteAnswer(place, request, metric);
  return { ...place, answer: outcome, answerAt: countersOf(place.status), ledger };
}

function metricOf({ metrics, primary, proven }: Place, role: Side): Metric {
  const said = metrics[role];
  if (said !== 'failsNew') return said;
  return primary && proven.includes(primary.digest) ? 'pass' : 'fail';
}

export type Move = 'wrote' | 'asked' | 'rolled' | 'waited' | 'rests';

/** One step of time: what the core wants; then what controllers do; then the time until the core wants to look again. */
export function goOn(
  place: Place,
  decision: Decision,
  variant: Variant,
  judge: Judge,
): { place: Place; move: Move } {
  const played = play(place, decision, { variant, judge });
  if (played.wrote) return { place: played.place, move: 'wrote' };
  if (played.asked) return { place: played.place, move: 'asked' };
  const rolled = rollOn(place);
  if (rolled !== place) return { place: later(rolled, 1000, variant), move: 'rolled' };
  const waitMs = played.failed ? RETRY_MS : decision.wakeAfterMs;
  if (waitMs === undefined) return { place, move: 'rests' };
  return { place: later(place, waitMs, variant), move: 'waited' };
}

/** The same, after some time. */
export function later(place: Place, ms: number, variant: Variant): Place {
  return noteState({ ...place, nowMs: place.nowMs + ms }, variant);
}
