import type { AlertProviderSpec } from '../api/alert-provider.ts';
import type { LeaseTimes } from '../cluster/election/lease-attempt.ts';
import type { RateBounds } from '../cluster/transport/transport.ts';
import type { RouteSettings } from '../contracts/routing.ts';
import type { ProgramPaths } from '../render/build/programs.ts';
import type { ListenAddress } from './http/http-server.ts';

/** The name of a cluster without a configured one. */
export const DEFAULT_CLUSTER_NAME = 'default';

/** The dashboard, where there is one. */
export interface DashboardSettings {
  readonly listen: ListenAddress;
  /** File with the secret of a login proxy, which names the user in headers; undefined: only tokens are accepted. */
  readonly proxySecretFile?: string | undefined;
  /** The only credential of the dashboard, with all rights. For `holdfast demo`. */
  readonly key?: string | undefined;
}

/** A receiver that flags and the environment name, as an AlertProvider would. */
export interface DefaultReceiver {
  readonly spec: AlertProviderSpec;
  readonly token: string | undefined;
}

/** Everything that can be set for `holdfast run`. */
export interface AppOptions {
  readonly version: string;
  /** Files with Sources; empty: the Sources of the cluster are followed. */
  readonly sourceFiles: readonly string[];
  readonly kubeconfig: string | undefined;
  /** Watch only this namespace, and store the Lease and the key in it. */
  readonly namespace: string | undefined;
  /** Watch only these namespaces; empty: all. */
  readonly watchNamespaces: readonly string[];
  readonly dataDirectory: string;
  /** What the repositories of all Sources may take of it; default `limits.gitDiskBytes`. */
  readonly gitDiskBytes?: number | undefined;
  /** Of memory for the objects of all Sources; default: a third of the heap, the rest is for what is read and rendered at the moment, and for the watches. */
  readonly roomBytes?: number | undefined;
  /** Name of this cluster in refs, branches, commit statuses and alerts; a DNS label. */
  readonly clusterName: string;
  /** Author and committer of what Holdfast commits. */
  readonly gitIdentity: { readonly name: string; readonly email: string };
  readonly listen: ListenAddress;
  /** Where /healthz and /readyz are served, too; default only at `listen`. */
  readonly probeListen?: ListenAddress | undefined;
  readonly logLevel: string;
  readonly minAnalysisIntervalMs: number;
  /** Provider of Canaries that name none (Flagger's --mesh-provider). */
  readonly meshProvider: string;
  /** Prometheus of built-in metrics (Flagger's --metrics-server). */
  readonly metricsServer: string;
  /** Folder with the credentials for that Prometheus, as in the Secret of a template; undefined: it needs none. */
  readonly metricsServerCredentials?: string | undefined;
  /** Hosts, with or without a port, that outbound requests may reach whatever their addresses are. */
  readonly allowOutbound?: readonly string[];
  /** Where a running Flagger counts; none: everywhere that is looked at. */
  readonly flaggerNamespaces?: readonly string[];
  /** MetricTemplates without a Secret use the cloud identity of this pod. */
  readonly cloudIdentity?: boolean;
  readonly selectorLabels: readonly string[];
  readonly includeLabelPrefixes: readonly string[];
  /** Settings for the routes of all Canaries. */
  readonly routes?: RouteSettings;
  /** Cron expression (UTC) by which every last-known-good is drilled; undefined: only on request. */
  readonly drillSchedule?: string | undefined;
  /** Root of the pages that alerts link runbooks to, with a slash at the end; without it the path alone is shown. */
  readonly runbookUrl?: string | undefined;
  /** Requests to the API server; default 100 a second with bursts of 250, as Flagger's. */
  readonly apiRate?: RateBounds;
  /** The same for what Sources apply; default 200 a second with bursts of 400. */
  readonly sourceRate?: RateBounds;
  /** Canaries that are reconciled concurrently; default 8. */
  readonly concurrency?: number;
  /** Canaries and Sources may not refer to objects of other namespaces (Flagger's --no-cross-namespace-refs); default true. */
  readonly forbidsOtherNamespaces?: boolean;
  /** Whether ConfigMaps and Secrets are part of releases (Flagger's --enable-config-tracking); default true. */
  readonly tracksConfig?: boolean;
  /** Receiver of alerts of Canaries without alerts of their own. */
  readonly defaultReceiver?: DefaultReceiver | undefined;
  /** Address that gets the Events of Canaries without webhooks of type event (Flagger's --event-webhook). */
  readonly eventWebhook?: string | undefined;
  /** Service account, in a Source's own namespace, that Sources without serviceAccountName are written as. */
  readonly defaultServiceAccount?: string | undefined;
  /** Namespaces whose Sources are written with Holdfast's own rights unless they name an account; never its own, nor kube-system. */
  readonly trustedSourceNamespaces?: readonly string[];
  /** Where kustomize and helm are, as far as it was said; otherwise they are looked for on PATH. */
  readonly programs?: ProgramPaths;
  /** The pod that Holdfast runs in, from the downward API: when it is gone, others take over the Lease without waiting. */
  readonly pod?: { readonly name: string; readonly uid: string } | undefined;
  /** Times of leader election; default as ADR 33 says. For the demo and tests, which must not fail because their machine stood still for a while. */
  readonly leaseTimes?: LeaseTimes | undefined;
  /** Where the dashboard is served; undefined: nowhere. */
  readonly dashboard?: DashboardSettings | undefined;
  /** Decide and log, and write nothing: no Lease, no status, nothing in Git. */
  readonly shadow?: boolean;
}

/** The namespaces that are looked at; none: all. */
export function namespacesOf({ namespace, watchNamespaces }: AppOptions): readonly string[] {
  return namespace ? [namespace] : watchNamespaces;
}
