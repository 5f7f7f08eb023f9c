import type { CanaryStatus } from '../api/canary/status.ts';
import { canaryStatus, shortCommit } from '../api/canary/summary.ts';
import { type Clock, systemClock } from '../api/clock.ts';
import { apiVersionOf } from '../api/kinds/kinds.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { CacheHandle } from '../cluster/caches/caches.ts';
import type { Connection } from '../server/connection.ts';
import { screenOf } from '../terminal/output.ts';
import { formatOutputLine } from '../terminal/schemas/output-kinds.ts';
import { canRedraw, createLiveScreen, createPlainScreen } from '../terminal/timeline/live-screen.ts';
import { newsOf, type RolloutNews } from '../terminal/timeline/news.ts';
import { createRolloutTimeline } from '../terminal/timeline/rollout-timeline.ts';
import {
  besideLabel,
  glyphsFor,
  headline,
  liveLine,
  row,
  type TextStyle,
} from '../terminal/timeline/rows.ts';
import { type CliCommand, untilInterrupted, withConnection } from './command.ts';
import { outputOption } from './flags.ts';
import { nameIn, type ObjectFlags, readOne, withPlace } from './requests/request.ts';
import { commitSubject } from './status/rows.ts';

/** A release began, or the watch did while this one was the newest. */
interface ReleaseSeen {
  readonly type: 'release';
  readonly commit: string;
  readonly subject: string;
}

/** Whether changes arrive; when they do not, why. */
interface Reached {
  readonly type: 'connection';
  readonly ok: boolean;
  readonly message: string;
}

/** What `holdfast watch -o json` prints, one object a line. */
export type WatchEvent = { readonly time: string; readonly canary: string } & (
  | ReleaseSeen
  | Reached
  | RolloutNews
  | { readonly type: 'deleted' }
);

type WatchBody = ReleaseSeen | Reached | RolloutNews | { readonly type: 'deleted' };

/** One way of showing it. */
interface WatchOutput {
  tell(event: WatchEvent): void;
  close(): void;
}

/** `holdfast watch`: the timeline of one Canary, until it is interrupted. */
export const watchCommand: CliCommand = {
  register(program, context) {
    const command = program
      .command('watch')
      .summary('show the rollouts of a Canary as they happen')
      .description(
        'show steps, weights, checks and states of a Canary as they change, until you press Ctrl-C',
      );
    withPlace(command.argument('<canary>', 'NAME or canary/NAME'))
      .addOption(outputOption('text', ['text', 'json']))
      .action(async (subject: string, flags: ObjectFlags) => {
        const output = flags.output === 'json' ? jsonOutput(process.stdout) : textOutput(process.stdout);
        try {
          await untilInterrupted(context, (signal) =>
            withConnection(flags, context, async (connection) => {
              const namespace = flags.namespace ?? connection.access.namespace;
              const options = { namespace, name: nameIn(subject, 'Canary'), signal };
              await watchOne(connection, systemClock, options, output.tell);
              return 1;
            }),
          );
        } finally {
          output.close();
        }
      });
  },
};

/** What is watched, and until when. */
interface WatchOptions {
  readonly namespace: string;
  readonly name: string;
  readonly signal: AbortSignal;
}

/** So long may the API server be silent before that is told. */
const unreachedMs = 3_000;
const lookMs = 1_000;

/**
 * Tells what is news about one Canary, what is known already first. Resolves when it was deleted, rejects with the signal's reason when
 * that aborts. Throws ApiError and InputError for a Canary that cannot be read at the beginning.
 */
export async function watchOne(
  { client, caches }: Pick<Connection, 'client' | 'caches'>,
  clock: Clock,
  { namespace, name, signal }: WatchOptions,
  tell: (event: WatchEvent) => void,
): Promise<void> {
  signal.throwIfAborted();
  // A cache would wait for ever for what is not there or may not be read.
  await readOne(client, 'Canary', { namespace, name });
  const handle = caches.ensure({ apiVersion: apiVersionOf('Canary'), kind: 'Canary', namespace, name });
  const say = (body: WatchBody) =>
    tell({ time: new Date(clock.nowMs()).toISOString(), canary: `${namespace}/${name}`, ...body });
  const stopLooking = tellOfSilence(clock, handle, say);
  let before: CanaryStatus | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      handle.store.subscribe((type, object) => {
        if (type === 'deleted') {
          say({ type: 'deleted' });
          return resolve();
        }
        const after = canaryStatus(object);
        for (const body of changes(before, object)) say(body);
        before = after;
      });
    });
  } finally {
    stopLooking();
    await handle.release();
  }
}

