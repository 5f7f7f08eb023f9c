/** Limits how much happens at a time under one name, so that a slow host cannot take all sockets (threat row 7). */
interface Slots {
  /** Waits for a free slot; the result gives it back (calling it twice is harmless). Rejects with the signal's reason. */
  acquire(name: string, signal: AbortSignal): Promise<() => void>;
}

interface Line {
  active: number;
  readonly waiting: Array<() => void>;
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
      signal.throwIfAborted();
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

/** The slots that every outbound connection takes. */
export interface SlotTable {
  /** By tenant and host. */
  readonly hostSlots: Slots;
  /** By tenant. */
  readonly tenantSlots: Slots;
}

/** A slot of the host and one of the tenant, given back together. Waits at a host that hangs hold none of the tenant's slots for others. */
export async function acquireSlots(
  { hostSlots, tenantSlots }: SlotTable,
  tenant: string | undefined,
  host: string,
  signal: AbortSignal,
): Promise<() => void> {
  const releaseHost = await hostSlots.acquire(`${tenant ?? ''} ${host}`, signal);
  if (tenant === undefined) return releaseHost;
  try {
    const releaseTenant = await tenantSlots.acquire(tenant, signal);
    return () => {
      releaseTenant();
      releaseHost();
    };
  } catch (error) {
    releaseHost();
    throw error;
  }
}

/** Resolves when a slot was handed over; a waiter that gives up leaves the queue. */
function turn(line: Line, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    function granted(): void {
      signal.removeEventListener('abort', aborted);
      resolve();
    }
    function aborted(): void {
      line.waiting.splice(line.waiting.indexOf(granted), 1);
      reject(signal.reason);
    }
    signal.addEventListener('abort', aborted, { once: true });
    line.waiting.push(granted);
  });
}
