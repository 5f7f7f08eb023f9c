/** Does the work once it is the tenant's turn. */
export type Turn = <T>(tenant: string, work: () => Promise<T>) => Promise<T>;

/** Lets so many works run at once; of those that wait, one of each tenant after the other. */
export function createTurns(most: number): Turn {
  const waiting = new Map<string, Array<() => void>>();
  let running = 0;

  function next(): void {
    const [tenant, queue] = waiting.entries().next().value ?? [];
    if (tenant === undefined) {
      running -= 1;
      return;
    }
    waiting.delete(tenant);
    const begin = queue?.shift();
    // Behind all others that wait now.
    if (queue && queue.length > 0) waiting.set(tenant, queue);
    begin?.();
  }

  return async (tenant, work) => {
    if (running < most) running += 1;
    else
      await new Promise<void>((resolve) => {
        const queue = waiting.get(tenant);
        if (queue) queue.push(resolve);
        else waiting.set(tenant, [resolve]);
      });
    try {
      return await work();
    } finally {
      next();
    }
  };
}
