import type { Log } from '../contracts/cluster.ts';

/** Says nothing. */
export const silentLogger: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
