import { gunzipSync, gzipSync } from 'node:zlib';
import { type CommitInfo, gitPart } from '../api/commit.ts';
import {
  canaryLabel,
  canonicalJson,
  describe,
  isRecord,
  type KubernetesObject,
  labelValue,
  recordOf,
  shortHash,
  shortName,
  textOf,
} from '../api/kubernetes.ts';
import { limits, shorten } from '../api/limits.ts';
import { digestOf } from './digest.ts';
import {
  digestedPart,
  isKnative,
  isService,
  type Release,
  settingsOf,
  strategyField,
  type WorkloadSettings,
  workloadKinds,
} from './release.ts';

/** Type of the Secrets that keep a release (design section 5, "Where the LKG lives"). */
export const recordType = 'holdfast.dev/release';

/**
 * Annotations of a record's first Secret. Its data is immutable; these may change: when and in which order the release was proven, the newest
 * commit with it, and the settings that replace those in the bytes.
 */
export const recordAnnotations = {
  digest: 'holdfast.dev/digest',
  commit: 'holdfast.dev/commit',
  subject: 'holdfast.dev/subject',
  author: 'holdfast.dev/author',
  commitTime: 'holdfast.dev/commit-time',
  promotedTime: 'holdfast.dev/promoted-time',
  sequence: 'holdfast.dev/sequence',
  settings: 'holdfast.dev/settings',
  parts: 'holdfast.dev/parts',
} as const;

/** A release as read back from the cluster, checked against its digest. */
export interface DecodedRecord {
  release: Release;
  /** Name of the first Secret; the record's name. */
  name: string;
  /** The newest commit with this release. */
  commit: CommitInfo;
  /** RFC 3339; undefined: the release is not proven. */
  promotedTime: string | undefined;
  /** Settings to apply with it, newer than those in `release.target`. */
  settings: WorkloadSettings;
}

type EncodeResult = { ok: KubernetesObject[]; problem?: never } | { ok?: never; problem: string };
type DecodeResult = { ok: DecodedRecord; problem?: never } | { ok?: never; problem: string };

/** The annotations that may be set after the bytes were written. */
export interface RecordStamp {
  promotedTime?: string | undefined;
  /** The number of this release among the proven ones of the Canary, from 1. */
  sequence?: number | undefined;
  commit?: CommitInfo | undefined;
  settings?: WorkloadSettings | undefined;
}

/** Name of the record of a canary and digest; with the suffix of a part at most 63 characters. */
export function recordName(canary: { namespace: string; name: string }, digest: string): string {
  const id = shortHash(`${canary.namespace}/${canary.name} ${digest}`, 16);
  return `holdfast-${shortName(canary.name, 30)}-${id}`;
}

