import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../api/clock.ts';
import type { Authentication, ClusterAccess } from '../access/credentials.ts';
import { ApiError } from '../errors.ts';
import { eventually } from '../testing/manual-clock.ts';
import {
  accessTo,
  answer,
  failure,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from '../testing/scripted-server.ts';
import type { ApiRequest } from './request.ts';
import { createTransport, type Transport, type TransportOptions } from './transport.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const read: ApiRequest = { verb: 'get', path: '/api/v1/namespaces/shop/pods/web', object: 'Pod shop/web' };
const write: ApiRequest = { verb: 'apply', path: '/apis/x', object: 'Deployment shop/web', body: { a: 1 } };

async function serve(script: Script): Promise<ScriptedServer> {
  const server = await startScriptedServer(script);
  cleanups.push(() => server.close());
  return server;
}

function connect(access: ClusterAccess, more: Partial<TransportOptions> = {}): Transport {
  const transport = createTransport({ access, userAgent: 'holdfast/test', random: () => 0, ...more });
  cleanups.push(() => transport.close());
  return transport;
}

async function failureOf(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

describe('transport', () => {
  it('serves 1500 requests, 100 at a time, over at most 16 connections', async () => {
    const server = await serve((_, response) => answer(response, 200, { ok: true }));
    const transport = connect(accessTo(server.url), { rate: { perSecond: 1e6, burst: 1e6 } });
    for (let round = 0; round < 15; round += 1) {
      await Promise.all(Array.from({ length: 100 }, () => transport.request(read)));
    }
    expect(server.seen).toHaveLength(1500);
    expect(server.connections()).toBeLessThanOrEqual(16);
    expect(transport.counts().get).toBe(1500);
  });

  it('says who it is, sends JSON in the given type, and impersonates on request', async () => {
    const server = await serve((request, response) => answer(response, 200, { echo: request.body }));
    const transport = connect(accessTo(server.url, {}, { authorization: 'Bearer t' }));
    const got = await transport.request({
      ...write,
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: 'holdfast' },
      impersonate: 'system:serviceaccount:shop:deployer',
    });
    expect(got).toEqual({ echo: { a: 1 } });
    const [request] = server.seen;
    expect(request).toMatchObject({ method: 'PATCH', path: '/apis/x' });
    expect(request?.query.get('fieldManager')).toBe('holdfast');
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer t',
      'user-agent': 'holdfast/test',
      'content-type': 'application/apply-patch+yaml',
      'impersonate-user': 'system:serviceaccount:shop:deployer',
    });
  });

  it('gives up on a silent server at the deadline, and says that a write may have happened', async () => {
    const server = await serve(() => undefined);
    const transport = connect(accessTo(server.url));
    const onRead = await failureOf(transport.request({ ...read, deadlineMs: 100 }));
    const onWrite = await failureOf(transport.request({ ...write, deadlineMs: 100 }));
    expect(onRead).toMatchObject({ kind: 'timeout', effectUnknown: false, actor: 'nobody', retryable: true });
    expect(onRead.message).toBe('get Pod shop/web: timed out after 100 ms');
    expect(onWrite).toMatchObject({ kind: 'timeout', effectUnknown: true });
  });

  it('says at the deadline why there was no connection, and to which server', async () => {
    const server = await serve(() => undefined);
    const { url } = server;
    await server.close();
    const transport = connect(accessTo(url), { retry: { firstMs: 60_000, maximumMs: 60_000 } });
    const error = await failureOf(transport.request({ ...read, deadlineMs: 1_000 }));
    expect(error).toMatchObject({ kind: 'timeout', retryable: true });
    expect(error.message).toBe(
      `get Pod shop/web: the connection was refused: nothing listens at this address (API server ${url})`,
    );
  });

  it('says at the deadline what the last try that ended met', async () => {
    let round = 0;
    const server = await serve((_, response) => {
      round += 1;
      if (round === 1) response.socket?.destroy();
    });
    const transport = connect(accessTo(server.url), { retry: { firstMs: 1, maximumMs: 1 } });
    const error = await failureOf(transport.request({ ...read, deadlineMs: 1_000 }));
    expect(round).toBe(2);
    expect(error.message).toBe('get Pod shop/web: the connection was cut by the other side');
  });

  it.each([
    ['hours ahead', 5 * 3_600_000, 0],
    ['hours behind', -5 * 3_600_000, 0],
    ['off by no more than networks are slow', 6_000, 6_000],
  ])('tells the time of a server beside a clock that is %s', async (_, offMs, keptMs) => {
    const server = await serve((_, response) => answer(response, 200, {}));
    const clock = { ...systemClock, nowMs: () => Date.now() + offMs };
    const transport = connect(accessTo(server.url), { clock });
    await transport.request(read);
    // The header has whole seconds.
    expect(Math.abs(transport.serverNowMs() - keptMs - Date.now())).toBeLessThan(2_000);
  });

  it('cuts an answer that trickles beyond the deadline', async () => {
    const server = await serve((_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    });
    const error = await failureOf(connect(accessTo(server.url)).request({ ...read, deadlineMs: 200 }));
    expect(error.kind).toBe('timeout');
  });

  it('tries a read again after a reset, a half body and a 503', async () => {
    let round = 0;
    const server = await serve((_, response) => {
      round += 1;
      if (round === 1) return response.socket?.destroy();
      if (round === 2) {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"half":');
        return setTimeout(() => response.socket?.destroy(), 20);
      }
      if (round === 3) return answer(response, 503, failure(503, 'ServiceUnavailable', 'starting'));
      answer(response, 200, { ok: true });
    });
    const got = await connect(accessTo(server.url)).request(read);
    expect(got).toEqual({ ok: true });
    expect(round).toBe(4);
  });

  it('sends a write once, whatever happens to it', async () => {
    const server = await serve((_, response) => response.socket?.destroy());
    const error = await failureOf(connect(accessTo(server.url)).request(write));
    expect(error).toMatchObject({ kind: 'transient', effectUnknown: true });
    expect(server.seen).toHaveLength(1);
  });

  it('knows that a write without a connection did not happen', async () => {
    const server = await serve(() => undefined);
    await server.close();
    const error = await failureOf(connect(accessTo(server.url)).request(write));
    expect(error).toMatchObject({ kind: 'transient', effectUnknown: false, reason: 'ECONNREFUSED' });
  });

  it('knows that a write that waited in vain for its turn did not happen', async () => {
    const server = await serve((_, response) => answer(response, 200, {}));
    const transport = connect(accessTo(server.url), { rate: { perSecond: 0.01, burst: 1 } });
    await transport.request(write);
    const error = await failureOf(transport.request({ ...write, signal: AbortSignal.timeout(50) }));
    expect(error).toMatchObject({ kind: 'aborted', effectUnknown: false });
    expect(server.seen).toHaveLength(1);
  });

  it('asks whether a write may be sent when a connection is free for it, not when it was decided', async () => {
    const release: Array<() => void> = [];
    const server = await serve((_, response) => void release.push(() => answer(response, 200, {})));
    const transport = connect(accessTo(server.url), { connections: 1 });
    let leads = true;
    const first = transport.request(write);
    const second = failureOf(transport.request({ ...write, maySend: () => leads }));
    await eventually(() => release.length === 1, 'the first write came');
    leads = false;
    release[0]?.();
    await first;
    expect(await second).toMatchObject({ kind: 'aborted', effectUnknown: false });
    expect(server.seen).toHaveLength(1);

    leads = true;
    const third = transport.request({ ...write, maySend: () => leads });
    await eventually(() => release.length === 2, 'the third write came');
    release[1]?.();
    await third;
  });

  it('refuses a request immediately when the queue is full', async () => {
    const server = await serve((_, response) => answer(response, 200, {}));
    const rate = { perSecond: 2, burst: 1, waiting: 2 };
    const transport = connect(accessTo(server.url), { rate });
    const sent = Array.from({ length: 6 }, () => transport.request(read));
    const results = await Promise.allSettled(sent);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.kind] : []));
    expect(refused.length).toBeGreaterThanOrEqual(3);
    expect(new Set(refused)).toEqual(new Set(['tooManyRequests']));
    expect(server.seen).toHaveLength(6 - refused.length);
  });

  it('lets namespaces take turns at the budget, whoever asks, so that many requests of one keep no other waiting', async () => {
    const server = await serve((_, response) => answer(response, 200, {}));
    const transport = connect(accessTo(server.url), { rate: { perSecond: 40, burst: 1 }, connections: 1 });
    const asAccount = { ...write, impersonate: 'system:serviceaccount:shop:deployer' };
    const asOther = { ...write, impersonate: 'system:serviceaccount:shop:other' };
    const inNamespace = (namespace: string) => ({ ...read, path: `/api/v1/namespaces/${namespace}/pods/p` });
    const many = Array.from({ length: 4 }, () => [asAccount, asOther, inNamespace('shop')]).flat();
    const last = inNamespace('cart');
    await Promise.all([...many, last].map((request) => transport.request(request)));
    const places = server.seen.map(({ path }, place) => (path === last.path ? place : -1));
    expect(Math.max(...places)).toBeLessThanOrEqual(2);
    expect(server.seen).toHaveLength(13);
  });

  it('counts the deadline of a request from its turn on', async () => {
    const server = await serve((_, response) => answer(response, 200, {}));
    const transport = connect(accessTo(server.url), { rate: { perSecond: 1, burst: 1 }, deadlineMs: 1_900 });
    await Promise.all([transport.request(write), transport.request(write), transport.request(write)]);
    expect(server.seen).toHaveLength(3);
  });

  it('waits as long as Retry-After asks before a read is sent again', async () => {
    let firstAtMs = 0;
    let waitedMs = 0;
    const server = await serve((_, response) => {
      if (firstAtMs === 0) {
        firstAtMs = performance.now();
        return answer(response, 429, failure(429, 'TooManyRequests', 'slow down'), { 'retry-after': '1' });
      }
      waitedMs = performance.now() - firstAtMs;
      answer(response, 200, {});
    });
    await connect(accessTo(server.url)).request(read);
    expect(waitedMs).toBeGreaterThanOrEqual(990);
  });

  it('hands Retry-After to the caller of a refused write', async () => {
    const server = await serve((_, response) => answer(response, 429, {}, { 'retry-after': '7' }));
    const error = await failureOf(connect(accessTo(server.url)).request(write));
    expect(error).toMatchObject({ kind: 'tooManyRequests', retryAfterMs: 7000, effectUnknown: false });
  });

  it('refuses an answer that is too large, not JSON, or a redirect', async () => {
    const server = await serve((request, response) => {
      if (request.path === '/large') return answer(response, 200, { text: 'x'.repeat(2000) });
      if (request.path === '/redirect')
        return answer(response, 302, {}, { location: 'http://169.254.169.254/' });
      response.end('<html>');
    });
    const transport = connect(accessTo(server.url), { maximumBytes: 1000 });
    for (const path of ['/large', '/redirect', '/html']) {
      const error = await failureOf(transport.request({ ...write, path }));
      expect(error.kind).toBe('badAnswer');
      if (path === '/html')
        expect(error.message).toMatch(/is not JSON .* a proxy or login page may have answered/);
    }
    expect(server.seen).toHaveLength(3);
  });

  it('reads credentials again after 401 and repeats the request once, writes included', async () => {
    let token = 'old';
    const server = await serve((request, response) =>
      request.headers.authorization === 'Bearer new' ? answer(response, 200, {}) : answer(response, 401, {}),
    );
    const access: ClusterAccess = {
      ...accessTo(server.url),
      authenticate: async () => ({ headers: { authorization: `Bearer ${token}` }, tls: { insecure: false } }),
      refresh: () => {
        token = 'new';
      },
    };
    await connect(access).request(write);
    access.refresh = () => undefined;
    token = 'wrong';
    const error = await failureOf(connect(access).request(write));
    expect(error).toMatchObject({ kind: 'unauthorized', actor: 'administrator' });
    expect(server.seen).toHaveLength(4);
  });

  it('gives a person time to sign in by a plug-in: its time is not that of the request', async () => {
    const server = await serve((_, response) => answer(response, 200, {}));
    const signedIn = new Promise<Authentication>((resolve) =>
      setTimeout(() => resolve({ headers: {}, tls: { insecure: false } }), 300),
    );
    const access: ClusterAccess = {
      ...accessTo(server.url),
      authenticate: () => signedIn,
    };

    expect(await connect(access, { deadlineMs: 200 }).request(read)).toEqual({});
  });

  it('stops immediately when its caller aborts', async () => {
    const server = await serve(() => undefined);
    const giveUp = new AbortController();
    const pending = failureOf(connect(accessTo(server.url)).request({ ...write, signal: giveUp.signal }));
    await eventually(() => server.seen.length === 1, 'the request arrives');
    giveUp.abort();
    expect(await pending).toMatchObject({ kind: 'aborted', effectUnknown: true });
  });

  it('says what a watch met whose connection is cut', async () => {
    const server = await serve((_, response) => {
      response.writeHead(200);
      response.write('{}', () => response.socket?.destroy());
    });
    const { body } = await connect(accessTo(server.url)).stream({
      ...read,
      verb: 'watch',
      object: 'pods in shop',
    });
    const error = await failureOf(
      (async () => {
        for await (const _ of body);
      })(),
    );
    expect(error.message).toBe('watch pods in shop: the connection was cut by the other side');
  });

  it('holds a watch open without a deadline, on its own connection, until its signal ends it', async () => {
    const server = await serve((request, response) => {
      if (request.query.has('watch')) return response.writeHead(200).flushHeaders();
      answer(response, 200, {});
    });
    const transport = connect(accessTo(server.url), { connections: 1, deadlineMs: 500 });
    const end = new AbortController();
    const stream = await transport.stream({
      ...read,
      verb: 'watch',
      query: { watch: 'true' },
      signal: end.signal,
    });
    await transport.request(read);
    const drained = (async () => {
      for await (const _ of stream.body) expect.unreachable('nothing is sent');
    })();
    end.abort();
    await expect(drained).rejects.toThrow();
    expect(transport.counts()).toMatchObject({ watch: 1, get: 1 });
  });
});
