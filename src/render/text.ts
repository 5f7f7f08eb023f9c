/** A file's characters, or the first thing that is wrong with them. */
export type TextResult = { text: string; problem?: never } | { text?: never; problem: string; line: number };

/** Characters that YAML forbids, and line breaks that Kubernetes' reader and others see differently. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufffe\uffff]|\r(?!\n)/;

/** Bytes as text: UTF-8 only, a byte order mark dropped, Windows line ends kept, a line end added at the end. */
export function decodeText(bytes: Uint8Array): TextResult {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { problem: 'is not UTF-8 text', line: lineOfBadByte(bytes) };
  }
  const bad = forbidden.exec(text);
  if (bad) {
    const code = (bad[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return {
      problem: `holds the character U+${code}; write it as an escape in double quotes`,
      line: lineFinder(text)(bad.index),
    };
  }
  // Files that were joined keep their byte order marks.
  text = text.replace(/^(---[^\n]*\n)\ufeff/gm, '$1');
  return { text: text === '' || text.endsWith('\n') ? text : `${text}\n` };
}

/** Finds the line of an offset, from 1. Made once for a text, then a search by halving. */
export function lineFinder(text: string): (offset: number) => number {
  const ends: number[] = [];
  for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1)) ends.push(index);
  return (offset) => 1 + firstNotBelow(ends, offset);
}

function firstNotBelow(sorted: readonly number[], bound: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? bound) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Line of the first byte that is no UTF-8, by halving: a prefix of valid text is valid, or cut inside a character. */
function lineOfBadByte(bytes: Uint8Array): number {
  let good = 0;
  let bad = bytes.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isPrefix(bytes.subarray(0, middle))) good = middle;
    else bad = middle;
  }
  return bytes.subarray(0, good).reduce((line, byte) => (byte === 10 ? line + 1 : line), 1);
}

function isPrefix(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