/** The sequence in the annotations of a record; undefined: there is none, or it is not valid. */
export function sequenceIn(annotations: Record<string, string>): number | undefined {
  const text = annotations[recordAnnotations.sequence] ?? '';
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/** Labels that select every record of a canary, its parts included. */
export function recordLabels(canaryName: string): Record<string, string> {
  return { [canaryLabel]: labelValue(canaryName), [labelRecord]: 'release' };
}

/**
 * The Secrets that keep a release, first part first. Write the others before the first: a record without its first part does not exist.
 * They have no owner, so that they outlive the Canary. A problem if its JSON is larger than 8 MiB.
 */
export function encodeRecord(release: Release, stamp: RecordStamp = {}): EncodeResult {
  const json = recordJson(release);
  if (json.length > limits.recordBytes) return { problem: describeSize(release, json.length) };
  const packed = gzipSync(json, { level: 9 });
  // Equal releases give equal bytes: byte 9 of a gzip header names the operating system, and 255 is "unknown".
  packed[9] = 255;
  const count = Math.max(1, Math.ceil(packed.length / limits.recordPartBytes));
  const parts = Array.from({ length: count }, (_, index) => {
    return partOf(
      release,
      index,
      packed.subarray(index * limits.recordPartBytes, (index + 1) * limits.recordPartBytes),
    );
  });
  const annotations = { [recordAnnotations.parts]: String(count), ...stampAnnotations(release, stamp) };
  const [first, ...rest] = parts;
  if (!first) throw new Error('a packed release has at least one part');
  return { ok: [{ ...first, metadata: { ...first.metadata, annotations } }, ...rest] };
}

/** The annotations of a record with this stamp; for the patch that marks a release as proven or changes its commit or settings. */
export function stampAnnotations(release: Release, stamp: RecordStamp): Record<string, string> {
  const commit = stamp.commit ?? release.commit;
  const settings = stamp.settings ?? settingsOf(release.target);
  return {
    [recordAnnotations.digest]: release.digest,
    [recordAnnotations.commit]: commit.commit,
    [recordAnnotations.subject]: shorten(commit.subject, limits.subjectCharacters),
    [recordAnnotations.author]: shorten(commit.author, limits.subjectCharacters),
    [recordAnnotations.commitTime]: commit.time,
    [recordAnnotations.settings]: JSON.stringify(settings),
    ...(stamp.promotedTime ? { [recordAnnotations.promotedTime]: stamp.promotedTime } : {}),
    ...(stamp.sequence ? { [recordAnnotations.sequence]: String(stamp.sequence) } : {}),
  };
}

/**
 * Reads a record back and checks it: the digest is computed again from the bytes (S10). `secrets`: its parts in any order. Without the key
 * of the cluster bytes and digest are not compared: such a record may be shown, but nothing may be written from it.
 */
export function decodeRecord(
  secrets: readonly KubernetesObject[],
  secretKey: Uint8Array | undefined,
): DecodeResult {
  const first = secrets.find(({ metadata }) => !/\.part-\d+$/.test(metadata.name));
  if (!first) return { problem: 'the release record has no first Secret' };
  const { name, namespace } = first.metadata;
  const refused = (problem: string) => ({
    problem: `Secret ${namespace ?? ''}/${name} is not a usable release record: ${problem}`,
  });
  if (first.type !== recordType)
    return refused(`it is of type ${first.type ?? 'Opaque'}, so it was created by someone else`);
  const joined = joinParts(first, secrets);
  if (typeof joined === 'string') return refused(joined);
  const unpacked = unpackRelease(joined);
  if (unpacked.problem !== undefined) return refused(unpacked.problem);
  const release = unpacked.ok;
  if (secretKey && digestOfBytes(release, secretKey) !== gitPart(release.digest)) {
    return refused(
      'its bytes do not match its digest (it was altered, or the key of this cluster was replaced)',
    );
  }
  if (recordOf(first.metadata.annotations)[recordAnnotations.digest] !== release.digest)
    return refused(`its annotation ${recordAnnotations.digest} does not match its content`);
  const labels = Object.entries(recordLabels(release.canary.name));
  if (labels.some(([key, value]) => first.metadata.labels?.[key] !== value))
    return refused(
      `its labels are not ${canaryLabel}=${release.canary.name} and ${labelRecord}=release any more`,
    );
  if (recordName(release.canary, release.digest) !== name || release.canary.namespace !== (namespace ?? '')) {
    return refused('its content belongs to another canary or release');
  }
  if (!isOfCanary(release)) return refused('it is about objects of others');
  const annotations = recordOf(first.metadata.annotations);
  return {
    ok: {
      release,
      name,
      commit: stampedCommit(annotations, release),
      promotedTime: textOf(annotations[recordAnnotations.promotedTime]),
      settings: stampedSettings(annotations, release),
    },
  };
}

function partOf(release: Release, index: number, bytes: Uint8Array): KubernetesObject {
  const { canary, digest } = release;
  const name = recordName(canary, digest);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: index === 0 ? name : `${name}.part-${index}`,
      ...(canary.namespace ? { namespace: canary.namespace } : {}),
      labels: recordLabels(canary.name),
    },
    type: recordType,
    immutable: true,
    data: { release: Buffer.from(bytes).toString('base64') },
  };
}

/** All bytes in order, or what is wrong with the parts. */
function joinParts(first: KubernetesObject, secrets: readonly KubernetesObject[]): Buffer | string {
  const count = Number(recordOf(first.metadata.annotations)[recordAnnotations.parts]);
  const most = Math.ceil(limits.recordBytes / limits.recordPartBytes);
  if (!Number.isInteger(count) || count < 1 || count > most) return 'its number of parts is not valid';
  const chunks: Buffer[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = index === 0 ? first.metadata.name : `${first.metadata.name}.part-${index}`;
    const text = textOf(recordOf(secrets.find((secret) => secret.metadata.name === name)?.data).release);
    if (text === undefined) return `part ${index + 1} of ${count} is missing`;
    chunks.push(Buffer.from(text, 'base64'));
  }
  return Buffer.concat(chunks);
}

function digestOfBytes(release: Release, secretKey: Uint8Array): string | undefined {
  const { target, ports, configs, revisionIgnore = [] } = release;
  try {
    return digestOf({ ...digestedPart(target), ports, configs, revisionIgnore, secretKey });
  } catch {
    return undefined;
  }
}

