/** `spec.ignore` of a Source: paths left out, in the syntax of .gitignore. */

interface Rule {
  readonly pattern: RegExp;
  readonly keeps: boolean;
}

/** True for paths (relative to the Source's folder, with `/`) that the rules leave out; the last rule that fits decides. */
export function ignoreRules(lines: readonly string[]): (path: string) => boolean {
  const rules = lines.flatMap(ruleOf);
  return (path) => {
    const fitting = rules.findLast(({ pattern }) => pattern.test(path));
    return fitting !== undefined && !fitting.keeps;
  };
}

function ruleOf(line: string): Rule[] {
  const text = line.trimEnd();
  if (text === '' || text.startsWith('#')) return [];
  const keeps = text.startsWith('!');
  const glob = text.slice(keeps ? 1 : 0).replace(/^\\/, '');
  const folderOnly = glob.endsWith('/');
  const body = glob.replace(/\/$/, '');
  // A slash inside ties the pattern to the Source's folder; without one it fits at any depth.
  const anchored = body.includes('/');
  const start = anchored ? '^' : '^(?:.*/)?';
  const end = folderOnly ? '/' : '(?:/|$)';
  return [{ keeps, pattern: new RegExp(`${start}${expressionOf(body.replace(/^\//, ''))}${end}`) }];
}

function expressionOf(glob: string): string {
  return glob.replace(/\*\*\/|\/\*\*|\*+|\?|[.+^${}()|[\]\\]/g, (token) => {
    if (token === '**/') return '(?:.*/)?';
    if (token === '/**') return '/.*';
    if (token.startsWith('*')) return '[^/]*';
    return token === '?' ? '[^/]' : `\\${token}`;
  });
}
