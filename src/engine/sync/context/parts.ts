/** What the Source loop works with. */
import type { Clock } from '../../../api/clock.ts';
import type { KubernetesObject, NamespacedName } from '../../../api/kubernetes.ts';
import type { Cluster, EventSink, Log, OpenWatch } from '../../../contracts/cluster.ts';
import type { BuildCache, Builders } from '../../../render/build/builder.ts';
import type { SourceAlerts } from '../../alerts/delivery.ts';
import type { Applied } from '../../applied.ts';
import type { Claims } from '../../apply-set.ts';
import type { Heads } from '../../canary/context/heads.ts';
import type { Records } from '../../records/records.ts';
import type { AccountRights } from '../scope/account-rights.ts';
import type { SourceRights } from '../scope/permissions.ts';
import type { SourceBindings } from '../scope/source-bindings.ts';
import type { Presence } from './presence.ts';

/** Everything one sync uses. */
export interface SourceParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly cluster: Cluster;
  readonly openWatch: OpenWatch;
  readonly events: EventSink;
  readonly heads: Heads;
  readonly applied: Applied;
  readonly claims: Claims;
  readonly presence: Presence;
  readonly accountRights: AccountRights;
  readonly rights: SourceRights;
  readonly bindings: SourceBindings;
  /** Name of this cluster in refs, branches and commit statuses. */
  readonly clusterName: string;
  readonly records: Pick<Records, 'load'>;
  /** HMAC key of the cluster, for digests of Secrets. */
  readonly secretKey: Uint8Array;
  /** Whether ConfigMaps and Secrets are part of releases; default true. */
  readonly tracksConfig?: boolean;
  /** The programs that build kustomizations and charts, and what they gave before. */
  readonly builders: Builders;
  readonly builds: BuildCache;
  /** Sources in the cluster, as watched. */
  readonly sources: () => readonly KubernetesObject[];
  /** Whether objects of all namespaces may be watched, or those of some alone. */
  readonly watchesEverywhere: boolean;
  /** Canaries in the cluster that are ours, as watched. */
  readonly canaries: () => readonly KubernetesObject[];
  /** One of them, without a walk through all. */
  readonly canary: (name: NamespacedName) => KubernetesObject | undefined;
  /** Sends alerts of Sources; undefined: none are sent. */
  readonly sourceAlerts?: Pick<SourceAlerts, 'tell'>;
  /** Called with how many objects were corrected after another writer changed them, for metrics. */
  readonly onDrift?: (sourceKey: string, objects: number) => void;
  /** Called with how many files and folders were rendered that no cache held, for metrics. */
  readonly onRendered?: (sourceKey: string, count: number) => void;
  /** Looks at a Canary soon. */
  readonly wakeCanary: (canaryKey: string) => void;
}
