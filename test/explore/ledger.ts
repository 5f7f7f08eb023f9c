/** What was seen of each release on each side, kept apart from the core's own bookkeeping. It stays on through everything. */
import type { CheckRequest } from '../../src/api/observed.ts';
import {
  DEADLINE_MS,
  hasArrived,
  INTERVAL_MS,
  isHealthy,
  isRejected,
  lastGood,
  type Metric,
  type Place,
  PODS,
  podsOf,
  SIDES,
  type Side,
  serving,
  type Variant,
} from './place.ts';

const MOST_COUNTED = 3;

export interface Ledger {
  /** `b/canary/50`: analysis checks of b that passed at 50 % of the canary's side; `b/verified`: those in a row after promotion. */
  readonly counts: Readonly<Record<string, number>>;
  /** `b`: something spoke against it; `b/primary`: a check of it failed there. */
  readonly marks: readonly string[];
  /** Digests that the primary was taken back from after they were rejected. */
  readonly left: readonly string[];
  /** Since when a side is not one to send traffic to. */
  readonly badSinceMs: { readonly primary: number | undefined; readonly canary: number | undefined };
}

export const EMPTY_LEDGER: Ledger = {
  counts: {},
  marks: [],
  left: [],
  badSinceMs: { primary: undefined, canary: undefined },
};

/** Writes down an answer that came while the cluster was like this. */
export function noteAnswer(place: Place, request: CheckRequest, metric: Metric): Ledger {
  const side = request.role;
  const digest = podsOf(place, side)?.digest;
  if (digest === undefined || request.metrics.length === 0) return place.ledger;
  const tried = { digest, side };
  if (request.purpose === 'analysis') return noteAnalysis(place, tried, metric);
  if (request.purpose === 'control')
    return metric === 'fail' ? mark(place.ledger, `${digest}/${side}`) : place.ledger;
  const { ledger } = place;
  const key = `${digest}/verified`;
  if (metric === 'unknown') return ledger;
  if (metric === 'fail')
    return mark({ ...ledger, counts: { ...ledger.counts, [key]: 0 } }, digest, `${digest}/${side}`);
  return hasFullTraffic(place) ? count(ledger, key) : ledger;
}

function noteAnalysis(
  place: Place,
  { digest, side }: { digest: string; side: Side },
  metric: Metric,
): Ledger {
  const { ledger, route, nowMs } = place;
  // A missing value counts as a failed check during analysis, as in Flagger.
  if (metric !== 'pass') return mark(ledger, digest, ...(metric === 'fail' ? [`${digest}/${side}`] : []));
  const share = !route ? 0 : side === 'canary' ? route.data : 100 - route.data;
  // The first check of a leader whose clock is ahead may come up to an interval early (docs/reliability.md).
  const isEarly = place.skewMs > 0 && nowMs - place.leadsSinceMs < INTERVAL_MS;
  const isOld = route !== undefined && (isEarly || nowMs - route.dataSinceMs >= INTERVAL_MS);
  const isFull = share === 0 || (route?.accepted === true && isOld);
  return isFull ? count(ledger, `${digest}/${side}/${share}`) : ledger;
}

function hasFullTraffic(place: Place): boolean {
  return place.route?.data === 0 && hasArrived(place);
}

function count(ledger: Ledger, key: string): Ledger {
  const before = ledger.counts[key] ?? 0;
  return before >= MOST_COUNTED ? ledger : { ...ledger, counts: { ...ledger.counts, [key]: before + 1 } };
}

export function mark(ledger: Ledger, ...marks: string[]): Ledger {
  const fresh = marks.filter((one) => !ledger.marks.includes(one));
  return fresh.length === 0 ? ledger : { ...ledger, marks: [...ledger.marks, ...fresh].sort() };
}

/** A release that is brought up anew on a side is analysed anew there. */
export function forget(ledger: Ledger, digest: string, side: Side): Ledger {
  const keys = Object.keys(ledger.counts).filter((key) => !key.startsWith(`${digest}/${side}/`));
  if (keys.length === Object.keys(ledger.counts).length) return ledger;
  return { ...ledger, counts: Object.fromEntries(keys.map((key) => [key, ledger.counts[key] ?? 0])) };
}

