import { shortCommit } from '../api/canary/summary.ts';
import { systemClock } from '../api/clock.ts';
import { formatOutputLine, screenOf } from '../terminal/output.ts';
import { canRedraw, createLiveScreen, createPlainScreen } from '../terminal/timeline/live-screen.ts';
import { createRolloutTimeline } from '../terminal/timeline/rollout-timeline.ts';
import {
  glyphsFor,
  headline,
  liveLine,
  row,
  type TextStyle,
  wrapAfterLabel,
} from '../terminal/timeline/rows.ts';
import { type CliCommand, untilInterrupted, withConnection } from './command.ts';
import { outputOption, withPlace } from './flags.ts';
import { nameIn, type ObjectFlags } from './requests/request.ts';
import { type WatchEvent, watchOne } from './watch-canary.ts';

/** One way of showing it. */
interface WatchOutput {
  report(event: WatchEvent): void;
  close(): void;
}

/** `holdfast watch`: the timeline of one Canary, until it is interrupted. */
export const watchCommand: CliCommand = {
  register(command, context) {
    command.description(
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
              await watchOne(connection, systemClock, options, output.report);
              return 1;
            }),
          );
        } finally {
          output.close();
        }
      });
  },
};

function jsonOutput(stream: NodeJS.WritableStream): WatchOutput {
  return {
    report: (event) => {
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
    timeColumns: timeOfDay(0).length,
  };
  const lines = createWatchTimeline(look);
  const draw = () => {
    const nowMs = Date.now();
    return liveLine(look, { elapsedMs: nowMs, time: timeOfDay(nowMs), now: lines.now(nowMs) });
  };
  const screen = canRedraw(stream, process.env) ? createLiveScreen(stream, draw) : createPlainScreen(stream);
  return { report: (event) => screen.print(lines.lines(event)), close: screen.close };
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
          return row(look, { time, label: 'connection', tone, lines: wrapAfterLabel(look, event.message) });
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

/** `14:03:21Z`: in UTC, as in Events, logs and the status, which it is read beside. */
function timeOfDay(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)}Z`;
}
