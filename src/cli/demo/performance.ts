import type { Logger } from 'pino';
import type { Connection } from '../../app/connection.ts';
import type { DemoEvent, Happening } from './events.ts';
import type { Follower } from './follow.ts';
import type { Journal } from './journal.ts';
import type { DemoOptions } from './options.ts';
import type { CommitLog } from './repository.ts';
import type { Stage, Traffic } from './stage.ts';

/** Who watches the demo. */
export interface Audience {
  readonly tell: (event: DemoEvent) => void;
  /** Requests are sampled from now on; for a live line. */
  readonly onTraffic?: (totals: Traffic['totals']) => void;
  /** Aborting ends the play; everything is still cleaned up. */
  readonly signal: AbortSignal;
}

/** What belongs to one run of the demo, whatever the stage. */
export interface Setting {
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
export interface Play {
  readonly setting: Setting;
  readonly audience: Audience;
  readonly stage: Stage;
  readonly connection: Connection;
  readonly commits: CommitLog;
  readonly gitUrl: string;
  /** Requests that the Git server has answered so far. */
  readonly gitRequests: () => number;
  readonly follower: Follower;
  readonly journal: Journal;
  readonly tell: (happening: Happening) => void;
  traffic: Traffic | undefined;
  /** Digest of v2, once it is the last-known-good. */
  goodDigest: string;
}
