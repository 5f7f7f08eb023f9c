import { formatOutputLine, screenOf } from '../../src/terminal/output.ts';
import { canRedraw, createLiveScreen, createPlainScreen } from '../../src/terminal/timeline/live-screen.ts';
import { glyphsFor, liveLine, seconds, type TextStyle } from '../../src/terminal/timeline/rows.ts';
import type { DemoListener } from './context.ts';
import type { DemoEvent } from './events.ts';
import type { NextCommand } from './options.ts';
import { createTimeline } from './timeline.ts';

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
      stream.write(formatOutputLine('DemoEvent', event));
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
  const look: TextStyle = { screen: screenOf(stream, env), glyphs: glyphsFor(env), timeColumns: 7 };
  const timeline = createTimeline(look, commands);
  const startedMs = performance.now();
  let totals: (() => Totals) | undefined;
  let ended = false;
  const draw = () => {
    if (ended) return '';
    const elapsedMs = performance.now() - startedMs;
    const sampled = totals?.();
    const right = sampled ? `${sampled.failed} of ${sampled.requests.toLocaleString('en')} failed` : '';
    const rightTone = sampled?.failed ? 'bad' : 'good';
    return liveLine(look, { elapsedMs, time: seconds(elapsedMs), now: timeline.now(), right, rightTone });
  };
  const screen = canRedraw(stream, env) ? createLiveScreen(stream, draw) : createPlainScreen(stream);
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
