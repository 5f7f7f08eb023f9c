/**
 * What the engine needs of the API server, metrics and logs. Adapters import the shapes that they share with the engine; src/server wires
 * the two sides and adapts where they differ on purpose.
 */

import type { CanaryMetric } from '../api/canary/analysis.ts';
import type { Canary } from '../api/canary/canary.ts';
import type { KubernetesObject, ObjectReference } from '../api/kubernetes.ts';
import type { MetricReading } from '../api/observed.ts';

/** The part of a logger that engine and adapters use; pino fits. Fields come first. */
export interface Log {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** Field managers of design section 3: `holdfast` applies what Git says, `holdfast-rollout` what a rollout decided. */
type FieldManager = 'holdfast' | 'holdfast-rollout';

/** How an object is applied. The client has its own, wider options: dry runs, impersonation, validation. */
export interface ApplyOptions {
  readonly manager: FieldManager;
  /** Take over fields that other managers own. */
  readonly force: boolean;
  /**
   * The write is refused with a conflict unless the object is still this one, in this version (S17). The version alone lets the server create an
   * object that is not there.
   */
  readonly over?: { readonly uid?: string; readonly resourceVersion: string };
  /** Nothing is stored: the answer is what would be. */
  readonly dryRun?: boolean;
}

/** Requests to the API server. Every method throws errors that `failure.ts` can classify. */
export interface Cluster {
  /** Undefined when there is no such object. */
  get(reference: ObjectReference): Promise<KubernetesObject | undefined>;
  /** Metadata of the objects of a kind, all or those that carry these labels; none when the kind is not served. */
  list(query: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly labelSelector?: string;
  }): Promise<readonly KubernetesObject[]>;
  apply(object: KubernetesObject, options: ApplyOptions): Promise<KubernetesObject>;
  create(object: KubernetesObject): Promise<KubernetesObject>;
  /** JSON merge patch; put uid and resourceVersion into `patch.metadata` as preconditions. */
  patch(
    reference: ObjectReference,
    patch: Readonly<Record<string, unknown>>,
    subresource?: 'status' | 'scale',
  ): Promise<KubernetesObject>;
  /** Deleting what is gone already is no error. */
  delete(
    reference: ObjectReference,
    preconditions: { uid?: string; resourceVersion?: string },
  ): Promise<void>;
  /** The same cluster, written to as this user, and read as it with `readsToo`. Undefined: Holdfast itself. */
  as(user: string | undefined, options?: { readonly readsToo?: boolean }): Cluster;
  /** Asks the API server whether the user that it writes as may patch the object; without a name, any object of its kind there. */
  mayPatch(reference: Omit<ObjectReference, 'name'> & { readonly name?: string }): Promise<boolean>;
  /** Whether a kind is served, and whether its objects live in namespaces; undefined when it is not served. */
  kindOf(apiVersion: string, kind: string): Promise<{ readonly namespaced: boolean } | undefined>;
  /** A kind of a group (empty: the core's) in the version that the server prefers; undefined when it is not served. */
  servedKind(
    group: string,
    kind: string,
  ): Promise<{ readonly apiVersion: string; readonly namespaced: boolean } | undefined>;
  /** What charts ask about the cluster that they are rendered for. */
  capabilities(): Promise<ServerCapabilities>;
}

/** What the API server is, and what it serves. */
export interface ServerCapabilities {
  /** As `v1.36.2`, without what a vendor adds: charts compare it with ranges. */
  readonly kubeVersion: string;
  /** `apps/v1` and `apps/v1/Deployment`, sorted. */
  readonly apiVersions: readonly string[];
}

/** Asks the server whether it would take a write of the rollout's; nothing is stored. Throws as the write itself would. */
export interface DryRun {
  apply(object: KubernetesObject): Promise<void>;
  /** Gives the object as it would be stored, defaults included. */
  create(object: KubernetesObject): Promise<KubernetesObject>;
}