/** The digest does not cover where objects are, and everybody who may write Secrets here can move them: what is written from a record stays the Canary's own. */
function isOfCanary({ canary, target, configs }: Release): boolean {
  const isWorkload = target.apiVersion === 'apps/v1' && workloadKinds.includes(target.kind);
  const areConfigs = configs.every(
    ({ apiVersion, kind }) => apiVersion === 'v1' && (kind === 'ConfigMap' || kind === 'Secret'),
  );
  const areHere = [target, ...configs].every(
    ({ metadata }) => (metadata.namespace ?? '') === canary.namespace,
  );
  return (isWorkload || isService(target) || isKnative(target)) && areConfigs && areHere;
}

function stampedCommit(annotations: Record<string, unknown>, release: Release): CommitInfo {
  const commit = textOf(annotations[recordAnnotations.commit]);
  if (commit === undefined || commit === release.commit.commit) return release.commit;
  return {
    commit,
    subject: textOf(annotations[recordAnnotations.subject]) ?? '',
    author: textOf(annotations[recordAnnotations.author]) ?? '',
    time: textOf(annotations[recordAnnotations.commitTime]) ?? '',
  };
}

function stampedSettings(annotations: Record<string, unknown>, { target }: Release): WorkloadSettings {
  try {
    const settings: unknown = JSON.parse(String(annotations[recordAnnotations.settings]));
    // Read as a manifest is, so that an edited annotation cannot add other fields.
    if (isRecord(settings)) {
      const { strategy, ...numbers } = settings;
      return settingsOf({ ...target, spec: { ...numbers, [strategyField(target.kind)]: strategy } });
    }
  } catch {
    return settingsOf(target);
  }
  return settingsOf(target);
}

/** Version of the JSON in a record; any other one is refused. */
const layout = 1;

function recordJson(release: Release): Buffer {
  return Buffer.from(canonicalJson({ layout, release }));
}

/** The release in a record's bytes, or why there is none. The reason never quotes the content (S31). */
function unpackRelease(
  packed: Uint8Array,
): { ok: Release; problem?: never } | { ok?: never; problem: string } {
  let content: unknown;
  try {
    content = JSON.parse(gunzipSync(packed, { maxOutputLength: limits.recordBytes }).toString('utf8'));
  } catch {
    return { problem: 'its content is damaged (not gzipped JSON)' };
  }
  if (!isRecord(content) || content.layout !== layout)
    return { problem: 'its layout is not known to this version' };
  return isRelease(content.release)
    ? { ok: content.release }
    : { problem: 'fields of a release are missing' };
}

function isRelease(value: unknown): value is Release {
  if (!isRecord(value) || typeof value.digest !== 'string') return false;
  const { canary, target, commit, ports, configs, liveConfigs, origins } = value;
  if (!isRecord(canary) || typeof canary.name !== 'string' || typeof canary.namespace !== 'string')
    return false;
  if (!isRecord(commit) || !isRecord(target) || !isRecord(target.metadata) || !isRecord(target.spec))
    return false;
  if (!isService(target as unknown as KubernetesObject) && !isRecord(target.spec.template)) return false;
  if (!Array.isArray(configs) || !configs.every((object) => isRecord(object) && isRecord(object.metadata)))
    return false;
  return [ports, liveConfigs, origins].every((list) => Array.isArray(list));
}

/** Why a release cannot be stored: its size, and the name of its biggest object. Undefined if it can. */
export function recordTooLarge(release: Release): string | undefined {
  const bytes = recordJson(release).length;
  return bytes > limits.recordBytes ? describeSize(release, bytes) : undefined;
}

function describeSize(release: Release, bytes: number): string {
  const [biggest] = [release.target, ...release.configs]
    .map((object) => ({ object, size: Buffer.byteLength(JSON.stringify(object)) }))
    .sort((left, right) => right.size - left.size);
  const { namespace, name } = release.canary;
  const about = biggest ? `, ${inMebibytes(biggest.size)} of it ${describe(biggest.object)}` : '';
  return `the release of Canary ${namespace}/${name} has ${inMebibytes(bytes)}${about}; no more than ${inMebibytes(limits.recordBytes)} can be stored for a rollback: remove large ConfigMaps or Secrets from its pod template`;
}

function inMebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** Label of our Secrets by their content: `release` or `rejections`. */
export const labelRecord = 'holdfast.dev/record';