/** Checks of the analysis that passed at this share or at a larger one. */
export function passesAt(ledger: Ledger, digest: string, side: Side, least: number): number {
  const prefix = `${digest}/${side}/`;
  return Object.entries(ledger.counts)
    .filter(([key]) => key.startsWith(prefix) && Number(key.slice(prefix.length)) >= least)
    .reduce((sum, [, passes]) => sum + passes, 0);
}

/** Every step of the analysis passed on one of the sides. */
export function isAnalysed(ledger: Ledger, digest: string, { steps, iterations = 0 }: Variant): boolean {
  return SIDES.some(
    (side) =>
      steps.every((share) => passesAt(ledger, digest, side, share) > 0) &&
      passesAt(ledger, digest, side, 0) >= Math.max(1, iterations),
  );
}

/** Notes after each transition what pods and people say about releases, and since when a side is bad. */
export function noteState(place: Place, variant: Variant): Place {
  let { ledger } = place;
  for (const side of SIDES) {
    const pods = podsOf(place, side);
    if (pods && pods.desired > pods.ready && isStuck(place, side)) ledger = mark(ledger, pods.digest);
  }
  if (place.abort !== '') ledger = mark(ledger, place.abort);
  ledger = noteBad(place, ledger, variant);
  return ledger === place.ledger ? place : { ...place, ledger };
}

function noteBad(place: Place, ledger: Ledger, variant: Variant): Ledger {
  const { badSinceMs } = ledger;
  const since = (side: Side) =>
    isBad({ ...place, ledger }, side, variant) ? (badSinceMs[side] ?? place.nowMs) : undefined;
  const next = { primary: since('primary'), canary: since('canary') };
  const isSame = next.primary === badSinceMs.primary && next.canary === badSinceMs.canary;
  return isSame ? ledger : { ...ledger, badSinceMs: next };
}

/** No further pod of the template can become ready as things are. */
export function isStuck(place: Place, side: Side): boolean {
  const pods = podsOf(place, side);
  if (!pods) return false;
  return !isHealthy(place, pods.digest, side) || pods.ready >= place.room[side];
}

/** Nobody would send traffic there by choice: too few pods, or what they run failed or is left behind. */
export function isBad(place: Place, side: Side, variant: Variant): boolean {
  const pods = podsOf(place, side);
  if (!pods || serving(pods) < podsNeeded(variant, side)) return true;
  if (side === 'primary' && pods.ready < podsNeeded(variant, side)) return true;
  return isFailed(place, side);
}

/** What the side runs was rejected, or failed a check there, or is not wanted any more. */
export function isFailed(place: Place, side: Side): boolean {
  const pods = podsOf(place, side);
  if (!pods) return false;
  const { digest } = pods;
  const { ledger, head } = place;
  if (isRejected(place, digest) || place.status.rejected?.some((one) => one.digest === digest)) return true;
  if (ledger.marks.includes(`${digest}/${side}`) || place.abort === digest) return true;
  return side === 'canary' && head !== 'unknown' && digest !== head && digest !== lastGood(place);
}

/** Pods that make a side whole. */
export function podsNeeded({ readyPercent }: Variant, side: Side): number {
  return Math.max(1, Math.ceil((PODS * (readyPercent?.[side] ?? 100)) / 100));
}

/** As podsNeeded, but no more than somebody left of it by hand. */
export function podsAsked(place: Place, variant: Variant, side: Side): number {
  return Math.min(podsNeeded(variant, side), Math.max(1, podsOf(place, side)?.desired ?? PODS));
}

/** The side was bad for a whole deadline. */
export function isOverdue({ ledger, nowMs }: Place, side: Side): boolean {
  const since = ledger.badSinceMs[side];
  return since !== undefined && nowMs - since >= DEADLINE_MS;
}
