import { stripVTControlCharacters } from 'node:util';
import { counted, onScreen, type Screen, widthOf } from '../output.ts';

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

/** Whether a stream is a terminal on which lines can be drawn again. */
export function canRedraw(
  stream: { readonly isTTY?: boolean | undefined },
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return stream.isTTY === true && env.TERM !== 'dumb';
}

/** Lines alone, for files and pipes. */
export function createPlainScreen(stream: NodeJS.WritableStream): LiveScreen {
  return {
    print(lines) {
      for (const line of lines) stream.write(`${line}\n`);
    },
    close: () => undefined,
  };
}

/** For terminals: `liveLine` is drawn ten times a second; it must fit the line. */
export function createLiveScreen(stream: NodeJS.WritableStream, liveLine: () => string): LiveScreen {
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

const toTop = '\u001b[H';
const clearRestOfLine = '\u001b[K';
const clearBelow = '\u001b[J';
/** The page is drawn on the terminal's second screen, so that what was there before comes back. */
const enterPage = '\u001b[?1049h';
const leavePage = '\u001b[?1049l';

/** A page that is drawn over itself. Lines below the last row are left out; one that is longer than the terminal is wide takes several rows. */
interface LivePage {
  draw(lines: readonly string[]): void;
  close(): void;
}

/** For terminals. */
export function createLivePage(
  stream: NodeJS.WritableStream & {
    readonly rows?: number | undefined;
    readonly columns?: number | undefined;
  },
  screen: Pick<Screen, 'isAscii'> = {},
): LivePage {
  stream.write(enterPage + hideCursor);
  return {
    draw(lines) {
      const room = Math.max(5, stream.rows ?? 24) - 1;
      const shown = fitting(lines, room, stream.columns || 80);
      stream.write(`${toTop}${onScreen(screen, shown.join(''))}${clearBelow}`);
    },
    close() {
      stream.write(showCursor + leavePage);
    },
  };
}

/** The first lines that fit this many rows, each with its end. Behind a full row nothing is cleared: terminals would clear its last character. */
function fitting(lines: readonly string[], room: number, columns: number): string[] {
  const lengths = lines.map((line) => widthOf(stripVTControlCharacters(line)));
  const rows = lengths.map((length) => Math.max(1, Math.ceil(length / columns)));
  let used = rows.reduce((sum, count) => sum + count, 0);
  let count = lines.length;
  if (used > room) while (count > 0 && used > room - 1) used -= rows[--count] ?? 0;
  const shown = lines.slice(0, count).map((line, index) => {
    const length = lengths[index] ?? 0;
    return `${line}${length > 0 && length % columns === 0 ? '' : clearRestOfLine}\n`;
  });
  const left = lines.length - count;
  return left > 0 ? [...shown, `… ${counted(left, 'more line')}${clearRestOfLine}\n`] : shown;
}
