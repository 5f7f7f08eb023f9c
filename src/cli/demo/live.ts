/** Prints lines for good, and keeps one line below them up to date. */
export interface LiveScreen {
  print(lines: readonly string[]): void;
  /** Takes the live line away and shows the cursor again. */
  close(): void;
}

const redrawMs = 100;
const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';
const clearLine = '\r\u001b[2K';

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