/** One set of objects to watch. */
export interface WatchQuery {
  readonly apiVersion: string;
  readonly kind: string;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** Only the objects of this name. */
  readonly name?: string;
  /** Only metadata is requested and stored. */
  readonly metadataOnly?: boolean;
  /** Of EndpointSlices only the ports and the readiness of pods are stored: addresses, nodes and hints change often and are the largest part. */
  readonly endpointsOnly?: boolean;
  /** The annotation last-applied-configuration of kubectl is stored too; without this it is dropped to save memory. */
  readonly lastApplied?: boolean;
  /** The names of the field managers are stored, too, with `appliedHash` where they applied it (`hashOfFields`); their fields never are. */
  readonly managers?: boolean;
}

/** By which values an object is found; it is called once for each version of an object. */
export type KeysOf = (object: KubernetesObject) => readonly string[];

/** A set of objects that a watch keeps up to date; our own writes are in it at once. */
export interface WatchedSet {
  /** True once the set was listed whole. */
  synced(): boolean;
  /** Why it cannot be read at the moment, for people; undefined when all is well. */
  problem(): string | undefined;
  /** It may not be read, or the server has no such kind: waiting for it is in vain. */
  isRefused(): boolean;
  get(namespace: string | undefined, name: string): KubernetesObject | undefined;
  list(namespace?: string): readonly KubernetesObject[];
  /** Objects for which `keysOf` names this key, without a look at the others; the function itself stands for its index. */
  byKey(keysOf: KeysOf, key: string): readonly KubernetesObject[];
  /** Stores the answer to a write of ours, so that the next read sees it (read your writes). */
  remember(object: KubernetesObject): void;
  /**
   * Lists the whole set again, unless that was done less than `withinMs` ago; resolves with whether it was. Waits for as long as the server
   * cannot be read.
   */
  refresh(withinMs: number): Promise<boolean>;
  /** Called for every object that came, changed or went, and once without an object when the set is synced. */
  onChange(listener: (object: KubernetesObject | undefined) => void): void;
  /** Ends this use; the watch stops with its last user. */
  close(): void;
}

/** Opens watches on demand; equal queries share one watch. */
export type OpenWatch = (query: WatchQuery) => WatchedSet;

/** One metric to ask, with everything it depends on. */
export interface MetricQuestion {
  readonly canary: Canary;
  readonly metric: CanaryMetric;
  readonly role: 'canary' | 'primary';
  /** Routing provider in effect. */
  readonly provider: string;
  /** Name of the role's workload in the cluster, where it is known: of a Knative Service the revision. */
  readonly workload?: string | undefined;
  /** That of the other role. */
  readonly otherWorkload?: string | undefined;
  /** Names of its pods by their template, where both sides are pods of one workload. */
  readonly pods?: { readonly pods: string; readonly otherPods: string } | undefined;
  /** Also the points between two checks, for a metric that compares them. */
  readonly asPoints?: boolean;
  /** Identifies the release that is asked about, and the rollout that asks. */
  readonly release?: string;
  /** Whom Jobs of checks are created as, and Holdfast itself without an account; undefined: no Source holds the Canary, and there are none. */
  readonly writer?: { readonly account: string | undefined } | undefined;
}

/** Asks metric providers. Never rejects: not knowing is an answer (S29). */
export interface Metrics {
  read(question: MetricQuestion, signal: AbortSignal): Promise<MetricReading>;
}

/** News for people, as a Kubernetes Event says it. */
export interface EventNews {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Writes a Kubernetes Event and a log line, once per change. Never rejects. */
export interface EventSink {
  emit(about: KubernetesObject, event: EventNews): void;
}

/** Kinds that a Canary's spec names in addition to its workload. */
export type ReferenceKind = 'MetricTemplate' | 'AlertProvider';

/** Objects that Canaries name. */
export interface References {
  /** Undefined while that is not known. */
  has(kind: ReferenceKind, namespace: string, name: string): boolean | undefined;
  /** As of WatchedSet. */
  onChange(listener: (object: KubernetesObject | undefined) => void): void;
}
