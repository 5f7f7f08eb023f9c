import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { askSession, follow, logIn, login, lost, upgradedTo } from './connection.ts';

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('sessionStorage', { getItem: () => 'token' });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A server whose streams say one thing at the start, and nothing more but what `beat` sends. */
function server() {
  const open = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const send = (text: string) => new TextEncoder().encode(text);
  let asked = 0;
  vi.stubGlobal('fetch', async () => {
    asked += 1;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        open.add(controller);
        controller.enqueue(send('event: fresh\ndata: {}\n\n'));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
  return {
    asked: () => asked,
    beat: () => {
      for (const controller of open) controller.enqueue(send(':\n\n'));
    },
  };
}

test('a connection over which nothing comes any more, not even heartbeats, is told and opened again', async () => {
  const { asked, beat } = server();
  const close = follow('view=fleet', () => undefined);
  for (let seconds = 0; seconds < 120; seconds += 15) {
    await vi.advanceTimersByTimeAsync(15_000);
    beat();
  }
  const whileItBeats = [asked(), lost.value];

  await vi.advanceTimersByTimeAsync(60_500);
  const told = lost.value;
  await vi.advanceTimersByTimeAsync(2_000);
  close();

  expect(whileItBeats).toEqual([1, '']);
  expect([told, asked()]).toEqual([expect.stringContaining('nothing'), 2]);
});

test('a stream that Holdfast ends after a while is opened anew without a word, and one that ends at once is told', async () => {
  const said: string[] = [];
  const fresh = new TextEncoder().encode('event: fresh\ndata: {}\n\n');
  let isServed = true;
  vi.stubGlobal('fetch', async () => {
    said.push(lost.value);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        if (isServed) controller.enqueue(fresh);
        controller.close();
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
  const close = follow('view=fleet', () => undefined);

  await vi.advanceTimersByTimeAsync(3_500);
  const whileServed = said.splice(0);
  isServed = false;
  await vi.advanceTimersByTimeAsync(8_000);
  close();

  expect(whileServed).toEqual(['', '', '', '']);
  expect(said.at(-1)).toBe('The connection to Holdfast ended.');
});

test('why a stream ended is a sentence, before the one about what is shown', async () => {
  const message = 'the API server cannot be asked what you may read at the moment';
  vi.stubGlobal('fetch', async () => new Response(`event: end\ndata: ${JSON.stringify({ message })}\n\n`));
  const close = follow('view=fleet', () => undefined);

  await vi.advanceTimersByTimeAsync(100);
  close();

  expect(lost.value).toBe('The API server cannot be asked what you may read at the moment.');
});

test('a token that no header can carry is refused, and another one can be given', async () => {
  const stored = new Map<string, string>();
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  });
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
    // As a browser does.
    const token = new Headers(init.headers).get('x-holdfast-token');
    return token === 'good'
      ? new Response('{"user": "alice"}')
      : new Response('{"message": "Paste a token."}', { status: 401 });
  });

  await logIn('“good”');
  const refused = login.value;
  await askSession();
  const afterReload = login.value;
  await logIn(' good\n');

  expect(refused).toEqual({ kind: 'loggedOut', message: expect.stringContaining('no token') });
  expect(afterReload.kind).toBe('loggedOut');
  expect(login.value.kind).toBe('loggedIn');
});

test('a token that has expired gives way to the login of a proxy', async () => {
  const stored = new Map([['holdfast-token', 'expired']]);
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    removeItem: (key: string) => stored.delete(key),
  });
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) =>
    new Headers(init.headers).has('x-holdfast-token')
      ? new Response('{"message": "Paste a token."}', { status: 401 })
      : new Response('{"user": "eve"}'),
  );

  await askSession();

  expect(login.value).toEqual({ kind: 'loggedIn', session: { user: 'eve' } });
});

test('a login that ended while the connection was lost is asked for anew, and nothing is said to be tried again', async () => {
  const answers = [
    () => Promise.reject(new TypeError('Failed to fetch')),
    () => Promise.resolve(new Response('{"message": "Paste a token."}', { status: 401 })),
  ];
  vi.stubGlobal('fetch', async () => (answers.shift() ?? (() => Promise.reject(new TypeError())))());
  const close = follow('view=fleet', () => undefined);

  await vi.advanceTimersByTimeAsync(500);
  const whileLost = lost.value;
  await vi.advanceTimersByTimeAsync(2_000);
  close();

  expect(whileLost).toBe('Holdfast does not answer.');
  expect(login.value).toEqual({ kind: 'loggedOut', message: 'Paste a token.' });
  expect(lost.value).toBe('');
});

test('a page that is open while Holdfast is upgraded says that it is of another version, also after a new login', async () => {
  let version = '1.0.0';
  const headers = () => ({ 'x-holdfast-version': version });
  const session = () => JSON.stringify({ user: 'alice', version, clusterName: 'oslo' });
  vi.stubGlobal('fetch', async () => new Response(session(), { headers: headers() }));
  await askSession();
  const before = upgradedTo.value;

  version = '1.1.0';
  const close = follow('view=fleet', () => undefined);
  await vi.advanceTimersByTimeAsync(0);
  close();
  const atOnce = upgradedTo.value;
  await askSession();

  expect([before, atOnce, upgradedTo.value]).toEqual(['', '1.1.0', '1.1.0']);
});
