/** Commands for a person to run. Pure. */
import type { MoveFacts } from './facts.ts';

/** A command. Names of files and objects come from outside: each word stays one word, whatever is in it, and does nothing else. */
export function shellLine(...words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}

/** Applies a file, where nobody else does. */
export function applyCommands(facts: MoveFacts | undefined, file: string | undefined): string[] {
  return facts && !facts.parent && file ? [shellLine('kubectl', 'apply', '-f', file)] : [];
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
