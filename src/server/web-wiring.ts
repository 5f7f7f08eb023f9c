import type { Logger } from 'pino';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Election } from '../cluster/election/election.ts';
import type { EventSink, WatchedSet } from '../contracts/cluster.ts';
import { createEventSink } from '../engine/alerts/event-sink.ts';
import type { Connection } from './connection.ts';
import type { StoreSizes } from './http/prometheus.ts';
import type { AppOptions } from './options.ts';
import { createSteadyClock } from './process.ts';

/** What the web endpoints use. */
export interface WebWiring {
  readonly options: AppOptions;
  readonly connection: Connection;
  readonly election: Election;
  readonly log: Logger;
  /** Of this process. */
  readonly instance: string;
  /** Changes while the program starts. */
  readonly state: {
    readonly engine: RunningEngine | undefined;
    readonly canaries: WatchedSet | undefined;
    readonly problem: string | undefined;
  };
}

/** What they ask of the engine. */
interface RunningEngine {
  readonly canaries: { depth(): number };
  readonly sources: { wake(sourceKey: string): boolean };
  readonly canarySet: WatchedSet;
  readonly sourceSet: WatchedSet;
  gitStores(): StoreSizes | undefined;
}

/** Writes Events about HTTP requests with `client`, under this field manager. */
export function webEvents(
  { log, instance }: WebWiring,
  client: Connection['client'],
  manager: string,
): EventSink {
  const create = (object: KubernetesObject) => client.create(object, { manager });
  return createEventSink({ cluster: { create }, clock: createSteadyClock(), log, instance });
}
