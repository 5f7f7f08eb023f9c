import { systemClock } from '../../src/api/clock.ts';
import { silentLogger } from '../../src/cluster/log.ts';
import { type Connection, connect } from '../../src/server/connection.ts';
import type { Bed } from './holdfast-bed.ts';

/** A connection to the bed's API server, as the commands have it. Close it before the bed. */
export function connectTo({ kubeconfigPath }: Bed): Promise<Connection> {
  return connect({ kubeconfig: kubeconfigPath, version: 'test' }, systemClock, silentLogger);
}
