import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterAccess } from '../access/credentials.ts';
import { createAuthority, nameWarnings } from '../testing/certificates.ts';
import { accessTo, answer, startScriptedServer } from '../testing/scripted-server.ts';
import type { ApiRequest } from './request.ts';
import { createTransport, type Transport } from './transport.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const read: ApiRequest = { verb: 'get', path: '/version', object: 'the version' };
const write: ApiRequest = { verb: 'apply', path: '/apis/x', object: 'Deployment shop/web', body: {} };

function connect(access: ClusterAccess): Transport {
  const transport = createTransport({ access, userAgent: 'holdfast/test' });
  cleanups.push(() => transport.close());
  return transport;
}

/** A server that answers everything, with a certificate of this authority. */
async function startServer() {
  const authority = createAuthority();
  cleanups.push(() => authority.remove());
  const { url, close } = await startScriptedServer(
    (_, response) => answer(response, 200, {}),
    authority.issue('server'),
  );
  cleanups.push(close);
  return { authority, url };
}

describe('transport over TLS', () => {
  it('opens new connections with a rotated client certificate, and checks the server against the given authority', async () => {
    const authority = createAuthority();
    cleanups.push(() => authority.remove());
    const names: string[] = [];
    const server = await startScriptedServer(
      (_, response) => {
        names.push(String((response.socket as TLSSocket).getPeerCertificate().subject?.CN));
        answer(response, 200, {});
      },
      { ...authority.issue('server'), ca: authority.ca, requestCert: true, rejectUnauthorized: true },
    );
    cleanups.push(() => server.close());
    let client = authority.issue('before');
    const access: ClusterAccess = {
      ...accessTo(server.url),
      authenticate: async () => ({ headers: {}, tls: { ca: authority.ca, ...client, insecure: false } }),
    };
    const transport = connect(access);
    await transport.request(read);
    await transport.request(read);
    client = authority.issue('after');
    await transport.request(read);
    expect(names).toEqual(['before', 'before', 'after']);
    expect(server.connections()).toBeLessThanOrEqual(3);
    const unknownAuthority = connect(accessTo(server.url, client)).request(write);
    await expect(unknownAuthority).rejects.toMatchObject({ kind: 'transient', effectUnknown: false });
  });

  it('checks the certificate of the server for the name in the kubeconfig, also where that is an IP address', async () => {
    const { authority, url } = await startServer();
    const at = (host: string, serverName: string) =>
      connect(accessTo(url.replace('127.0.0.1', host), { ca: authority.ca, serverName })).request(write);

    const warnings = nameWarnings();
    await expect(at('localhost', '127.0.0.1')).resolves.toBeDefined();
    await expect(at('127.0.0.1', '127.0.0.2')).rejects.toThrow(/certificate/);
    await expect(at('127.0.0.1', 'api.internal')).rejects.toThrow(/certificate/);
    expect(warnings).toEqual([]);
  });

  it.each([
    ['that cannot be read', { cert: 'none', key: 'none' }, 'is not in PEM format'],
    ['with the key of another one', {}, 'does not belong to its certificate'],
  ])('says of a client certificate %s what is wrong, at each request', async (_, broken, words) => {
    const { authority, url } = await startServer();
    const { cert } = authority.issue('first');
    const { key } = authority.issue('second');
    const transport = connect(accessTo(url, { ca: authority.ca, cert, key, ...broken }));
    for (let request = 0; request < 2; request += 1)
      await expect(transport.request(write)).rejects.toMatchObject({
        kind: 'transient',
        effectUnknown: false,
        message: expect.stringContaining(`${words} (API server https://127`),
      });
  });
});
