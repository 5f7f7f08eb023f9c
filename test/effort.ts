/**
 * Begins to measure what the code that follows takes of the processor; the returned function gives it as a multiple of a fixed piece of work, some ten
 * milliseconds of a usual machine. Both are measured in this process: a slow or busy machine gives the same number.
 */
export function measureEffort(): () => number {
  const started = process.cpuUsage();
  return () => {
    const { user } = process.cpuUsage(started);
    unit ??= timeOfUnit();
    return user / unit;
  };
}

/** Microseconds, measured once for each process. */
let unit: number | undefined;

/** Of the slowest of three, as the compiler is not done with it in the first. */
function timeOfUnit(): number {
  const times = [1, 2, 3].map(() => {
    const started = process.cpuUsage();
    const keys = Array.from({ length: 12_000 }, (_, index) => `${(index * 7_919) % 12_000}-${index}`);
    const sorted = JSON.parse(JSON.stringify(keys.sort())) as string[];
    if (sorted.filter((key) => /^1.*-\d+9$/.test(key)).length === 0) throw new Error('no key matches');
    return process.cpuUsage(started).user;
  });
  return Math.max(...times);
}
