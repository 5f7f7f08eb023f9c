/** What the engine needs from the outside. Adapters satisfy these by shape; only app.ts knows both sides. */
import type { Canary } from '../api/canary.ts';
import type { CanaryMetric } from '../api/canary-metric.ts';
import type { KubernetesObject, ObjectReference } from '../api/kubernetes.ts';
import type { CommitInfo, MetricReading, RouteTarget, RouteView } from '../api/observed.ts';
import type { Source } from '../api/source.ts';
import type { RepositoryWriting } from './git-write-port.ts';

/** The part of a logger that the engine uses; pino fits. Fields come first. */
export interface Log {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** Field managers of design section 3: `holdfast` applies what Git says, `holdfast-rollout` what a rollout decided. */
export type FieldManager = 'holdfast' | 'holdfast-rollout';

/** How an object is applied. */
export interface ApplyOptions {
  readonly manager: FieldManager;
  /** Take over fields that other managers own. */
  readonly force: boolean;
  /**
   * The write is refused with a conflict unless the object is still this one, in this version (S17). The version alone would let the
   * server create an object anew that was deleted meanwhile.
   */
  readonly over?: { readonly uid: string; readonly resourceVersion: string };
}

/** Requests to the API server. Every method throws errors that `failure.ts` can classify. */
export interface Cluster {
  /** Undefined when there is no such object. */
  get(reference: ObjectReference): Promise<KubernetesObject | undefined>;
  /** Metadata of the objects of a kind that carry these labels; none when the kind is not served. */
  list(query: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly labelSelector: string;
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
  /** Whether a kind is served, and whether its objects live in namespaces; undefined when it is not served. */
  kindOf(apiVersion: string, kind: string): Promise<{ readonly namespaced: boolean } | undefined>;
}

/** Asks the server whether it would take a write of the rollout's; nothing is stored. Throws as the write itself would. */
export interface DryRun {
  apply(object: KubernetesObject): Promise<void>;
  create(object: KubernetesObject): Promise<void>;
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
  /** Only metadata is kept and sent by the server. */
  readonly metadataOnly?: boolean;
}

/** A set of objects kept up to date by a watch, with what we wrote ourselves already in it. */
export interface WatchedSet {
  /** True once the set was listed whole. */
  synced(): boolean;
  /** Why it cannot be read at the moment, for people; undefined when all is well. */
  problem(): string | undefined;
  get(namespace: string | undefined, name: string): KubernetesObject | undefined;
  list(namespace?: string): readonly KubernetesObject[];
  /** Puts the answer of an own write in, so that the next look sees it (read your writes). */
  remember(object: KubernetesObject): void;
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
  readonly provider: string;
}

/** Asks metric providers. Never rejects: not knowing is an answer (S29). */
export interface Metrics {
  read(question: MetricQuestion, signal: AbortSignal): Promise<MetricReading>;
}

/** A kind that a provider's routing objects have. */
export interface RouteKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** One Canary's routing, as far as providers need to know. */
export interface RouteContext {
  canary: Canary;
  /** Names of the generated Services; the routing object is called as the apex. */
  names: { apex: string; primary: string; canary: string };
  /** The label that tells primary pods from canary pods. */
  label: { key: string; primary: string; canary: string };
  /** The apex Service as it is to be written, where the apex itself is the traffic. */
  apex?: KubernetesObject | undefined;
}

/** Something in a Canary that a provider cannot do (`error`), or does otherwise than written (`warning`). */
export interface RouteProblem {
  severity: 'error' | 'warning';
  path: string;
  message: string;
}

/** One routing provider: pure builders and readers of its objects. */
export interface Router {
  readonly kinds: readonly RouteKind[];
  /** The apex Service's selector is the traffic, so it is written together with the weights. */
  readonly apexFollowsTraffic: boolean;
  check(canary: Canary): RouteProblem[];
  /** Objects to apply so that traffic flows like this. */
  objects(context: RouteContext, target: RouteTarget, live: readonly KubernetesObject[]): KubernetesObject[];
  /** Undefined while the routing objects do not exist. */
  read(context: RouteContext, live: readonly KubernetesObject[]): RouteView | undefined;
}

/** The routing providers by name; undefined for one that this version does not know. */
export type Routing = (provider: string) => Router | undefined;

/** Where news goes: a Kubernetes Event and a log line, written once per change. Never rejects. */
export interface EventSink {
  emit(
    about: KubernetesObject,
    event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string },
  ): void;
}

/** What a poll saw. `rewritten`: the new head is no proven descendant of the commit before. */
export interface PollResult {
  readonly kind: 'unchanged' | 'moved' | 'rewritten';
  readonly head: CommitInfo;
  readonly refName: string;
}

/** The manifests of one commit below a path. */
export interface CommitFiles {
  /** `oid` is Git's id of the content. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly oid: string; readonly bytes: Uint8Array }>;
  readonly problems: ReadonlyArray<{ readonly path: string; readonly message: string }>;
}

/** The Git repository of one Source. Methods throw errors with a `code` that says what is wrong. */
export interface Repository extends RepositoryWriting {
  /** `previous`: the commit that was applied last; the answer says whether head descends from it. */
  poll(signal: AbortSignal, previous?: string): Promise<PollResult>;
  /** Equal ids mean equal content, so that rendering can be skipped. */
  treeOidAt(commit: string, path: string, signal?: AbortSignal): Promise<string>;
  readFiles(commit: string, path: string, options: { readonly signal: AbortSignal }): Promise<CommitFiles>;
  /** Full ids of the commits, besides head, that must survive when the store is built anew. Replaces the former list. */
  keep(commits: readonly string[]): void;
}

/** Opens a Source's repository; `secret` reads its Secret's values anew at each use. Throws for an address that is not allowed. */
export type OpenRepository = (
  source: Source,
  secret: () => Promise<Readonly<Record<string, Uint8Array>> | undefined>,
) => Repository;

/** One pull request (merge request) as the forge tells it. */
export interface PullRequest {
  readonly number: number;
  readonly url: string;
  readonly state: 'open' | 'closed' | 'merged';
  /** The source branch. */
  readonly branch: string;
  /** Full id of the commit the branch has, or had when the request was closed. */
  readonly head: string;
  readonly title: string;
  readonly body: string;
}

/** A commit status: one line per context on a commit. A later one of the same context takes the place of the former. */
export interface CommitStatus {
  readonly state: 'pending' | 'success' | 'failure' | 'error';
  readonly context: string;
  readonly description: string;
  readonly targetUrl?: string;
}

/**
 * A forge: pull requests and commit statuses of one repository. Methods throw errors with a `code`: Unauthorized,
 * Forbidden, NotFound, Unavailable (worth another try) or Invalid.
 */
export interface Forge {
  /** The product, for messages: `github`, `gitlab`, `gitea`, `bitbucket`. */
  readonly kind: string;
  /** Newest pull request whose source is this branch, open or closed; undefined when there is none. */
  findPullRequest(branch: string): Promise<PullRequest | undefined>;
  createPullRequest(request: {
    readonly branch: string;
    readonly base: string;
    readonly title: string;
    readonly body: string;
    readonly draft: boolean;
  }): Promise<PullRequest>;
  updatePullRequest(
    number: number,
    change: { readonly title?: string; readonly body?: string },
  ): Promise<PullRequest>;
  comment(number: number, body: string): Promise<void>;
  closePullRequest(number: number): Promise<void>;
  setCommitStatus(commit: string, status: CommitStatus): Promise<void>;
}

/** Opens the forge of a Source's repository with the Source's Secret; undefined when the host is no known forge. */
export type OpenForge = (
  source: Source,
  secret: () => Promise<Readonly<Record<string, Uint8Array>> | undefined>,
) => Promise<Forge | undefined>;

/** Calls a Source's poll by its interval or schedule, or when woken. */
export interface Poller {
  start(): void;
  wake(): void;
  /** Aborts the poll under way and resolves when it has ended. */
  stop(): Promise<void>;
}

/** Makes the poller of a Source. Throws with a clear message when its schedule cannot be read. */
export type OpenPoller = (source: Source, poll: (signal: AbortSignal) => Promise<void>) => Poller;
