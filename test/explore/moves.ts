/** What can happen to a place from outside, by names that can be replayed. */
import type { Decision } from '../../src/rollout/outcome.ts';
import { mark, noteState } from './ledger.ts';
import { DIGESTS, type Digest, lastGood, type Place, PODS, SIDES, type Side, type Variant } from './place.ts';
import { later, play, rollOn, taken, withPods } from './world.ts';

/** One thing that can happen. `next` is undefined where it changes nothing. */
interface Happening {
  readonly name: string;
  next(place: Place, variant: Variant): Place | undefined;
  /** Only deep explorations try it. */
  readonly isRare?: boolean;
}

const failures = ['SetTraffic', 'ApplyPrimary', 'SaveRecord', 'Reject', 'EnsureServices', 'MarkProven'];

const healed = (place: Place) => SIDES.reduce(withPods, place);

function withRoom(side: Side, change: number): (place: Place) => Place | undefined {
  return (place) => {
    const room = Math.max(0, Math.min(PODS, place.room[side] + change));
    if (room === place.room[side]) return undefined;
    return healed({ ...place, room: { ...place.room, [side]: room } });
  };
}

function fallsSick(
  digestOf: (place: Place) => Digest | undefined,
  sides: readonly Side[],
): Happening['next'] {
  return (place) => {
    const digest = digestOf(place);
    const names = sides.map((side) => `${digest}/${side}`).filter((name) => !place.sick.includes(name));
    if (digest === undefined || names.length === 0) return undefined;
    return healed({ ...place, sick: [...place.sick, ...names].sort() });
  };
}

const headOf = ({ head }: Place) => (head === 'unknown' ? undefined : head);

const newOf = (place: Place) => {
  const head = headOf(place);
  return head === undefined || place.proven.includes(head) ? undefined : head;
};

function withMetric(side: Side, said: Place['metrics']['primary']): Happening['next'] {
  return (place) =>
    place.metrics[side] === said ? undefined : { ...place, metrics: { ...place.metrics, [side]: said } };
}

function commit(digest: Digest): Happening {
  return {
    name: `commit ${digest}`,
    next: (place) => (place.head === digest ? undefined : { ...place, head: digest }),
  };
}

const HAPPENINGS: readonly Happening[] = [
  ...DIGESTS.map(commit),
  { name: 'the primary loses a pod', next: withRoom('primary', -1) },
  { name: 'the canary loses a pod', next: withRoom('canary', -1) },
  {
    name: 'nodes are back',
    next: ({ room, ...rest }) =>
      room.primary + room.canary === 2 * PODS
        ? undefined
        : { ...rest, room: { primary: PODS, canary: PODS } },
  },
  { name: 'the last-known-good dies', next: fallsSick(lastGood, SIDES) },
  { name: 'head breaks on the primary', next: fallsSick(newOf, ['primary']) },
  { name: 'head breaks on the canary', next: fallsSick(newOf, ['canary']) },
  { name: 'all heal', next: (place) => (place.sick.length === 0 ? undefined : { ...place, sick: [] }) },
  { name: 'the canary fails checks', next: withMetric('canary', 'fail') },
  { name: 'the canary has no data', next: withMetric('canary', 'unknown') },
  { name: 'the canary passes checks', next: withMetric('canary', 'pass') },
  { name: 'new releases fail checks on the primary', next: withMetric('primary', 'failsNew') },
  { name: 'the primary fails checks', next: withMetric('primary', 'fail') },
  { name: 'the primary has no data', next: withMetric('primary', 'unknown') },
  { name: 'the primary passes checks', next: withMetric('primary', 'pass') },
  {
    name: 'the gateway stands still',
    next: (place) => (place.gateway ? { ...place, gateway: false } : undefined),
  },
  { name: 'the gateway goes on', next: (place) => (place.gateway ? undefined : gatewayUp(place)) },
  { name: 'paused', next: (place) => (place.isPaused ? undefined : { ...place, isPaused: true }) },
  { name: 'not paused', next: (place) => (place.isPaused ? { ...place, isPaused: false } : undefined) },
  { name: 'abort', next: aborted },
  ...(['auto', 'hold', 'revert', 'halt'] as const).map((onFailure) => ({
    name: `onFailure ${onFailure}`,
    isRare: onFailure !== 'auto',
    next: (place: Place, { spec }: Variant) =>
      (place.onFailure ?? spec.postPromotion?.onFailure ?? 'auto') === onFailure
        ? undefined
        : { ...place, onFailure },
  })),
  {
    name: 'Git cannot be read',
    next: (place) => (place.head === 'unknown' ? undefined : { ...place, head: 'unknown' }),
  },
  { name: 'nobody looks for a deadline', next: (place, variant) => later(rolledOut(place), 61_000, variant) },
  {
    name: 'nothing is refused',
    next: (place) => (place.refuses === '' ? undefined : { ...place, refuses: '' }),
  },
  { name: 'the last-known-good is lost', next: damaged },
  { name: 'somebody changes the image of the primary', next: drifted },
  { name: 'somebody scales the primary to 1', next: byHand(1) },
  { name: 'somebody scales the primary to 0', next: byHand(0), isRare: true },
  {
    name: 'suspended',
    isRare: true,
    next: (place) => (place.isSuspended ? undefined : { ...place, isSuspended: true }),
  },
  {
    name: 'not suspended',
    isRare: true,
    next: (place) => (place.isSuspended ? { ...place, isSuspended: false } : undefined),
  },
  { name: 'another leader, a day ahead', isRare: true, next: (place) => skewed(place, 86_400_000) },
  { name: 'another leader, a day behind', isRare: true, next: (place) => skewed(place, -86_400_000) },
];

