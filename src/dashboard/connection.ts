import { type Signal, signal } from '@preact/signals';
import type { Session } from './views.ts';

/** The key of the token in the storage of this tab. */
const tokenKey = 'holdfast-token';
const firstRetryMs = 1_000;
const longestRetryMs = 15_000;

/** Who is logged in; `unknown` before the server has answered, `loggedOut` when it requires a token. */
type Login =
  | { readonly kind: 'unknown'; readonly problem: string }
  | { readonly kind: 'loggedOut'; readonly message: string }
  | { readonly kind: 'loggedIn'; readonly session: Session };

/** Who is logged in. */
export const login: Signal<Login> = signal({ kind: 'unknown', problem: '' });

/** How far the clock of Holdfast's machine is ahead of this one: times are shown by that clock. */
export const clockAheadMs: Signal<number> = signal(0);

/** Why nothing new is coming; empty while the connection is open. */
export const lost: Signal<string> = signal('');

/** The version that answers now, where this page is of another one; else empty. */
export const upgradedTo: Signal<string> = signal('');
/** Of the program that answered first, which the page came from. */
let pageVersion: string | undefined;

/** Takes a token out of the address, where `holdfast demo` puts it, so that it stays in no history. */
export function takeTokenFromAddress(): void {
  const found = /^#token=([\w.~+/-]+=*)$/.exec(location.hash)?.[1];
  if (!found) return;
  sessionStorage.setItem(tokenKey, found);
  history.replaceState(null, '', location.pathname);
}

/** Logs in with a token, which is stored for this tab. What no header can carry is not: each request would fail, also after a reload. */
export async function logIn(text: string): Promise<void> {
  const token = text.trim();
  if (!/^[\x21-\x7e]+$/.test(token))
    return loggedOut('That is no token: it has characters that no token has.');
  sessionStorage.setItem(tokenKey, token);
  return askSession();
}

/** Forgets the token. */
export function logOut(): void {
  sessionStorage.removeItem(tokenKey);
  loggedOut('You are logged out.');
}

/** Nothing is shown or tried again from here on. */
function loggedOut(message: string): void {
  login.value = { kind: 'loggedOut', message };
  lost.value = '';
}

/** A login proxy answered in place of Holdfast. */
class LoginEnded extends Error {}

/**
 * Addresses are relative, so that the page works behind any path of a proxy. The first header is what other sites cannot send. Throws LoginEnded for a
 * redirect or a page: Holdfast answers with neither, and behind a login proxy that is what comes once a login has ended.
 */
async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const token = sessionStorage.getItem(tokenKey);
  const headers = { 'x-holdfast-page': '1', ...(token ? { 'x-holdfast-token': token } : {}) };
  const answer = await fetch(path, {
    ...init,
    redirect: 'manual',
    headers: { accept: 'application/json, text/event-stream', ...headers, ...init.headers },
  });
  const isPage = answer.status < 500 && answer.headers.get('content-type')?.startsWith('text/html');
  if (answer.type === 'opaqueredirect' || isPage) throw new LoginEnded();
  const aheadMs = Date.parse(answer.headers.get('date') ?? '') - Date.now();
  if (!Number.isNaN(aheadMs)) clockAheadMs.value = Math.abs(aheadMs) < leastClockDifferenceMs ? 0 : aheadMs;
  const version = answer.headers.get('x-holdfast-version');
  if (version) {
    pageVersion ??= version;
    upgradedTo.value = version === pageVersion ? '' : version;
  }
  return answer;
}

/** The header has whole seconds, and an answer takes time: a smaller difference is ignored. */
const leastClockDifferenceMs = 5_000;

function whyNoAnswer(error: unknown): string {
  return error instanceof LoginEnded
    ? 'A proxy answers in place of Holdfast: reload the page to log in again.'
    : 'Holdfast does not answer.';
}

/** Asks who is logged in. */
export async function askSession(): Promise<void> {
  try {
    const answer = await send('api/session');
    if (answer.ok) login.value = { kind: 'loggedIn', session: (await answer.json()) as Session };
    else if (answer.status !== 401) login.value = { kind: 'unknown', problem: await messageIn(answer) };
    else if (sessionStorage.getItem(tokenKey) === null) loggedOut(await messageIn(answer));
    else {
      // It may have expired; a login proxy may name somebody without it.
      sessionStorage.removeItem(tokenKey);
      await askSession();
    }
  } catch (error) {
    login.value = { kind: 'unknown', problem: whyNoAnswer(error) };
  }
}

/** What the server says is a part of one. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

async function messageIn(answer: Response): Promise<string> {
  const said = (await answer.json().catch(() => ({}))) as { message?: unknown };
  return typeof said.message === 'string' ? said.message : `Holdfast answered ${answer.status}.`;
}

/** Sends a request; returns the message when it was refused, undefined when it was accepted. */
export async function request(body: object): Promise<string | undefined> {
  try {
    const headers = { 'content-type': 'application/json' };
    const answer = await send('api/requests', { method: 'POST', headers, body: JSON.stringify(body) });
    return answer.ok ? undefined : await messageIn(answer);
  } catch (error) {
    if (error instanceof LoginEnded) return `No request was made. ${whyNoAnswer(error)}`;
    return 'Holdfast does not answer; look whether it was taken before asking again.';
  }
}

/** Reads a view's events until it is closed; a connection that ends is opened again, later each time. */
export function follow(query: string, onEvent: (event: string, data: unknown) => void): () => void {
  const closing = new AbortController();
  let retryMs = firstRetryMs;

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      const why = await readOnce();
      if (closing.signal.aborted || login.value.kind === 'loggedOut') return;
      // Holdfast ends each stream after some minutes. What ends before anything came is told.
      if (why !== undefined || retryMs > firstRetryMs)
        lost.value = sentence(why ?? 'The connection to Holdfast ended.');
      await new Promise((resolve) => setTimeout(resolve, retryMs));
      retryMs = Math.min(2 * retryMs, longestRetryMs);
    }
  }

  async function readOnce(): Promise<string | undefined> {
    try {
      const answer = await send(`api/stream?${query}`, { signal: closing.signal });
      if (!answer.ok || !answer.body) {
        const why = await messageIn(answer);
        if (answer.status === 401) loggedOut(why);
        return why;
      }
      lost.value = '';
      return await readEvents(answer.body, (event, data) => {
        retryMs = firstRetryMs;
        onEvent(event, data);
      });
    } catch (error) {
      return whyNoAnswer(error);
    }
  }

  void run();
  return () => closing.abort();
}

/** Holdfast sends something every 15 s: after this time the connection is dead, as one through a pod that is gone, and nobody says so. */
const silentMs = 60_000;

async function unlessSilent<T>(work: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), silentMs);
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** Until the stream ends, or is silent; the answer is what the server said last, where it ended it itself. */
async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: (event: string, data: unknown) => void,
): Promise<string | undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const read = await unlessSilent(reader.read());
    if (!read) {
      void reader.cancel();
      return 'Holdfast sends nothing any more.';
    }
    const { done, value } = read;
    if (done) return undefined;
    const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? [];
      if (event === 'end') return (JSON.parse(data) as { message: string }).message;
      if (event) onEvent(event, JSON.parse(data));
    }
  }
}
