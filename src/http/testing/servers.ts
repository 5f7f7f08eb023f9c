import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';

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
  // Tests have clocks of their own, which answers do not contradict.
  server.prependListener('request', (_, response) => {
    response.sendDate = false;
  });
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

/** A forward proxy on a free port of 127.0.0.1. */
export interface TestProxy {
  /** `host:port`. */
  readonly address: string;
  /** What it was asked, with the credentials: `GET http://host/x Basic ...`, `CONNECT host:port`. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** Forwards all requests with these credentials (`user:password`), or all requests without any. */
export async function startTestProxy(credentials?: string): Promise<TestProxy> {
  const asked: string[] = [];
  const wanted = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const server = createServer(async (request, response) => {
    const given = request.headers['proxy-authorization'];
    asked.push(`${request.method} ${request.url} ${given ?? ''}`.trim());
    if (wanted && given !== wanted) return response.writeHead(407).end();
    const answer = await fetch(request.url ?? '', { method: request.method ?? 'GET' });
    return response.writeHead(answer.status).end(await answer.text());
  });
  server.on('connect', (request, socket, head) => {
    const given = request.headers['proxy-authorization'];
    asked.push(`CONNECT ${request.url} ${given ?? ''}`.trim());
    if (wanted && given !== wanted)
      return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n');
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    return socket.on('error', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** A self-signed certificate for localhost and 127.0.0.1, made for tests only; no client trusts it. */
export const testCertificate = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUXR34WvvOvuZO8PSWuxhF+m+/fC0wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA5MzA0OVoYDzIxMjYxMDI4
MDkzMDQ5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARBxQyCav/GrhMhP49KKT/2HUjPAWZLHefIM3Oi7gsWM6J/GYZsdkNm
qfRWX1cpjhK4y14aEIt2njZIXgwzXhrmo28wbTAdBgNVHQ4EFgQUIajHOzdhPvGz
6MWl4eu3UB9MAr8wHwYDVR0jBBgwFoAUIajHOzdhPvGz6MWl4eu3UB9MAr8wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgPAVAtR8aKd618OzBsyZRG0097dPAz1Z0SdiX8vvQRa4CIQCQ
pqAenJLTLzbTmz815LWHvaA78T3CHKNQjU/xV4/cVw==
-----END CERTIFICATE-----
`;

/** The key that belongs to it. It protects nothing. */
export const testKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgFbu0Qc67aMvbNpGU
RprKV44r4Qdz+OVXmBI8gcf9HOWhRANCAARBxQyCav/GrhMhP49KKT/2HUjPAWZL
HefIM3Oi7gsWM6J/GYZsdkNmqfRWX1cpjhK4y14aEIt2njZIXgwzXhrm
-----END PRIVATE KEY-----
`;