function changes(before: CanaryStatus | undefined, object: KubernetesObject): WatchBody[] {
  const after = canaryStatus(object);
  const commit = after.run?.commit ?? after.lastAppliedCommit ?? '';
  const isOther = before === undefined || (after.run && after.run.digest !== before.run?.digest);
  const release = { type: 'release' as const, commit, subject: commitSubject(object, commit) ?? '' };
  const { targetRef } = object.spec as { targetRef?: { name?: string } };
  return [...(isOther ? [release] : []), ...newsOf(before ?? {}, after, targetRef?.name ?? '')];
}

/** Looks once a second whether the watch hears from the API server, and says when it does not for three, or does again. Returns how to stop. */
export function tellOfSilence(
  clock: Clock,
  handle: Pick<CacheHandle, 'health'>,
  say: (body: Reached) => void,
): () => void {
  let failingSinceMs: number | undefined;
  let told = false;
  let cancel = () => {};
  const look = () => {
    const { failures, lastError } = handle.health();
    const nowMs = clock.nowMs();
    if (failures === 0) {
      if (told) say({ type: 'connection', ok: true, message: 'the API server answers again' });
      failingSinceMs = undefined;
      told = false;
    } else {
      failingSinceMs ??= nowMs;
      if (!told && nowMs - failingSinceMs >= unreachedMs) {
        say({ type: 'connection', ok: false, message: `no changes arrive: ${lastError}` });
        told = true;
      }
    }
    cancel = clock.after(lookMs, look);
  };
  look();
  return () => cancel();
}

function jsonOutput(stream: NodeJS.WritableStream): WatchOutput {
  return {
    tell: (event) => {
      stream.write(formatOutputLine('WatchEvent', event));
    },
    close: () => undefined,
  };
}

/** The demo's timeline, with the time of day; a live last line where the stream is a terminal that can redraw. */
function textOutput(stream: NodeJS.WriteStream): WatchOutput {
  const look: TextStyle = {
    screen: screenOf(stream, process.env),
    glyphs: glyphsFor(process.env),
    timeColumns: 8,
  };
  const lines = createWatchTimeline(look);
  const draw = () => {
    const nowMs = Date.now();
    return liveLine(look, { elapsedMs: nowMs, time: timeOfDay(nowMs), now: lines.now(nowMs) });
  };
  const screen = canRedraw(stream, process.env) ? createLiveScreen(stream, draw) : createPlainScreen(stream);
  return { tell: (event) => screen.print(lines.lines(event)), close: screen.close };
}

/** Lines for people out of the events of one Canary. */
export function createWatchTimeline(look: TextStyle): {
  lines(event: WatchEvent): string[];
  now(nowMs: number): string;
} {
  const rollout = createRolloutTimeline(look, {
    plain: (message) => message,
    releaseOf: (commit) => shortCommit(commit) || 'without a commit',
  });
  return {
    lines(event) {
      const time = timeOfDay(Date.parse(event.time));
      switch (event.type) {
        case 'release': {
          rollout.begin();
          const title = `${event.canary}  ${event.subject || 'a release without a subject'}`;
          return ['', ...headline(look, { title, commit: event.commit })];
        }
        case 'connection': {
          const tone = event.ok ? 'good' : 'bad';
          return row(look, { time, label: 'connection', tone, lines: besideLabel(look, event.message) });
        }
        case 'deleted':
          return row(look, {
            time,
            label: 'deleted',
            tone: 'bad',
            lines: ['the Canary does not exist any more'],
          });
        default:
          return rollout.lines(event, time);
      }
    },
    now: rollout.now,
  };
}

/** `14:03:21`, in the time zone of the machine. */
function timeOfDay(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB');
}
