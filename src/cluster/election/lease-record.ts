import type { KubernetesObject, ObjectReference } from '../../api/kubernetes.ts';
import { compareResourceVersions } from '../caches/store.ts';
import type { ClusterClient } from '../client/client.ts';
import { isApiError } from '../errors.ts';

/** Who holds a Lease, as read from the server. */
export interface LeaseRecord {
  /** Empty: there is none. */
  readonly holder: string;
  /** The duration that the holder asked for, in seconds. */
  readonly durationSeconds: number;
  readonly transitions: number;
  readonly renewTime: string;
  readonly resourceVersion: string;
}

/** The kind that a Lease is of. */
export const leaseKind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const;

/** What we write into a Lease. */
export interface LeaseClaim {
  readonly holder: string;
  readonly durationSeconds: number;
  readonly nowMs: number;
  readonly transitions: number;
  /** The holder changes: acquireTime is set. */
  readonly takesOver: boolean;
}

/** Which Lease, and what is written into it besides its spec. */
export interface LeasePlace {
  readonly namespace: string;
  readonly name: string;
  readonly manager: string;
  /** Of the program that claims the Lease. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Reads and writes one coordination.k8s.io Lease; every write is bound to the version that was read (S17, S20). */
export interface LeaseStore {
  /** Undefined when the Lease does not exist. */
  read(signal: AbortSignal): Promise<LeaseRecord | undefined>;
  /** Throws `conflict` or `alreadyExists` when another process was faster. `over` undefined: the Lease is created. */
  write(claim: LeaseClaim, over: LeaseRecord | undefined, signal?: AbortSignal): Promise<LeaseRecord>;
}

/** The stored form of a Lease at `namespace/name`. `annotations` describe the program that claims it, so they are written with each claim. */
export function createLeaseStore(
  client: ClusterClient,
  { namespace, name, manager, annotations = {} }: LeasePlace,
): LeaseStore {
  const reference: ObjectReference = { ...leaseKind, namespace, name };
  return {
    async read(signal) {
      const lease = await client.get(reference, { signal });
      return lease && leaseRecordOf(lease);
    },
    async write(claim, over, signal) {
      const options = { manager, ...(signal ? { signal } : {}) };
      const spec = specOf(claim);
      if (!over) {
        const { apiVersion, kind } = reference;
        return leaseRecordOf(
          await client.create(
            { apiVersion, kind, metadata: { namespace, name, annotations }, spec },
            options,
          ),
        );
      }
      const { resourceVersion } = over;
      return leaseRecordOf(
        await client.patch(
          reference,
          { metadata: { annotations }, spec },
          { ...options, type: 'merge', resourceVersion },
        ),
      );
    },
  };
}

/** True for errors that mean the Lease is not as it was read: another process wrote it first, or it was deleted. */
export function isLeaseConflict(error: unknown): boolean {
  return isApiError(error, 'conflict', 'alreadyExists', 'notFound');
}

/** Whether the holder wrote nothing between the two, regardless of what others wrote (labels, annotations). */
export function isUnchanged(before: LeaseRecord | undefined, after: LeaseRecord | undefined): boolean {
  if (!before || !after) return before === after;
  return (
    before.holder === after.holder &&
    before.renewTime === after.renewTime &&
    before.transitions === after.transitions &&
    before.durationSeconds === after.durationSeconds
  );
}

/** An event of a watch may be older than a read, or than a write of this process. */
export function isOlder(record: LeaseRecord, than: LeaseRecord | undefined): boolean {
  return compareResourceVersions(record.resourceVersion, than?.resourceVersion, 0) < 0;
}

function specOf(claim: LeaseClaim): Record<string, unknown> {
  const now = microTime(claim.nowMs);
  return {
    holderIdentity: claim.holder,
    leaseDurationSeconds: claim.durationSeconds,
    leaseTransitions: claim.transitions,
    renewTime: now,
    ...(claim.takesOver ? { acquireTime: now } : {}),
  };
}

/** Kubernetes' MicroTime: RFC 3339 with exactly six digits of the second. */
export function microTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z');
}

/** Reads a Lease object; without a holder identity there is no holder. */
export function leaseRecordOf(lease: KubernetesObject): LeaseRecord {
  const spec = (lease.spec ?? {}) as Record<string, unknown>;
  return {
    holder: typeof spec.holderIdentity === 'string' ? spec.holderIdentity : '',
    durationSeconds: typeof spec.leaseDurationSeconds === 'number' ? spec.leaseDurationSeconds : 0,
    transitions: typeof spec.leaseTransitions === 'number' ? spec.leaseTransitions : 0,
    renewTime: typeof spec.renewTime === 'string' ? spec.renewTime : '',
    resourceVersion: lease.metadata.resourceVersion ?? '',
  };
}
