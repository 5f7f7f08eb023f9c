/** Holdfast's memory in the cluster: release records and rejections (design section 5, "Where the LKG lives"). */

import type { CommitInfo } from '../../api/commit.ts';
import { canaryLabel, type KubernetesObject, labelValue, type NamespacedName } from '../../api/kubernetes.ts';
import type { Cluster } from '../../contracts/cluster.ts';
import {
  type DecodedRecord,
  decodeRecord,
  type RecordStamp,
  recordAnnotations,
  recordLabels,
  recordName,
  sequenceIn,
} from '../../release/record.ts';
import {
  decodeRejections,
  encodeRejections,
  type Rejection,
  rejectionsName,
} from '../../release/rejections.ts';
import type { Release } from '../../release/release.ts';
import { nextSequence, type RecordView } from '../../rollout/world.ts';
import { EngineError, failureOf, StaleView } from '../failure.ts';
import { readParts, recordReference, removeParts, writeParts } from './record-store.ts';

/** Reads and writes of records and rejections. */
export interface Records {
  /**
   * Writes the record unless it exists whole, reads it back and checks it (S10); a damaged one is replaced, since the digest of `release`
   * proves its bytes. `actAs`: the user that writes it. True when something was written. Throws EngineError RecordTooLarge or RecordNameTaken.
   */
  save(
    release: Release,
    options?: Pick<RecordStamp, 'promotedTime' | 'sequence'> & { readonly actAs?: string | undefined },
  ): Promise<boolean>;
  /** The number of a release that proves itself now, above `after`, from the records as the API server has them at this moment. */
  nextSequence(canary: NamespacedName, digest: string, after?: number): Promise<number>;
  /**
   * The bytes of a record, checked: as `save` or `problemOf` read them last, else read now. Throws EngineError RecordDamaged or RecordMissing.
   */
  load(canary: NamespacedName, digest: string): Promise<DecodedRecord>;
  /**
   * What is wrong with a record; undefined when its bytes fit its digest. Read once per version, by `save` where that wrote it, and again each
   * time while it cannot be read; `version` names what is there (see `recordVersion`). Never throws.
   */
  problemOf(canary: NamespacedName, digest: string, version: string): Promise<RecordProblem | undefined>;
  /** Stamps annotations on a record, for instance when it proved itself. */
  stamp(canary: NamespacedName, digest: string, annotations: Record<string, string>): Promise<boolean>;
  /** Deletes a record whole; false if there is none. */
  remove(canary: NamespacedName, name: string): Promise<boolean>;
  /** Adds (or takes away, by undefined) the rejection of a digest. */
  reject(canary: NamespacedName, digest: string, rejection: Rejection | undefined): Promise<boolean>;
}

/** Why a record cannot be used. */
interface RecordProblem {
  /** For people. */
  readonly message: string;
  /** Nobody knows what it holds: the API server gave no answer, or refused to. */
  readonly isUnread?: boolean;
}

/** Names the versions of a record's Secrets as watched: another one is read again. Empty when there is none. */
export function recordVersion(secrets: readonly KubernetesObject[], name: string): string {
  return secrets
    .filter(({ metadata }) => metadata.name === name || metadata.name.startsWith(`${name}.part-`))
    .map(({ metadata }) => `${metadata.name} ${metadata.uid ?? ''} ${metadata.resourceVersion ?? ''}`)
    .sort()
    .join(',');
}

/** Reads the records of one Canary from the watched metadata, in no order. */
export function recordViews(secrets: readonly KubernetesObject[], canary: NamespacedName): RecordView[] {
  return secrets
    .filter(({ metadata }) => metadata.labels?.[canaryLabel] === labelValue(canary.name))
    .flatMap((secret) => recordView(secret))
    .filter(({ digest, name }) => name === recordName(canary, digest));
}

