import {
  canaryLabel,
  isRecord,
  type KubernetesObject,
  keyOf,
  labelValue,
  recordOf,
  shortHash,
  shortName,
  textOf,
} from '../api/kubernetes.ts';
import { limits, shorten } from '../api/limits.ts';
import { labelRecord } from './record.ts';

/** Type of the Secret that keeps a canary's rejected digests. */
export const rejectionsType = 'holdfast.dev/rejections';

/** A digest that is not rolled out again until a retry or a new digest (S14). */
export interface Rejection {
  digest: string;
  commit: string;
  reason: string;
  /** The cause by the table of causes; undefined: only checks failed. */
  cause?: string | undefined;
  /** RFC 3339. */
  time: string;
}

/** Name of the Secret with the rejections of a canary, at most 63 characters. */
export function rejectionsName(canary: { namespace: string; name: string }): string {
  return `holdfast-${shortName(canary.name, 30)}-rejected-${shortHash(keyOf(canary))}`;
}

/** The Secret for these rejections, newest first. One per digest, the newest, and at most 100 in all. It has no owner, so that it outlives the Canary. */
export function encodeRejections(
  canary: { namespace: string; name: string },
  rejections: readonly Rejection[],
): KubernetesObject {
  const seen = new Set<string>();
  const kept = rejections
    .toSorted((left, right) => Date.parse(right.time) - Date.parse(left.time))
    .filter((rejection) => !seen.has(rejection.digest) && seen.add(rejection.digest))
    .slice(0, limits.rejectedDigests)
    .map((rejection) =>
      ownFields({ ...rejection, reason: shorten(rejection.reason, limits.conditionMessageCharacters) }),
    );
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: rejectionsName(canary),
      ...(canary.namespace ? { namespace: canary.namespace } : {}),
      labels: { [canaryLabel]: labelValue(canary.name), [labelRecord]: 'rejections' },
    },
    type: rejectionsType,
    data: { rejections: Buffer.from(JSON.stringify(kept)).toString('base64') },
  };
}

/** The rejections in the Secret. Undefined if it is not ours or is damaged: the rejections are unknown, which is not the same as none. */
export function decodeRejections(secret: KubernetesObject): Rejection[] | undefined {
  const text = textOf(recordOf(secret.data).rejections);
  if (secret.type !== rejectionsType || text === undefined) return undefined;
  let list: unknown;
  try {
    list = JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
  } catch {
    return undefined;
  }
  return Array.isArray(list) && list.every(isRejection) ? list.map(ownFields) : undefined;
}

/** Only the fields of a rejection. */
function ownFields({ digest, commit, reason, cause, time }: Rejection): Rejection {
  return { digest, commit, reason, time, ...(typeof cause === 'string' ? { cause } : {}) };
}

function isRejection(value: unknown): value is Rejection {
  if (!isRecord(value)) return false;
  return ['digest', 'commit', 'reason', 'time'].every((field) => typeof value[field] === 'string');
}
