import type { ServerResponse } from 'node:http';
import { limits } from '../../api/limits.ts';

/** What one page shows: events since the last look, none when nothing changed. */
export interface Feed {
  /** Called at most once every `tickMs`, only while the reader keeps up. Throws StreamEnd when the stream must end. */
  next(): Promise<ReadonlyArray<{ readonly event: string; readonly data: unknown }>>;
  close(): void;
}

/** Ends the stream; the page shows the message. */
export class StreamEnd extends Error {
  override readonly name = 'StreamEnd';
}

/** Server-sent events for as many as the limits allow. */
export interface Streams {
  /** False: there is no place for one more now. Who has most places gives one to others, once all are taken. */
  makePlace(user: string): boolean;
  open(user: string, feed: Feed, response: ServerResponse): void;
  close(): void;
}

/** Why there is no place. */
export const tooManyPages = 'too many pages of the dashboard are open; close some';

const tickMs = 500;
/** How often a comment is sent, so that proxies do not end the stream and closed readers are noticed. */
const heartbeatMs = 15_000;
/** A reader that takes nothing for this long is disconnected. */
const stuckMs = 60_000;
/** The page opens its stream anew after this time: a login proxy looks at requests, and a stream would outlast any login. */
const longestMs = 5 * 60_000;

interface Stream {
  readonly user: string;
  readonly feed: Feed;
  readonly response: ServerResponse;
  readonly openedMs: number;
  writtenMs: number;
  drainedMs: number;
  isBusy: boolean;
  /** Nothing may be written any more, although what was may not have been taken yet. */
  hasEnded: boolean;
}

/** Nothing runs without readers. */
export function createStreams(
  clock: { nowMs(): number; after(delayMs: number, act: () => void): () => void },
  onError: (error: unknown) => void,
): Streams {
  const open = new Set<Stream>();
  let cancel: (() => void) | undefined;

  function tick(): void {
    for (const stream of open) void serve(stream);
    cancel = open.size > 0 ? clock.after(tickMs, tick) : undefined;
  }

  async function serve(stream: Stream): Promise<void> {
    const { feed, response } = stream;
    if (isStuck(stream)) return void response.destroy();
    if (stream.isBusy || stream.hasEnded || response.writableLength > limits.dashboardBufferedBytes) return;
    if (clock.nowMs() - stream.openedMs >= longestMs) return close(stream);
    stream.isBusy = true;
    try {
      for (const { event, data } of await feed.next()) write(stream, event, data);
      if (clock.nowMs() - stream.writtenMs > heartbeatMs) send(stream, ':\n\n');
    } catch (error) {
      end(stream, error);
    } finally {
      stream.isBusy = false;
    }
  }

  function end(stream: Stream, error: unknown): void {
    const isForeseen = error instanceof StreamEnd;
    if (!isForeseen) onError(error);
    const message = isForeseen ? error.message : 'the dashboard failed; see the log of Holdfast';
    write(stream, 'end', { message });
    close(stream);
  }

  function close(stream: Stream): void {
    stream.hasEnded = true;
    stream.response.end();
  }

  function isStuck(stream: Stream): boolean {
    if (stream.response.writableLength === 0) stream.drainedMs = clock.nowMs();
    return clock.nowMs() - stream.drainedMs > stuckMs;
  }

  function write(stream: Stream, event: string, data: unknown): void {
    send(stream, `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  function send(stream: Stream, text: string): void {
    // It may have ended while it was looked for what to send.
    if (stream.hasEnded) return;
    stream.response.write(text);
    stream.writtenMs = clock.nowMs();
  }

  return {
    makePlace(user) {
      const served = [...open].filter(({ hasEnded }) => !hasEnded);
      const own = served.filter((stream) => stream.user === user);
      if (own.length >= limits.dashboardStreamsPerPerson) return false;
      if (served.length < limits.dashboardStreams) return true;
      const all = byHolder(served);
      const most = [...all.values()].reduce((left, right) => (right.length > left.length ? right : left), []);
      if (most.length <= (all.get(holderOf(user))?.length ?? 0) + 1) return false;
      const [oldest] = most;
      if (!oldest) return false;
      end(oldest, new StreamEnd(tooManyPages));
      // One that takes nothing would stay beside those that it gave its place to.
      if (oldest.response.writableLength > 0) oldest.response.destroy();
      return true;
    },
    open(user, feed, response) {
      // It was left while it was asked who that is: no event says so any more.
      if (response.destroyed) return feed.close();
      const nowMs = clock.nowMs();
      const stream = {
        user,
        feed,
        response,
        openedMs: nowMs,
        writtenMs: nowMs,
        drainedMs: nowMs,
        isBusy: false,
        hasEnded: false,
      };
      open.add(stream);
      response.on('close', () => {
        open.delete(stream);
        feed.close();
      });
      void serve(stream);
      cancel ??= clock.after(tickMs, tick);
    },
    close() {
      cancel?.();
      for (const { response } of open) response.destroy();
    },
  };
}

/** A person, or the namespace of a service account: whoever may write one there makes any number of them. */
export function holderOf(user: string): string {
  return /^system:serviceaccount:[^:]+/.exec(user)?.[0] ?? user;
}

/** The oldest one of each first. */
function byHolder(streams: Iterable<Stream>): Map<string, Stream[]> {
  const found = new Map<string, Stream[]>();
  for (const stream of streams) {
    const holder = holderOf(stream.user);
    found.set(holder, [...(found.get(holder) ?? []), stream]);
  }
  return found;
}