function recordView({ metadata }: KubernetesObject): RecordView[] {
  const annotations = metadata.annotations ?? {};
  const digest = annotations[recordAnnotations.digest];
  if (!digest || !annotations[recordAnnotations.parts]) return [];
  const commit: CommitInfo = {
    commit: annotations[recordAnnotations.commit] ?? '',
    subject: annotations[recordAnnotations.subject] ?? '',
    author: annotations[recordAnnotations.author] ?? '',
    time: annotations[recordAnnotations.commitTime] ?? '',
  };
  const promotedTime = annotations[recordAnnotations.promotedTime];
  const sequence = sequenceIn(annotations);
  return [{ digest, commit, name: metadata.name, promotedTime, ...(sequence ? { sequence } : {}) }];
}

/** The rejections of one Canary from the watched Secrets; undefined when their Secret is damaged: then nothing is known. */
export function rejectionsOf(
  secrets: readonly KubernetesObject[],
  canary: NamespacedName,
): readonly Rejection[] | undefined {
  const secret = secrets.find(({ metadata }) => metadata.name === rejectionsName(canary));
  return secret ? decodeRejections(secret) : [];
}

/** Works on the Secrets by direct requests. `secretKey` is the cluster's HMAC key; a reader may leave it out (see decodeRecord). */
export function createRecords(
  cluster: Pick<Cluster, 'as' | 'get' | 'list' | 'create' | 'patch' | 'apply' | 'delete'>,
  secretKey: Uint8Array | undefined,
): Records {
  const memory = createRecordMemory();

  async function read(canary: NamespacedName, digest: string): Promise<VersionedRecord> {
    const { namespace, name } = recordReference(canary, digest);
    const parts = await readParts(cluster, canary.namespace, name);
    if (parts.length === 0)
      throw new EngineError('RecordMissing', `Secret ${namespace}/${name} with the release is gone`, true);
    const decoded = decodeRecord(parts, secretKey);
    if (decoded.problem !== undefined) throw new EngineError('RecordDamaged', decoded.problem);
    return { record: decoded.ok, version: recordVersion(parts, name) };
  }

  return {
    async load(canary, digest) {
      return memory.get(memoryKey(canary, digest))?.record ?? (await read(canary, digest)).record;
    },
    async save(release, { actAs, ...stamp } = {}) {
      if ((await tryTo(() => read(release.canary, release.digest))).problem === undefined) return false;
      await writeParts(actAs === undefined ? cluster : cluster.as(actAs), release, stamp);
      const written = await read(release.canary, release.digest);
      memory.set(memoryKey(release.canary, release.digest), { ...written, problem: undefined });
      return true;
    },
    async nextSequence(canary, digest, after) {
      const labels = Object.entries(recordLabels(canary.name));
      const labelSelector = labels.map(([key, value]) => `${key}=${value}`).join(',');
      const { namespace } = canary;
      const secrets = await cluster.list({ apiVersion: 'v1', kind: 'Secret', namespace, labelSelector });
      return nextSequence(recordViews(secrets, canary), digest, after);
    },
    async problemOf(canary, digest, version) {
      const key = memoryKey(canary, digest);
      const known = memory.get(key);
      if (known?.version === version)
        return known.problem === undefined ? undefined : { message: known.problem };
      // What no watch shows may change without notice.
      memory.delete(key);
      try {
        const found = await tryTo(() => read(canary, digest));
        if (version !== '') memory.set(key, { ...found, version });
        return found.problem === undefined ? undefined : { message: found.problem };
      } catch (error) {
        const { name } = recordReference(canary, digest);
        const { message } = failureOf(error);
        return { message: `Secret ${canary.namespace}/${name} cannot be read: ${message}`, isUnread: true };
      }
    },
    async stamp(canary, digest, annotations) {
      const reference = recordReference(canary, digest);
      const live = await cluster.get(reference);
      if (!live)
        throw new EngineError('RecordMissing', `Secret ${canary.namespace}/${reference.name} is gone`, true);
      const before = live.metadata.annotations ?? {};
      if (Object.entries(annotations).every(([key, value]) => before[key] === value)) return false;
      const { resourceVersion } = live.metadata;
      await cluster.patch(reference, { metadata: { annotations, resourceVersion } });
      return true;
    },
    remove(canary, name) {
      memory.delete(`${canary.namespace}/${name}`);
      return removeParts(cluster, canary.namespace, name);
    },
    reject: (canary, digest, rejection) => changeRejections(cluster, canary, digest, rejection),
  };
}

