import type { Logger } from 'pino';
import type { ClusterClient } from '../../src/cluster/client/client.ts';
import type { Connection } from '../../src/server/connection.ts';
import type { CanaryWatch } from './canary-watch.ts';
import type { DemoEvent, DemoEventBody } from './events.ts';
import type { Journal } from './journal.ts';
import type { DemoOptions, ObjectName, Pace } from './options.ts';
import type { CommitLog } from './repository.ts';

/** Who watches the demo. */
export interface DemoListener {
  readonly tell: (event: DemoEvent) => void;
  /** Requests are sampled from now on; for a live line. */
  readonly onTraffic?: (totals: Traffic['totals']) => void;
  /** Aborting ends the play; everything is still cleaned up. */
  readonly signal: AbortSignal;
}

/** What belongs to one run of the demo, whatever the stage. */
export interface DemoEnvironment {
  readonly options: DemoOptions;
  /** Folder of its own in the machine's temporary folder. */
  readonly folder: string;
  readonly logPath: string;
  /** Log of the program under demonstration. */
  readonly log: Logger;
  /** Done in reverse order, whatever happens. */
  readonly cleanups: Array<() => Promise<void>>;
}

/** Everything the play works with. */
export interface DemoRun {
  readonly setting: DemoEnvironment;
  readonly audience: DemoListener;
  readonly stage: Stage;
  readonly connection: Connection;
  readonly commits: CommitLog;
  readonly gitUrl: string;
  /** Requests that the Git server has answered so far. */
  readonly gitRequests: () => number;
  readonly follower: CanaryWatch;
  readonly journal: Journal;
  readonly tell: (happening: DemoEventBody) => void;
  traffic: Traffic | undefined;
  /** Digest of v2, once it is the last-known-good. */
  goodDigest: string;
}

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
