import { createPause } from '../../../api/clock.ts';
import { limits } from '../../../api/limits.ts';
import type { Tree } from '../../../render/tree.ts';
import { EngineError } from '../../failure.ts';

/** `spec.ignore` of a Source: paths left out, in the syntax of .gitignore. */
interface IgnoreRules {
  /**
   * Whether the rules leave out a path (relative to the Source's folder, with `/`); the last rule that fits decides. Awaits `pause` between rules.
   * Throws EngineError InvalidSpec when all paths together have taken too many steps.
   */
  ignores(path: string, pause: () => Promise<void>): Promise<boolean>;
}

/** What `spec.ignore` of a Source leaves out; paths are those from the repository's root. */
interface LeftOut {
  readonly folder: string;
  readonly rules?: readonly string[] | undefined;
  readonly signal: AbortSignal;
}

/** The files of a Source, and what of it could not be read, as far as its `spec.ignore` leaves them. Throws as IgnoreRules, and the signal's reason. */
export async function unignored<
  File extends { readonly path: string },
  Problem extends { readonly path: string },
>(
  { files, problems }: { readonly files: readonly File[]; readonly problems: readonly Problem[] },
  { folder, rules: lines = [], signal }: LeftOut,
): Promise<{ files: File[]; problems: Problem[] }> {
  const rules = ignoreRules(lines);
  const pause = createPause(signal);
  const isKept = async (path: string) =>
    !(await rules.ignores(folder ? path.slice(folder.length + 1) : path, pause));
  const left: { files: File[]; problems: Problem[] } = { files: [], problems: [] };
  for (const file of files) if (await isKept(file.path)) left.files.push(file);
  // A submodule, and a link, is a folder to the rules as well.
  for (const problem of problems) if (await isKept(`${problem.path}/`)) left.problems.push(problem);
  return left;
}

/** The tree of a Source whose whole folders are read without what its `spec.ignore` leaves out. A path that somebody names is read all the same. */
export function withoutIgnored(tree: Tree, leftOut: LeftOut): Tree {
  return {
    ...tree,
    async readAll(folder) {
      const read = await tree.readAll(folder);
      const files = [...read.files].map(([path, file]) => ({ path, file }));
      const left = await unignored({ files, problems: read.problems }, leftOut);
      return { files: new Map(left.files.map(({ path, file }) => [path, file])), problems: left.problems };
    },
  };
}

interface Rule {
  readonly tokens: readonly Token[];
  /** It fits what a folder of this name holds, and no file of this name. */
  readonly folderOnly: boolean;
  readonly keeps: boolean;
}

/** One character, or one of `[a-z]`; `*` and `?`; all that follows a slash; or any number of folders, also none. */
type Token = { readonly character: string } | CharacterClass | 'star' | 'one' | 'all' | 'folders';

interface CharacterClass {
  readonly isNegated: boolean;
  readonly ranges: ReadonlyArray<readonly [from: string, to: string]>;
}

/** Reads the rules. Patterns come from users: they are matched in steps that grow with path and pattern alone, never by a regular expression. */
export function ignoreRules(lines: readonly string[], steps: number = limits.ignoreSteps): IgnoreRules {
  const rules = lines.flatMap(ruleOf).reverse();
  let left = steps;
  return {
    async ignores(path, pause) {
      for (const { tokens, folderOnly, keeps } of rules) {
        await pause();
        const { fits, taken } = match(tokens, folderOnly, path);
        left -= taken;
        if (left < 0)
          throw new EngineError(
            'InvalidSpec',
            'spec.ignore takes too long on the files below spec.path; use fewer or simpler patterns',
          );
        if (fits) return !keeps;
      }
      return false;
    },
  };
}

/** Whether a pattern without a slash fits the name of a file or folder. */
export function fitsName(pattern: string, name: string): boolean {
  return match(tokensOf(pattern), false, name).fits;
}

function ruleOf(line: string): Rule[] {
  const text = line.trimEnd();
  if (text === '' || text.startsWith('#')) return [];
  const keeps = text.startsWith('!');
  const glob = text.slice(keeps ? 1 : 0);
  const folderOnly = glob.endsWith('/');
  const body = folderOnly ? glob.slice(0, -1) : glob;
  // A slash inside ties the pattern to the Source's folder; without one it fits at any depth.
  const start: Token[] = body.includes('/') ? [] : ['folders'];
  return [{ keeps, folderOnly, tokens: [...start, ...tokensOf(body.replace(/^\//, ''))] }];
}

const pieceOfGlob = /\/?\*\*\/|\/\*\*|\*+|\\.|\[[!^]?\]?[^\]]*\]|./gs;
const namedTokens = new Map<string, readonly Token[]>([
  ['**/', ['folders']],
  ['/**/', [{ character: '/' }, 'folders']],
  ['/**', [{ character: '/' }, 'all']],
  ['?', ['one']],
]);

function tokensOf(glob: string): Token[] {
  return (glob.match(pieceOfGlob) ?? []).flatMap((piece): readonly Token[] => {
    const named = namedTokens.get(piece);
    if (named) return named;
    if (piece.startsWith('*')) return ['star'];
    // A backslash takes the meaning of what follows.
    return piece.length > 2 ? [classOf(piece.slice(1, -1))] : [{ character: piece.slice(-1) }];
  });
}

function classOf(text: string): CharacterClass {
  const isNegated = /^[!^]/.test(text);
  const pieces = text.slice(isNegated ? 1 : 0).matchAll(/(.)-(.)|./gs);
  return { isNegated, ranges: [...pieces].map(([piece, from = piece, to = piece]) => [from, to]) };
}

/** Follows all ways through the pattern at once, one character of the path after the other. */
function match(
  tokens: readonly Token[],
  folderOnly: boolean,
  path: string,
): { fits: boolean; taken: number } {
  let taken = 0;
  let reached = new Set<number>();
  /** Reaches a token, and those behind it that may stand for nothing. */
  const reach = (set: Set<number>, index: number) => {
    for (let at = index; !set.has(at); at += 1) {
      set.add(at);
      const token = tokens[at];
      if (token !== 'star' && token !== 'all' && token !== 'folders') return;
    }
  };
  reach(reached, 0);
  for (let at = 0; at <= path.length && reached.size > 0; at += 1) {
    const character = path[at];
    const isEnd = character === '/' || (character === undefined && !folderOnly);
    if (isEnd && reached.has(tokens.length)) return { fits: true, taken };
    const next = new Set<number>();
    for (const index of reached)
      if (character !== undefined) follow(tokens[index], index, character, { next, reach });
    taken += reached.size;
    reached = next;
  }
  return { fits: false, taken };
}

function follow(
  token: Token | undefined,
  index: number,
  character: string,
  { next, reach }: { next: Set<number>; reach: (set: Set<number>, index: number) => void },
): void {
  if (token === undefined) return;
  const isSlash = character === '/';
  if (token === 'all') reach(next, index);
  else if (token === 'folders') {
    // It goes on only behind a slash.
    next.add(index);
    if (isSlash) reach(next, index + 1);
  } else if (token === 'star') {
    if (!isSlash) reach(next, index);
  } else if (token === 'one') {
    if (!isSlash) reach(next, index + 1);
  } else if (isOne(token, character)) reach(next, index + 1);
}

function isOne(token: { readonly character: string } | CharacterClass, character: string): boolean {
  if ('character' in token) return token.character === character;
  const isAmong = token.ranges.some(([from, to]) => from <= character && character <= to);
  return character !== '/' && isAmong !== token.isNegated;
}
