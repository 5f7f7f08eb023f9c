/** Holdfast's memory in the cluster: release records and rejections (design section 5, "Where the LKG lives"). */
import type { KubernetesObject, ObjectReference } from '../api/kubernetes.ts';
import type { CommitInfo } from '../api/observed.ts';
import { labelCanary, labelValue } from '../release/names.ts';
import {
  type DecodedRecord,
  decodeRecord,
  encodeRecord,
  recordAnnotations,
  recordName,
} from '../release/record.ts';
import { decodeRejections, encodeRejections, type Rejection, rejectionsName } from '../release/rejections.ts';
import type { Release } from '../release/release.ts';
import type { RecordView } from '../rollout/world.ts';
import { EngineError, StaleView } from './failure.ts';
import type { Cluster } from './ports.ts';

/** Which Canary, for names of Secrets. */
export interface CanaryName {
  readonly namespace: string;
  readonly name: string;
}

/** Reads and writes of records and rejections. */
export interface Records {
  /** Writes the record unless it exists, reads it back and checks it (S10). True when something was written. */
  save(release: Release): Promise<boolean>;
  /** The bytes of a record, checked. Throws EngineError RecordDamaged or RecordMissing. */
  load(canary: CanaryName, digest: string): Promise<DecodedRecord>;
  /** True once the record was read and fits its digest; asked once per record. */
  isSound(canary: CanaryName, record: RecordView): Promise<boolean>;
  /** Stamps annotations on a record, for instance when it proved itself. */
  stamp(canary: CanaryName, digest: string, annotations: Record<string, string>): Promise<boolean>;
  /** Deletes a record whole. */
  remove(canary: CanaryName, name: string): Promise<void>;
  /** Adds (or takes away, by undefined) the rejection of a digest. */
  reject(canary: CanaryName, digest: string, rejection: Rejection | undefined): Promise<boolean>;
}

/** Reads the records of one Canary from the watched metadata, newest first. */
export function recordViews(secrets: readonly KubernetesObject[], canary: CanaryName): RecordView[] {
  return secrets
    .filter(({ metadata }) => metadata.labels?.[labelCanary] === labelValue(canary.name))
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
  return [{ digest, commit, name: metadata.name, promotedTime: annotations[recordAnnotations.promotedTime] }];
}

/** The rejections of one Canary from the watched Secrets; undefined when their Secret is damaged: then nothing is known. */
export function rejectionsOf(
  secrets: readonly KubernetesObject[],
  canary: CanaryName,
): readonly Rejection[] | undefined {
  const secret = secrets.find(({ metadata }) => metadata.name === rejectionsName(canary));
  return secret ? decodeRejections(secret) : [];
}

/** Works on the Secrets through direct requests. `secretKey` is the cluster's HMAC key. */
export function createRecords(
  cluster: Pick<Cluster, 'get' | 'create' | 'patch' | 'apply' | 'delete'>,
  secretKey: Uint8Array,
): Records {
  const sound = new Map<string, boolean>();

  async function read(canary: CanaryName, name: string): Promise<KubernetesObject[]> {
    const first = await cluster.get(secret(canary, name));
    if (!first) return [];
    const count = Number(first.metadata.annotations?.[recordAnnotations.parts] ?? 1);
    const others = Array.from({ length: Math.min(16, count) - 1 }, (_, index) =>
      cluster.get(secret(canary, `${name}.part-${index + 1}`)),
    );
    return [first, ...(await Promise.all(others)).filter((part) => part !== undefined)];
  }

  async function load(canary: CanaryName, digest: string): Promise<DecodedRecord> {
    const name = recordName(canary, digest);
    const parts = await read(canary, name);
    if (parts.length === 0)
      throw new EngineError(
        'RecordMissing',
        `Secret ${canary.namespace}/${name} with the release is gone`,
        true,
      );
    const decoded = decodeRecord(parts, secretKey);
    if (decoded.problem !== undefined) throw new EngineError('RecordDamaged', decoded.problem);
    return decoded.ok;
  }

  return {
    load,
    save: (release) =>
      saveRecord(
        cluster,
        release,
        async () => (await read(release.canary, nameOf(release))).length > 0,
        load,
      ),
    async isSound(canary, record) {
      const key = `${canary.namespace}/${record.name} ${record.digest}`;
      const known = sound.get(key);
      if (known !== undefined) return known;
      try {
        await load(canary, record.digest);
        sound.set(key, true);
        return true;
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
        if (!error.transient) sound.set(key, false);
        return false;
      }
    },
    async stamp(canary, digest, annotations) {
      const reference = secret(canary, recordName(canary, digest));
      const live = await cluster.get(reference);
      if (!live)
        throw new EngineError('RecordMissing', `Secret ${canary.namespace}/${reference.name} is gone`, true);
      const before = live.metadata.annotations ?? {};
      if (Object.entries(annotations).every(([key, value]) => before[key] === value)) return false;
      const { resourceVersion } = live.metadata;
      await cluster.patch(reference, { metadata: { annotations, resourceVersion } });
      return true;
    },
    async remove(canary, name) {
      for (const part of (await read(canary, name)).reverse()) {
        const { uid } = part.metadata;
        await cluster.delete(secret(canary, part.metadata.name), uid ? { uid } : {});
      }
    },
    reject: (canary, digest, rejection) => changeRejections(cluster, canary, digest, rejection),
  };
}

function nameOf(release: Release): string {
  return recordName(release.canary, release.digest);
}

async function saveRecord(
  cluster: Pick<Cluster, 'create' | 'get'>,
  release: Release,
  exists: () => Promise<boolean>,
  load: Records['load'],
): Promise<boolean> {
  if (await exists()) {
    await load(release.canary, release.digest);
    return false;
  }
  const encoded = encodeRecord(release);
  if (encoded.problem !== undefined) throw new EngineError('RecordTooLarge', encoded.problem);
  const [first, ...rest] = encoded.ok;
  // The first part last: a record without it does not exist, so a crash in between leaves nothing half.
  for (const part of [...rest, ...(first ? [first] : [])]) await createUnlessThere(cluster, part);
  await load(release.canary, release.digest);
  return true;
}

async function createUnlessThere(cluster: Pick<Cluster, 'create'>, object: KubernetesObject): Promise<void> {
  try {
    await cluster.create(object);
  } catch (error) {
    if ((error as { kind?: unknown }).kind !== 'alreadyExists') throw error;
  }
}

async function changeRejections(
  cluster: Pick<Cluster, 'get' | 'create' | 'patch'>,
  canary: CanaryName,
  digest: string,
  rejection: Rejection | undefined,
): Promise<boolean> {
  const reference = secret(canary, rejectionsName(canary));
  const live = await cluster.get(reference);
  const before = live ? decodeRejections(live) : [];
  if (before === undefined)
    throw new EngineError(
      'RejectionsDamaged',
      `Secret ${canary.namespace}/${reference.name} cannot be read; delete it to forget what was rejected`,
    );
  const known = before.find((entry) => entry.digest === digest);
  if (rejection ? known?.reason === rejection.reason : !known) return false;
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

function secret(canary: CanaryName, name: string): ObjectReference {
  return { apiVersion: 'v1', kind: 'Secret', namespace: canary.namespace, name };
}
