const units: ReadonlyArray<readonly [seconds: number, name: string]> = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** `12 s ago`, `in 3 min`; empty without a valid time. */
export function relative(time: string | undefined, nowMs: number): string {
  const atMs = Date.parse(time ?? '');
  if (Number.isNaN(atMs)) return '';
  const seconds = Math.round((atMs - nowMs) / 1000);
  const [size, name] = units.find(([least]) => Math.abs(seconds) >= least) ?? [1, 's'];
  const count = Math.floor(Math.abs(seconds) / size);
  if (count === 0) return 'now';
  return seconds < 0 ? `${count} ${name} ago` : `in ${count} ${name}`;
}

/** A number as people read it: five digits that matter. */
export function numberText(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));
}
