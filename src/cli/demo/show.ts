import { clip } from '../../api/limits.ts';
import { paint, printable, screenOf } from '../output.ts';
import type { DemoEvent } from './events.ts';
import { glyphsFor } from './glyphs.ts';
import { createLiveScreen, createPlainScreen } from './live.ts';
import type { NextCommand } from './options.ts';
import type { Audience } from './performance.ts';
import { type Look, lineWidth, seconds } from './rows.ts';
import { createTimeline } from './timeline.ts';

/** One way of showing the demo. */
export interface Show extends Omit<Audience, 'signal'> {
  readonly onTraffic: NonNullable<Audience['onTraffic']>;
  close(): void;
}

type Totals = { readonly requests: number; readonly failed: number };

/** One JSON object a line. */
export function createJsonShow(stream: NodeJS.WritableStream): Show {
  return {
    tell: (event) => {
      stream.write(`${JSON.stringify(event)}\n`);
    },
    onTraffic: () => undefined,
    close: () => undefined,
  };
}

/** The timeline; with a live last line where the stream is a terminal that can redraw. */
export function createTextShow(
  stream: NodeJS.WriteStream,
  env: Readonly<Record<string, string | undefined>>,
  commands: readonly NextCommand[],
): Show {
  const look: Look = { screen: screenOf(stream, env), glyphs: glyphsFor(env) };
  const timeline = createTimeline(look, commands);
  const startedMs = performance.now();
  let totals: (() => Totals) | undefined;
  let ended = false;
  const liveLine = () =>
    ended ? '' : composeLiveLine(look, performance.now() - startedMs, timeline.now(), totals?.());
  const canRedraw = stream.isTTY === true && env.TERM !== 'dumb';
  const screen = canRedraw ? createLiveScreen(stream, liveLine) : createPlainScreen(stream);
  return {
    tell(event: DemoEvent) {
      ended = event.type === 'ended';
      screen.print(timeline.lines(event));
    },
    onTraffic(read) {
      totals = read;
    },
    close: screen.close,
  };
}

/** Spinner, time, what is going on, and on the right how the requests fare. */
function composeLiveLine(look: Look, elapsedMs: number, now: string, totals: Totals | undefined): string {
  const { screen, glyphs } = look;
  const spinner = glyphs.spinner[Math.floor(elapsedMs / 100) % glyphs.spinner.length] ?? '';
  const right = totals ? `${totals.failed} of ${totals.requests.toLocaleString('en')} failed` : '';
  // One column stays free: a full line would wrap on some terminals.
  const width = Math.min(lineWidth(screen), screen.columns) - 1;
  const left = `${spinner}${seconds(elapsedMs).padStart(7)}  `;
  const room = Math.max(0, width - left.length - right.length - 2);
  const middle = clip(printable(now), room).padEnd(room);
  return `${paint(screen, 'quiet', left)}${middle}  ${paint(screen, totals?.failed ? 'bad' : 'good', right)}`;
}
