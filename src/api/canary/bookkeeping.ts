/** The status of a Canary as it is stored: fields that only Holdfast reads are packed into one string, the others stay readable (ADR 47). */
import { gunzipSync, gzipSync } from 'node:zlib';
import * as z from 'zod';
import { limits } from '../limits.ts';
import { type CanaryStatus, incidentSchema, specInForceSchema } from './status.ts';

/**
 * Timers of a run that restart if they are missing, as they are for the previous version after a downgrade. The times of the step and of the
 * last check stay readable, since without them no check would ever be due.
 */
const timers: readonly string[] = [
  'progressKey',
  'lastProgressTime',
  'standing',
  'unknownSince',
  'shortSince',
  'restoredTime',
  'restoredSince',
];

/** `run.startTime` names the release that the timers belong to. */
const bookkeepingSchema = z.object({
  run: z.looseObject({ startTime: z.string() }).optional(),
  specInForce: specInForceSchema.optional(),
  incidents: z.array(incidentSchema).max(limits.statusIncidents).optional(),
});

type Bookkeeping = z.infer<typeof bookkeepingSchema>;

/** The status as it is stored. A status that is too large to be packed is stored unpacked, which `unpackStatus` reads as well. */
export function packStatus(status: CanaryStatus): CanaryStatus {
  const { specInForce, incidents = [], run, observedGeneration } = status;
  const whole = withShortCommit(status);
  // While an invalid spec is newer, the one in force stays readable, for people and for the previous version.
  const isNewest = specInForce !== undefined && specInForce.generation === observedGeneration;
  // The previous version must find the reports whose alerts are still to be sent.
  const readable = incidents.filter(
    ({ alerts = [] }, index) => index === 0 || alerts.some(({ state }) => state === 'waiting'),
  );
  const packed: Bookkeeping = {
    ...(run?.startTime ? { run: { startTime: run.startTime, ...pick(run, (key) => isTimer(key)) } } : {}),
    ...(isNewest ? { specInForce } : {}),
    ...(incidents.length > readable.length ? { incidents } : {}),
  };
  const text = JSON.stringify(packed);
  const bookkeeping = text.length > limits.bookkeepingBytes ? undefined : gzipSync(text).toString('base64');
  if (!bookkeeping || bookkeeping.length > limits.bookkeepingCharacters) return whole;
  return {
    ...whole,
    bookkeeping,
    specInForce: isNewest ? undefined : specInForce,
    incidents: status.incidents && readable,
    run: packed.run ? (pick(run ?? {}, (key) => !isTimer(key)) as CanaryStatus['run']) : run,
  };
}

/** With the commit as kubectl's columns show it. */
export function withShortCommit(status: CanaryStatus): CanaryStatus {
  const { lastAppliedCommit } = status;
  return lastAppliedCommit ? { ...status, shortCommit: lastAppliedCommit.slice(0, 7) } : status;
}

const whole = new WeakMap<CanaryStatus, CanaryStatus>();

/** The unpacked status, the same each time that a stored one is asked for. */
export function unpackStatus(stored: CanaryStatus): CanaryStatus {
  const known = whole.get(stored) ?? unpack(stored);
  whole.set(stored, known);
  return known;
}

/** Readable fields take precedence: a version that packs nothing may have written them later. */
function unpack({ bookkeeping, ...stored }: CanaryStatus): CanaryStatus {
  const packed = bookkeeping === undefined ? undefined : read(bookkeeping);
  if (!packed) return stored;
  const { run, specInForce, incidents } = stored;
  return {
    ...stored,
    ...(run ? { run: withTimers(run, packed.run) } : {}),
    ...(isNewer(specInForce, packed.specInForce) ? { specInForce: packed.specInForce } : {}),
    ...(incidents ? { incidents: joined(incidents, packed.incidents) } : {}),
  };
}

/** Undefined if it cannot be read, as if the CRD of another tool had pruned it (ADR 4). */
function read(bookkeeping: string): Bookkeeping | undefined {
  try {
    const text = gunzipSync(Buffer.from(bookkeeping, 'base64'), { maxOutputLength: limits.bookkeepingBytes });
    return bookkeepingSchema.safeParse(JSON.parse(text.toString())).data;
  } catch {
    return undefined;
  }
}

type Run = NonNullable<CanaryStatus['run']>;
type Incidents = NonNullable<CanaryStatus['incidents']>;

/** If the run has a readable timer, another version wrote it later, and all packed timers are out of date. */
function withTimers(run: Run, packed: Bookkeeping['run']): Run {
  const isOther = packed?.startTime !== run.startTime || Object.keys(run).some(isTimer);
  return isOther ? run : { ...packed, ...run };
}

function isNewer(stored: CanaryStatus['specInForce'], packed: CanaryStatus['specInForce']): boolean {
  return packed !== undefined && (stored === undefined || stored.generation < packed.generation);
}

/** In the order of the packed reports; a report that is not among them is newer. */
function joined(stored: Incidents, packed: Incidents = []): Incidents {
  const later = stored.filter(({ key }) => packed.every((one) => one.key !== key));
  const known = packed.map((one) => stored.find(({ key }) => key === one.key) ?? one);
  return [...later, ...known].slice(0, limits.statusIncidents);
}

function isTimer(key: string): boolean {
  return timers.includes(key);
}

function pick(value: object, isWanted: (key: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => isWanted(key)));
}
