import { shorten } from '../../src/api/text.ts';
import { paint, printable, screenOf } from '../../src/terminal/output.ts';
import type { DemoListener } from './context.ts';
import type { DemoEvent } from './events.ts';
import type { NextCommand } from './options.ts';
import { createTimeline } from './timeline.ts';
import { glyphsFor, lineWidth, seconds, type TextStyle } from './timeline-rows.ts';

/** One way of showing the demo. */
interface DemoOutput extends Omit<DemoListener, 'signal'> {
  readonly onTraffic: NonNullable<DemoListener['onTraffic']>;
  close(): void;
}

type Totals = { readonly requests: number; readonly failed: number };

/** One JSON object a line. */
export function createJsonOutput(stream: NodeJS.WritableStream): DemoOutput {
  return {
    tell: (event) => {
      stream.write(`${JSON.stringify(event)}\n`);
    },
    onTraffic: () => undefined,
    close: () => undefined,
  };
}

/** The timeline; with a live last line where the stream is a terminal that can redraw. */
export function createTextOutput(
  stream: NodeJS.WriteStream,
  env: Readonly<Record<string, string | undefined>>,
  commands: readonly NextCommand[],
): DemoOutput {
  const look: TextStyle = { screen: screenOf(stream, env), glyphs: glyphsFor(env) };
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
function composeLiveLine(
  look: TextStyle,
  elapsedMs: number,
  now: string,
  totals: Totals | undefined,
): string {
  const { screen, glyphs } = look;
  const spinner = glyphs.spinner[Math.floor(elapsedMs / 100) % glyphs.spinner.length] ?? '';
  const right = totals ? `${totals.failed} of ${totals.requests.toLocaleString('en')} failed` : '';
  // One column stays free: a full line would wrap on some terminals.
  const width = Math.min(lineWidth(screen), screen.columns) - 1;
  const left = `${spinner}${seconds(elapsedMs).padStart(7)}  `;
  const room = Math.max(0, width - left.length - right.length - 2);
  const middle = shorten(printable(now), room).padEnd(room);
  return `${paint(screen, 'quiet', left)}${middle}  ${paint(screen, totals?.failed ? 'bad' : 'good', right)}`;
}

/** Prints lines for good, and keeps one line below them up to date. */
interface LiveScreen {
  print(lines: readonly string[]): void;
  /** Takes the live line away and shows the cursor again. */
  close(): void;
}

const redrawMs = 100;
const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';
const clearLine = '\r\u001b[2K';

/** Lines alone, for files and pipes. */
function createPlainScreen(stream: NodeJS.WritableStream): LiveScreen {
  return {
    print(lines) {
      for (const line of lines) stream.write(`${line}\n`);
    },
    close: () => undefined,
  };
}

/** For terminals: `liveLine` is drawn ten times a second; it must fit the line. */
function createLiveScreen(stream: NodeJS.WritableStream, liveLine: () => string): LiveScreen {
  stream.write(hideCursor);
  const draw = () => {
    stream.write(`${clearLine}${liveLine()}`);
  };
  const timer = setInterval(draw, redrawMs);
  return {
    print(lines) {
      if (lines.length === 0) return;
      stream.write(`${clearLine}${lines.join('\n')}\n`);
      draw();
    },
    close() {
      clearInterval(timer);
      stream.write(`${clearLine}${showCursor}`);
    },
  };
}
