/** Limits how much happens at a time under one name, so that a slow host cannot take all sockets, nor one namespace the processor (threat row 7). */
export interface Slots {
  /** Waits for a free slot; the result gives it back (calling it twice is harmless). Rejects with the signal's reason. */
  acquire(name: string, signal?: AbortSignal): Promise<() => void>;
}

interface Line {
  active: number;
  readonly waiting: Array<() => void>;
}

/** What somebody of a namespace holds of what all share. */
interface Holding {
  readonly namespace: string;
  readonly bytes: number;
}

/** What one namespace holds, where all hold more than there is and it more than its share; undefined while it may hold that. */
export function beyondShare(
  all: readonly Holding[],
  namespace: string,
  roomBytes: number,
): number | undefined {
  const bytesOf = (some: readonly Holding[]) => some.reduce((sum, { bytes }) => sum + bytes, 0);
  const own = bytesOf(all.filter((one) => one.namespace === namespace));
  const namespaces = new Set(all.map((one) => one.namespace)).size;
  return bytesOf(all) > roomBytes && own > roomBytes / namespaces ? own : undefined;
}

/** A size for people, rounded up: `12 MiB`. */
export function inMebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_048_576)} MiB`;
}

/** Slots for any number of names, `perName` each, first come first served. */
export function createSlots(perName: number): Slots {
  const lines = new Map<string, Line>();

  function release(name: string, line: Line): void {
    const next = line.waiting.shift();
    if (next) {
      next();
      return;
    }
    line.active -= 1;
    if (line.active === 0) lines.delete(name);
  }

  return {
    async acquire(name, signal) {
      signal?.throwIfAborted();
      const line = lines.get(name) ?? { active: 0, waiting: [] };
      lines.set(name, line);
      if (line.active < perName) line.active += 1;
      else await turn(line, signal);
      let released = false;
      return () => {
        if (released) return;
        released = true;
        release(name, line);
      };
    },
  };
}

/** Resolves when a slot was handed over; a waiter that gives up leaves the queue. */
function turn(line: Line, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    function granted(): void {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }
    function aborted(): void {
      line.waiting.splice(line.waiting.indexOf(granted), 1);
      reject(signal?.reason);
    }
    signal?.addEventListener('abort', aborted, { once: true });
    line.waiting.push(granted);
  });
}
