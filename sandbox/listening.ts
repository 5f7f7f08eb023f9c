import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Opens a server, by default on any free port of this machine alone. Rejects when the port is taken. */
export async function listen(
  server: Server,
  {
    host = '127.0.0.1',
    port = 0,
  }: { readonly host?: string | undefined; readonly port?: number | undefined },
): Promise<{ readonly url: string; close(): Promise<void> }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
