import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate, testKey } from './certificate.ts';

/** A server on a free port of 127.0.0.1. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Starts it; `isSecure` uses the test certificate. */
export async function startTestServer(listener: RequestListener, isSecure = false): Promise<TestServer> {
  const server = isSecure
    ? createSecureServer({ cert: testCertificate, key: testKey }, listener)
    : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
