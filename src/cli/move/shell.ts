/**
 * A command for a person to run. Names of files and objects come from outside: each word stays one word, whatever is in it, and does nothing else.
 * Pure.
 */
export function shellLine(...words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
