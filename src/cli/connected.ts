import { systemClock } from '../api/clock.ts';
import { type Connection, connect } from '../app/connection.ts';
import { silentLogger } from '../cluster/log.ts';

/** Does something with the API server and closes the connection again. Throws ApiError. */
export async function connected<T>(
  options: { readonly kubeconfig: string | undefined; readonly version: string },
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connect(options, systemClock, silentLogger);
  try {
    return await work(connection);
  } finally {
    await connection.transport.close();
  }
}
