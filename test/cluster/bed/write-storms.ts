import { type AuditedRequest, readAuditLog } from './client.ts';

const windowMs = 5_000;
/** A release with intervals of one second takes up to 27; one loop that wakes itself takes more than 60. */
const mostWrites = 45;

/**
 * Objects that Holdfast wrote again and again, as when each write leads to the next look and that to a write: `verb resource namespace/name: most
 * writes in five seconds`.
 */
export function writeStorms(auditLogPath: string): readonly string[] {
  const timesOf = new Map<string, number[]>();
  for (const request of readAuditLog(auditLogPath, 'holdfast').filter(isWriteOfHoldfast)) {
    const { resource, subresource, namespace, name } = request.objectRef ?? {};
    const key = `${request.verb} ${[resource, subresource].filter(Boolean).join('/')} ${namespace}/${name}`;
    const times = timesOf.get(key) ?? [];
    times.push(Date.parse(request.requestReceivedTimestamp));
    timesOf.set(key, times);
  }
  return [...timesOf]
    .map(([key, times]) => ({ key, most: mostInWindow(times) }))
    .filter(({ most }) => most > mostWrites)
    .map(({ key, most }) => `${key}: ${most}`);
}

/** Events are objects of their own, Leases are renewed, and reviews are questions. */
function isWriteOfHoldfast({ userAgent, verb, objectRef }: AuditedRequest): boolean {
  const isOfHoldfast = userAgent.startsWith('holdfast');
  const isWrite = ['create', 'update', 'patch', 'delete'].includes(verb);
  return isOfHoldfast && isWrite && !/^(events|leases)$|reviews$/.test(objectRef?.resource ?? 'reviews');
}

function mostInWindow(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  let first = 0;
  const counts = sorted.map((time, last) => {
    while (time - (sorted[first] ?? time) > windowMs) first += 1;
    return last - first + 1;
  });
  return Math.max(0, ...counts);
}
