import { clip, limits } from '../../api/limits.ts';

const shownLines = 5;

/** The first few of many lines, as one line that fits a condition. */
export function listed(lines: readonly string[]): string {
  const shown = lines.slice(0, shownLines).join('; ');
  const left = lines.length - shownLines;
  return clip(left > 0 ? `${shown}; and ${left} more` : shown, limits.conditionMessageCharacters);
}
