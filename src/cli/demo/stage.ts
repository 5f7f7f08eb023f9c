import type { ClusterClient } from '../../cluster/client.ts';
import type { ObjectName, Pace } from './options.ts';

/** Where the story is played. */
export interface Stage {
  /** For people: what kind of cluster this is. */
  readonly description: string;
  /** File with the kubeconfig. */
  readonly kubeconfig: string;
  readonly provider: string;
  readonly gateway: ObjectName | undefined;
  /** Prometheus that knows the sandbox's traffic. */
  readonly prometheus: string | undefined;
  readonly pace: Pace;
  /** What the user should know before the story begins. */
  readonly notes: readonly string[];
  /** Makes everything that must be there before Holdfast starts: kinds and namespace. Throws InputError when the cluster is not fit. */
  prepare(client: ClusterClient): Promise<void>;
  /** Begins to send requests to the application; undefined when there is no way to. */
  startTraffic(): Traffic | undefined;
  /** Takes away what prepare made. Holdfast does not run any more. */
  strike(client: ClusterClient): Promise<void>;
  close(): Promise<void>;
}

/** Requests of users, counted. */
export interface Traffic {
  totals(): { readonly requests: number; readonly failed: number };
  stop(): Promise<void>;
}

/** Field manager of the demo's own writes. */
export const demoManager = 'holdfast-demo';
