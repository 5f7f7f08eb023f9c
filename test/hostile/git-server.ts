import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a server that is nobody's friend answers for one repository. */
export interface Served {
  /** Names and ids, in the order they are told. */
  readonly refs: ReadonlyArray<readonly [name: string, oid: string]>;
  /** Besides `side-band-64k`, as `symref=HEAD:refs/heads/main`. */
  readonly capabilities?: string;
  readonly pack?: Buffer;
  /** In the place of the listing. */
  readonly listing?: (response: ServerResponse) => void;
  /** In the place of the pack's answer. */
  readonly answer?: (response: ServerResponse) => void;
}

/** A server of Git's protocol v0 on a free port of 127.0.0.1 that says whatever it is given, so that no git checks it. */
export interface HostileServer {
  readonly url: string;
  /** Repositories by name; `NAME.git` in the address. */
  readonly repositories: Map<string, Served>;
  close(): Promise<void>;
}

const BAND_BYTES = 65_000;

/** Starts it without a repository. */
export async function startHostileServer(): Promise<HostileServer> {
  const repositories = new Map<string, Served>();
  const server = createServer((request, response) => {
    const [, name = '', rest = ''] = /^\/([\w-]+)\.git\/(.*)$/.exec(request.url ?? '') ?? [];
    const served = repositories.get(name);
    request.resume();
    if (!served) return response.writeHead(404).end();
    return rest.startsWith('info/refs') ? list(served, response) : send(served, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    repositories,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function list({ capabilities = '', listing, refs }: Served, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
  if (listing) return listing(response);
  const lines = refs.map(([name, oid], index) =>
    line(`${oid} ${name}${index === 0 ? `\0side-band-64k ofs-delta ${capabilities}` : ''}\n`),
  );
  response.end(Buffer.concat([line('# service=git-upload-pack\n'), FLUSH, ...lines, FLUSH]));
}

function send({ answer, pack }: Served, request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
  request.on('end', () => {
    if (answer) return answer(response);
    response.end(packAnswer(pack ?? Buffer.alloc(0)));
  });
}

/** What a server says when it sends a pack. */
export function packAnswer(pack: Buffer): Buffer {
  const parts: Buffer[] = [line('NAK\n')];
  for (let offset = 0; offset < pack.length; offset += BAND_BYTES)
    parts.push(band(1, pack.subarray(offset, offset + BAND_BYTES)));
  return Buffer.concat([...parts, FLUSH]);
}

/** One packet of a side band. */
export function band(number: number, content: Buffer): Buffer {
  return line(Buffer.concat([Buffer.from([number]), content]));
}

/** One packet. */
export function line(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes]);
}

/** Ends a list of packets. */
export const FLUSH = Buffer.from('0000');
