/** Limits how many requests one host serves at a time, so that a slow host cannot take all sockets (threat row 7). */
export interface HostSlots {
  /** Waits for a free slot; the result gives it back (calling it twice is harmless). Rejects with the signal's reason. */
  acquire(host: string, signal: AbortSignal): Promise<() => void>;
}

interface Host {
  active: number;
  readonly waiting: Array<() => void>;
}

/** Slots for any number of hosts, `perHost` each, first come first served. */
export function createHostSlots(perHost: number): HostSlots {
  const hosts = new Map<string, Host>();

  function release(name: string, host: Host): void {
    const next = host.waiting.shift();
    if (next) {
      next();
      return;
    }
    host.active -= 1;
    if (host.active === 0) hosts.delete(name);
  }

  return {
    async acquire(name, signal) {
      signal.throwIfAborted();
      const host = hosts.get(name) ?? { active: 0, waiting: [] };
      hosts.set(name, host);
      if (host.active < perHost) host.active += 1;
      else await turn(host, signal);
      let released = false;
      return () => {
        if (released) return;
        released = true;
        release(name, host);
      };
    },
  };
}

/** Resolves when a slot was handed over; a waiter that gives up leaves the queue. */
function turn(host: Host, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    function granted(): void {
      signal.removeEventListener('abort', aborted);
      resolve();
    }
    function aborted(): void {
      host.waiting.splice(host.waiting.indexOf(granted), 1);
      reject(signal.reason);
    }
    signal.addEventListener('abort', aborted, { once: true });
    host.waiting.push(granted);
  });
}
