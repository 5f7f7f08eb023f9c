/** What every metric provider implements. */
import type { Canary } from '../../api/canary/canary.ts';
import type { MetricReading } from '../../api/observed.ts';
import type { Cluster } from '../../contracts/cluster.ts';
import type { HttpClient } from '../../http/types.ts';

/** The part of the outbound client that providers need. */
export type MetricHttp = Pick<HttpClient, 'send'>;

/** The cloud identity of Holdfast's own pod. */
export interface CloudIdentity {
  /** A client that reaches the clouds' credential endpoints. Only for those requests, whose addresses tenants cannot choose. */
  readonly http: MetricHttp;
  /** Environment variables of the pod. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** What providers need of the API server. */
export interface MetricCluster extends Pick<Cluster, 'get' | 'create' | 'delete'> {
  /** The ExternalMetricValueList of external.metrics.k8s.io. Throws what the API server says. */
  externalMetric(
    question: { readonly namespace: string; readonly metric: string; readonly labelSelector: string },
    signal: AbortSignal,
  ): Promise<unknown>;
}

/** What a check that runs Jobs needs. */
export interface JobAccess {
  /** It writes as the account of the Source that holds the Canary. */
  readonly cluster: Pick<Cluster, 'get' | 'list' | 'create' | 'delete'>;
  /** Jobs belong to it. */
  readonly canary: Canary;
  /** The rollout and its release, the side and the metric, which identify a Job. */
  readonly check: readonly string[];
  readonly signal: AbortSignal;
}

/** Through what providers ask. */
export interface MetricAccess extends MetricHttp {
  /** `notHere`: it is lent by the controller alone. Undefined: it is not lent to MetricTemplates. */
  readonly identity?: CloudIdentity | 'notHere' | undefined;
  /** Undefined: the controller alone asks the API server. */
  readonly cluster?: MetricCluster | undefined;
  /** `notHere`: Jobs are the controller's alone. Undefined: no Source holds the Canary, so they must not run. */
  readonly jobs?: JobAccess | 'notHere' | undefined;
  /** Whether a query may name other namespaces than the template's. Default false. */
  readonly crossesNamespaces?: boolean;
}

/** One question, rendered and complete. */
export interface MetricRequest {
  /** Base address of the provider's API; empty where the template names none. */
  address: string;
  query: string;
  /** Namespace of the template. */
  namespace: string;
  headers: Readonly<Record<string, readonly string[]>>;
  /** Decoded Secret of the template; undefined: it names none. */
  secret: Readonly<Record<string, string>> | undefined;
  /** `namespace/name` of that Secret, for messages. */
  secretName: string | undefined;
  insecureSkipVerify: boolean;
  /** Region of the cloud. */
  region: string | undefined;
  /** Where the value is in an answer of any shape (RFC 6901). */
  jsonPointer: string | undefined;
  timeoutMs: number;
  /** Now, in milliseconds since the epoch: by our clock in a request, by the clock of the server when its answer has a date. */
  nowMs: number;
  /** Interval of the metric: the time that a query is about which names none itself. */
  intervalMs: number;
  /** The same, or the metric's maxSampleAge: an answer older than this is no answer (S29). */
  windowMs: number;
  /** `maxSampleAge` of the metric, for systems that take it with the query. */
  maxSampleAgeMs?: number | undefined;
}

/** The same question about several moments, the last of them now. */
export interface PointsRequest extends MetricRequest {
  readonly points: { readonly stepMs: number; readonly count: number };
}

/** The endpoint of a request, without the query. */
export type MetricEndpoint = Omit<MetricRequest, 'query' | 'intervalMs' | 'windowMs' | 'maxSampleAgeMs'>;

/** One kind of metric system. */
export interface MetricProvider {
  type: string;
  /** Milliseconds a query may take where it is not the usual bound. */
  timeoutMs?: number;
  /**
   * How a value is written into a query that is an address: as one part of it, whatever is in it, since its variables may be another one's than the
   * template (threat row 8). Throws for what cannot be one. Undefined: as it is.
   */
  encode?(value: string): string;
  /** Throws for nothing that a server does: that is `error` or `noData`. */
  query(request: MetricRequest, access: MetricAccess): Promise<MetricReading>;
  /** The finite values of several moments, as `points` of the reading. Undefined: the system is not asked so. */
  queryPoints?(request: PointsRequest, access: MetricAccess): Promise<MetricReading>;
}

/** The API server, and a namespace that the query names. Throws for one that the template may not read. */
export function clusterFor(
  namespace: string,
  { namespace: own }: MetricRequest,
  { cluster, crossesNamespaces }: MetricAccess,
): MetricCluster {
  if (!cluster) throw new NotHereError();
  if (namespace !== own && crossesNamespaces !== true)
    throw new Error(
      `the query is about namespace ${namespace}, and the template is in ${own}; others are read only with --cross-namespace-refs`,
    );
  return cluster;
}

/** The controller can ask it, and a command cannot. */
export class NotHereError extends Error {
  constructor(message = 'the controller asks the API server for it at each check') {
    super(message);
  }
}

/** A reading for what was thrown instead of an answer. `shown` takes secrets out of its message. */
export function unanswered(error: unknown, shown = (message: string) => message): MetricReading {
  if (error instanceof NotHereError) return pendingReading(error.message);
  return failedReading(shown(error instanceof Error ? error.message : 'the request failed'));
}

/** A result that is still to come, and never counts as a failure. */
export function pendingReading(detail: string): MetricReading {
  return { kind: 'noData', detail, isPending: true };
}

/** A reading without a value, and why. */
export function failedReading(detail: string): MetricReading {
  return { kind: 'error', detail };
}

/** What a text says as JSON; undefined where it is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The pod's identity. Throws where it is not lent, and where it would go to a server that the template chose. */
export function lent({ address }: MetricRequest, identity: MetricAccess['identity']): CloudIdentity {
  if (!identity)
    throw new Error(
      'the template names no Secret, and the cloud identity of Holdfast is used only if it runs with --cloud-identity',
    );
  if (address !== '')
    throw new Error(
      'the cloud identity of Holdfast is used without an address only; name a Secret, or leave the address out',
    );
  if (identity === 'notHere')
    throw new NotHereError('the controller asks for it at each check with its cloud identity');
  return identity;
}
