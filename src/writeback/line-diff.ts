/** Lines `start` to `end` (exclusive) of the old text became `lines`, which begin at `newStart` of the new one. */
export interface Hunk {
  readonly start: number;
  readonly end: number;
  readonly newStart: number;
  readonly lines: readonly string[];
}

/** A larger middle (about 2,000 lines against 2,000) counts as one change: it is then undone whole or not at all. */
const MAX_CELLS = 4_000_000;

/** The lines of a text, each with its line end. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** What changed from one text to the other, in order; hunks are separated by at least one equal line. */
export function diffLines(before: readonly string[], after: readonly string[]): Hunk[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const room = Math.min(before.length, after.length) - head;
  while (tail < room && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const old = before.slice(head, before.length - tail);
  const now = after.slice(head, after.length - tail);
  if (old.length === 0 && now.length === 0) return [];
  const pairs = old.length > 0 && now.length > 0 ? equalPairs(old, now) : [];
  return hunksBetween(old, now, pairs).map((hunk) => ({
    ...hunk,
    start: hunk.start + head,
    end: hunk.end + head,
    newStart: hunk.newStart + head,
  }));
}

type Pair = readonly [old: number, now: number];

function hunksBetween(old: readonly string[], now: readonly string[], pairs: readonly Pair[]): Hunk[] {
  const hunks: Hunk[] = [];
  let [at, newAt] = [0, 0];
  for (const [next, newNext] of [...pairs, [old.length, now.length] as const]) {
    if (next > at || newNext > newAt)
      hunks.push({ start: at, end: next, newStart: newAt, lines: now.slice(newAt, newNext) });
    [at, newAt] = [next + 1, newNext + 1];
  }
  return hunks;
}

/** Positions of lines that both have, as many as possible and in order; none when that would be too much to look for. */
function equalPairs(old: readonly string[], now: readonly string[]): Pair[] {
  const width = now.length + 1;
  if ((old.length + 1) * width > MAX_CELLS) return [];
  // common[i, j]: equal lines in old from i and now from j.
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: Pair[] = [];
  for (let i = 0, j = 0; i < old.length && j < now.length; ) {
    if (old[i] === now[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return pairs;
}
