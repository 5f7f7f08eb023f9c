import type { Clock } from '../../../api/clock.ts';
import { flaggerLease, flaggerSelectors, isAvailable, watchedNamespace } from '../../../api/flagger.ts';
import { describe, type KubernetesObject } from '../../../api/kubernetes.ts';
import type { OpenWatch, WatchedSet, WatchQuery } from '../../../contracts/cluster.ts';

/** Says whether Flagger acts on Canaries: then Holdfast does not (design section 2.5). */
export interface FlaggerWatch {
  /** What acts on the Canaries of this namespace, for messages; `unknown` before Deployments and Leases were listed, undefined when nothing does. */
  actsOn(namespace: string): string | undefined;
  /** Why they cannot be listed, as far as a server has said; undefined when nothing is known to be wrong. */
  problem(): string | undefined;
  onChange(listener: () => void): void;
  close(): void;
}

/** Answer of `actsOn` before Deployments and Leases were listed. */
export const unknownController = 'unknown';

/** Condition, and reason of the event, of a Canary that another controller acts on. */
export const foreignControllerCondition = 'ForeignController';

const defaultLeaseSeconds = 60;
/** Renewals may come late, and clocks differ a little. */
const graceMs = 5_000;

/**
 * Watches Flagger's Deployments and its Lease in these namespaces, in all when there are none. What may not be watched counts as absent:
 * it is up to the administrator to grant the rights. What cannot be listed at the moment is unknown.
 */
export function watchFlagger(
  openWatch: OpenWatch,
  clock: Clock,
  namespaces: readonly string[],
): FlaggerWatch {
  const open = (query: WatchQuery) =>
    namespaces.length === 0
      ? [openWatch(query)]
      : namespaces.map((namespace) => openWatch({ ...query, namespace }));
  const deployments = flaggerSelectors.flatMap((labelSelector) =>
    open({ apiVersion: 'apps/v1', kind: 'Deployment', labelSelector }),
  );
  const leases = open({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: flaggerLease });
  const all = [...deployments, ...leases];
  const renewals = createRenewals(clock);
  const objectsOf = (sets: readonly WatchedSet[]) =>
    sets.flatMap((set) => (set.synced() ? [...set.list()] : []));

  function actsOn(namespace: string): string | undefined {
    if (!all.every((set) => set.synced() || set.isRefused())) return unknownController;
    const deployment = objectsOf(deployments)
      .filter(isAvailable)
      .find((object) => [undefined, namespace].includes(watchedNamespace(object)));
    if (deployment) return `${describe(deployment)} is running`;
    const lease = objectsOf(leases).find(renewals.isHeld);
    return lease && `${holderOf(lease)} renews ${describe(lease)}`;
  }

  return {
    actsOn,
    problem: () => all.map((set) => (set.synced() ? undefined : set.problem())).find(Boolean),
    onChange(listener) {
      for (const set of deployments) set.onChange(() => listener());
      for (const set of leases)
        set.onChange((lease) => {
          if (!lease || renewals.isNews(lease)) listener();
        });
    },
    close() {
      for (const set of all) set.close();
    },
  };
}

/** The holder's clock may differ: a renewal counts from the moment at which the watch delivered it. */
function createRenewals(clock: Clock) {
  const seen = new Map<
    string,
    { readonly renewTime: string; readonly atMs: number; readonly held: boolean }
  >();

  function isHeld(lease: KubernetesObject): boolean {
    const { renewTime = '', leaseDurationSeconds = defaultLeaseSeconds } = specOf(lease);
    const nowMs = clock.nowMs();
    const before = seen.get(lease.metadata.uid ?? '');
    const changed = before !== undefined && before.renewTime !== renewTime;
    // No renewal is younger than the look at it, whatever the holder's clock said.
    const atMs = changed ? nowMs : (before?.atMs ?? Math.min(nowMs, Date.parse(renewTime)));
    const held = holderOf(lease) !== '' && nowMs < atMs + leaseDurationSeconds * 1000 + graceMs;
    seen.set(lease.metadata.uid ?? '', { renewTime, atMs, held });
    return held;
  }

  return {
    isHeld,
    /** Whether it is held by somebody else, or again, since it was looked at last. */
    isNews(lease: KubernetesObject): boolean {
      const before = seen.get(lease.metadata.uid ?? '')?.held;
      return isHeld(lease) !== before;
    },
  };
}

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly renewTime?: string;
  readonly leaseDurationSeconds?: number;
}

function specOf({ spec }: KubernetesObject): LeaseSpec {
  return (spec ?? {}) as LeaseSpec;
}

function holderOf(lease: KubernetesObject): string {
  return specOf(lease).holderIdentity ?? '';
}
