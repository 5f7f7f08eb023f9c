import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** A forward proxy on a free port of 127.0.0.1. */
export interface TestProxy {
  /** `host:port`. */
  readonly address: string;
  /** What it was asked, with the credentials: `GET http://host/x Basic ...`, `CONNECT host:port`. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** Passes everything on that comes with these credentials (`user:password`), or all where there are none. */
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
