const units: ReadonlyArray<readonly [letter: string, seconds: number]> = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
];

/** A span of time in at most two units, as `3h12m` or `45s`. Negative ones count as none. */
export function formatSpan(ms: number): string {
  let seconds = Math.max(0, Math.round(ms / 1000));
  const parts: string[] = [];
  for (const [letter, size] of units) {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    if (count > 0) parts.push(`${count}${letter}`);
    // After the first unit one more is enough, and a zero there ends it.
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break;
  }
  return parts.join('') || '0s';
}

/** `3h12m ago`, `now` or `in 45s`; empty for a time that cannot be read. */
export function formatAge(time: string | undefined, nowMs: number): string {
  const ms = Date.parse(time ?? '');
  if (Number.isNaN(ms)) return '';
  // Half a second and less is how far clocks differ.
  if (Math.abs(ms - nowMs) < 500) return 'now';
  return ms > nowMs ? `in ${formatSpan(ms - nowMs)}` : `${formatSpan(nowMs - ms)} ago`;
}