/** Controllers have done what they can. */
function rolledOut(place: Place): Place {
  const next = rollOn(place);
  return next === place ? place : rolledOut(next);
}

function gatewayUp(place: Place): Place {
  return { ...place, gateway: true, route: taken(place) };
}

function aborted(place: Place): Place | undefined {
  const tried = [place.target?.digest, place.primary?.digest].find(
    (digest) => digest !== undefined && !place.proven.includes(digest),
  );
  if (tried === undefined || place.abort === tried) return undefined;
  return { ...place, abort: tried, ledger: mark(place.ledger, tried) };
}

function damaged(place: Place): Place | undefined {
  const good = lastGood(place);
  if (good === undefined || place.damaged.includes(good)) return undefined;
  return { ...place, damaged: [...place.damaged, good].sort() };
}

function drifted(place: Place): Place | undefined {
  const { primary } = place;
  return !primary || primary.drifted ? undefined : { ...place, primary: { ...primary, drifted: true } };
}

function byHand(desired: number): Happening['next'] {
  return (place) => {
    const { primary } = place;
    if (!primary || primary.desired <= desired) return undefined;
    const ready = Math.min(primary.ready, desired);
    return { ...place, primary: { ...primary, desired, ready, old: Math.min(primary.old, desired - ready) } };
  };
}

/** The process dies, and one with another wall clock leads. */
function skewed(place: Place, skewMs: number): Place | undefined {
  return place.skewMs === skewMs
    ? undefined
    : { ...place, skewMs, leadsSinceMs: place.nowMs, answer: undefined, answerAt: '' };
}

const byName = new Map(HAPPENINGS.map((happening) => [happening.name, happening]));

/** Everything that can happen here, with what becomes of it. */
export function* happenings(
  place: Place,
  decision: Decision,
  variant: Variant,
  isDeep: boolean,
): Generator<readonly [string, Place]> {
  for (const name of namesOf(place, decision, isDeep)) {
    const next = happen(place, decision, variant, name);
    if (next) yield [name, next];
  }
}

/** Names of what may happen: crashes within a decision, and refusals of what it wants, besides all that can always happen. */
function* namesOf(place: Place, decision: Decision, isDeep: boolean): Generator<string> {
  for (const { name, isRare } of HAPPENINGS) if (isDeep || isRare !== true) yield name;
  const writes = decision.actions.length + (decision.intentFirst ? 2 : 1);
  for (let after = place.answer ? 0 : 1; after < writes; after += 1) yield `crash after ${after} writes`;
  if (place.refuses !== '') return;
  for (const type of new Set(decision.actions.map((action) => action.type)))
    if (failures.includes(type)) yield `${type} is refused`;
}

/** The place after this happened; undefined where it changes nothing. */
export function happen(place: Place, decision: Decision, variant: Variant, name: string): Place | undefined {
  const known = byName.get(name);
  const next = known ? known.next(place, variant) : within(place, decision, variant, name);
  return next && noteState(next, variant);
}

function within(place: Place, decision: Decision, variant: Variant, name: string): Place | undefined {
  const crashAfter = /^crash after (\d+) writes$/.exec(name)?.[1];
  if (crashAfter !== undefined)
    return play(place, decision, { variant, judge: () => undefined, crashAfter: Number(crashAfter) }).place;
  const refused = /^(\w+) is refused$/.exec(name)?.[1];
  return refused === undefined || place.refuses === refused ? undefined : { ...place, refuses: refused };
}

/** From here on nothing more happens, and what keeps a rollout back ends. */
export function fair(place: Place, variant: Variant): Place {
  const isFair = place.refuses === '' && place.gateway && !place.isPaused && !place.isSuspended;
  if (isFair) return place;
  const at = place.gateway ? place : gatewayUp(place);
  return noteState({ ...at, refuses: '', isPaused: false, isSuspended: false }, variant);
}

/** As fair, but what is refused stays refused. */
export function stillRefused(place: Place, variant: Variant): Place {
  return { ...fair(place, variant), refuses: place.refuses };
}

/** As fair, and everybody is well. */
export function wellAgain(place: Place, variant: Variant): Place {
  const room = { primary: PODS, canary: PODS };
  const metrics = { canary: 'pass', primary: 'pass' } as const;
  return fair({ ...place, sick: [], room, metrics }, variant);
}
