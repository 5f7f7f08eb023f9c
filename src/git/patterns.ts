/** Whether a list of patterns with `*`, `?` and `!` matches a text, as OpenSSH matches hosts and principals (ssh_config(5), PATTERNS). */
export function isListed(patterns: readonly string[], text: string): boolean {
  if (patterns.some((pattern) => pattern.startsWith('!') && matches(pattern.slice(1), text))) return false;
  return patterns.some((pattern) => !pattern.startsWith('!') && matches(pattern, text));
}

/** Without regular expressions made of the pattern: one with many stars costs at most its length times that of the text. */
function matches(pattern: string, text: string): boolean {
  let [at, from] = [0, 0];
  let star = -1;
  let after = 0;
  while (at < text.length) {
    const wanted = pattern[from];
    if (wanted === '*') {
      [star, after] = [from, at];
      from += 1;
    } else if (wanted === '?' || (wanted !== undefined && wanted === text[at])) {
      from += 1;
      at += 1;
    } else if (star >= 0) {
      // The last star takes one character more.
      after += 1;
      [from, at] = [star + 1, after];
    } else return false;
  }
  while (pattern[from] === '*') from += 1;
  return from === pattern.length;
}