function memoryKey(canary: NamespacedName, digest: string): string {
  return `${canary.namespace}/${recordName(canary, digest)}`;
}

/** As `recordVersion` names what was read. */
interface VersionedRecord {
  readonly record: DecodedRecord;
  readonly version: string;
}

/** The record, or what reading complains about; other errors, as of a server that does not answer, are thrown. */
async function tryTo(
  read: () => Promise<VersionedRecord>,
): Promise<({ readonly problem: undefined } & VersionedRecord) | { readonly problem: string }> {
  try {
    return { problem: undefined, ...(await read()) };
  } catch (error) {
    if (error instanceof EngineError) return { problem: error.message };
    throw error;
  }
}

async function changeRejections(
  cluster: Pick<Cluster, 'get' | 'create' | 'patch'>,
  canary: NamespacedName,
  digest: string,
  rejection: Rejection | undefined,
): Promise<boolean> {
  const { namespace } = canary;
  const reference = { apiVersion: 'v1', kind: 'Secret', namespace, name: rejectionsName(canary) };
  const live = await cluster.get(reference);
  const before = live ? decodeRejections(live) : [];
  if (before === undefined)
    throw new EngineError(
      'RejectionsDamaged',
      `Secret ${canary.namespace}/${reference.name} cannot be read; delete it to forget what was rejected`,
    );
  const known = before.find((entry) => entry.digest === digest);
  // When it was rejected first stays, and what was diagnosed then unless something else is.
  const isSame =
    known?.reason === rejection?.reason &&
    (rejection?.cause === undefined || known?.cause === rejection.cause);
  if (isSame) return false;
  const others = before.filter((entry) => entry.digest !== digest);
  const object = encodeRejections(canary, rejection ? [rejection, ...others] : others);
  if (!live) {
    await cluster.create(object);
    return true;
  }
  const { resourceVersion } = live.metadata;
  if (!resourceVersion) throw new StaleView(`Secret ${canary.namespace}/${reference.name}`);
  await cluster.patch(reference, { data: object.data, metadata: { resourceVersion } });
  return true;
}

/** One record as it was read last. */
interface Known {
  /** Which bytes were read (see `recordVersion`). */
  readonly version: string;
  /** What is wrong with them; undefined when they fit their digest. */
  readonly problem: string | undefined;
  readonly record: DecodedRecord | undefined;
  readonly characters: number;
}

/** Bound of all records in memory, as JSON text; whether a record is sound is remembered beyond it. */
const mostCharacters = 16 * 1_048_576;

/** Records that were read and checked, so that each is read once. Bounded; the least recently used are dropped first. */
interface RecordMemory {
  get(key: string): Pick<Known, 'version' | 'problem' | 'record'> | undefined;
  set(key: string, known: { version: string; problem: string | undefined; record?: DecodedRecord }): void;
  delete(key: string): void;
}

/** An empty memory of this size. */
export function createRecordMemory(limitCharacters = mostCharacters): RecordMemory {
  const all = new Map<string, Known>();
  let characters = 0;

  function put(key: string, known: Known): void {
    characters += known.characters - (all.get(key)?.characters ?? 0);
    all.delete(key);
    all.set(key, known);
  }

  return {
    get(key) {
      const known = all.get(key);
      if (known) put(key, known);
      return known;
    },
    set(key, { version, problem, record }) {
      put(key, { version, problem, record, characters: record ? JSON.stringify(record).length : 0 });
      for (const [old, known] of all) {
        if (characters <= limitCharacters) return;
        if (!known.record) continue;
        all.set(old, { ...known, record: undefined, characters: 0 });
        characters -= known.characters;
      }
    },
    delete(key) {
      characters -= all.get(key)?.characters ?? 0;
      all.delete(key);
    },
  };
}
