/** What tells two places apart: times as ages, and nothing that is only for people. */
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { DEADLINE_MS, INTERVAL_MS, type Place, type Pods, SETTLE_MS } from './place.ts';

/** Beyond this nothing waits. */
const OLDEST_MS = DEADLINE_MS + INTERVAL_MS + 1;

/** Words, lists of what was, and stamps that no wait counts from. */
const DROPPED: ReadonlySet<string> = new Set([
  ...['conditions', 'message', 'history', 'incidents', 'serving', 'next', 'checks', 'answers'],
  ...['lastTransitionTime', 'observedGeneration', 'finding', 'cause', 'subject', 'promotedTime', 'record'],
  ...['restartKey', 'checkNumber', 'mountsConfig', 'provider', 'time', 'sessionAffinityCookie', 'step'],
  ...['primarySessionAffinityCookie', 'previousSessionAffinityCookie', 'specInForce', 'lastAppliedCommit'],
]);

const isStamp = (text: string) => text.length === 24 && text[10] === 'T' && text[23] === 'Z';

function ageOf(sinceMs: number, nowMs: number): number {
  return Math.max(-1, Math.min(OLDEST_MS, nowMs - sinceMs));
}

/** Stamps that only waits of this length count from; all others may count to a deadline. */
const WAITS: Readonly<Record<string, number>> = {
  stepTime: INTERVAL_MS,
  lastCheckTime: INTERVAL_MS,
  since: SETTLE_MS,
};

/** Age of the oldest stamp that a deadline may count from, of the status that was written last. */
let oldestMs = 0;

function writeStamp(text: string, nowMs: number, name: string): string {
  const sinceMs = Date.parse(text);
  const waitMs = WAITS[name];
  if (waitMs === undefined) oldestMs = Math.max(oldestMs, nowMs - sinceMs);
  return `@${Math.min(waitMs ?? OLDEST_MS, ageOf(sinceMs, nowMs))}`;
}

function write(value: unknown, nowMs: number, of = ''): string {
  if (typeof value === 'string') return isStamp(value) ? writeStamp(value, nowMs, of) : value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((entry) => write(entry, nowMs)).join()}]`;
  let text = '{';
  const object = value as Record<string, unknown>;
  for (const name of Object.keys(object).sort()) {
    if (DROPPED.has(name) || object[name] === undefined) continue;
    // Nothing waits for the beginning of a release; a state's beginning is another matter.
    if (name === 'startTime' && 'digest' in object) continue;
    text += `${name}:${write(object[name], nowMs, name)},`;
  }
  return `${text}}`;
}

let cached: { status: CanaryStatus; nowMs: number; text: string; oldestMs: number } | undefined;

/** The status, by what the core reads of it. */
function statusKey(status: CanaryStatus, nowMs: number): { text: string; oldestMs: number } {
  if (cached?.status === status && cached.nowMs === nowMs) return cached;
  oldestMs = 0;
  const text = write(status, nowMs);
  cached = { status, nowMs, text, oldestMs };
  return cached;
}

/** Since when a process leads is of interest only for stamps that are much older (S30). */
function leaderKey({ leadsSinceMs, nowMs, skewMs }: Place, oldest: number): string {
  const ageMs = ageOf(leadsSinceMs, nowMs);
  return skewMs === 0 && oldest <= ageMs + INTERVAL_MS ? '' : String(ageMs);
}

/** Counters that tell an old answer from one that was asked for: their values are of no interest. */
export function countersOf(status: CanaryStatus): string {
  return String((status.run as { checkNumber?: number } | undefined)?.checkNumber ?? '');
}

function podsKey(pods: Pods | undefined): string {
  if (!pods) return '-';
  return `${pods.digest}${pods.desired}${pods.ready}${pods.old}${pods.oldDigest ?? ''}${pods.drifted ? '!' : ''}`;
}

function routeKey({ route, nowMs }: Place): string {
  if (!route) return '-';
  const age = Math.min(INTERVAL_MS, nowMs - route.dataSinceMs);
  const before = age < SETTLE_MS || !route.accepted ? route.dataBefore : '';
  return `${route.weight}${route.mirrored ? 'm' : ''}${route.accepted ? '' : '?'}${route.data}<${before}@${age}`;
}

function answerKey({ answer, answerAt, status, nowMs, skewMs }: Place): string {
  if (!answer) return '-';
  const [reading] = answer.readings;
  const said = reading?.reading.kind === 'value' ? reading.reading.value : reading?.reading.kind;
  const isOld = answerAt !== countersOf(status);
  return `${isOld ? 'old' : 'new'}${said}@${Math.min(INTERVAL_MS, nowMs + skewMs - answer.atMs)}`;
}

function ledgerKey({ ledger, nowMs }: Place): string {
  const { counts, marks, left, badSinceMs } = ledger;
  const since = (ms: number | undefined) => (ms === undefined ? '' : Math.min(DEADLINE_MS, nowMs - ms));
  const passed = Object.keys(counts)
    .sort()
    .map((key) => `${key}=${counts[key]}`);
  return `${passed}|${marks}|${left}|${since(badSinceMs.primary)}|${since(badSinceMs.canary)}`;
}

/** The whole place as text. */
export function textOf(place: Place): string {
  const { nowMs, skewMs, head, primary, target, room, sick, gateway, metrics } = place;
  const { text, oldestMs: oldest } = statusKey(place.status, nowMs + skewMs);
  return [
    text,
    skewMs,
    leaderKey(place, oldest),
    head,
    podsKey(primary),
    podsKey(target),
    `${room.primary}${room.canary}${sick}`,
    routeKey(place),
    gateway,
    `${place.saved}/${place.proven}/${place.damaged}/${place.rejected.map(({ digest }) => digest)}`,
    `${metrics.canary}/${metrics.primary}`,
    answerKey(place),
    `${place.refuses}/${place.isPaused}/${place.isSuspended}/${place.abort}/${place.onFailure}`,
    ledgerKey(place),
  ].join(';');
}

/** The place as a number: 53 bits of its text, so that millions of them fit into memory. */
export function keyOf(place: Place): number {
  const text = textOf(place);
  let [h1, h2] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    h1 = Math.imul(h1 ^ code, 2654435761);
    h2 = Math.imul(h2 ^ code, 1597334677);
  }
  h1 = Math.imul(h1 ^ (h1 >>> 16), 2246822507) ^ Math.imul(h2 ^ (h2 >>> 13), 3266489909);
  h2 = Math.imul(h2 ^ (h2 >>> 16), 2246822507) ^ Math.imul(h1 ^ (h1 >>> 13), 3266489909);
  return 4294967296 * (2097151 & h2) + (h1 >>> 0);
}
