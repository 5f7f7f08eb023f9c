import type { Argument, Command, Option } from 'commander';

/** What the word at the cursor is. */
type Wanted =
  | { readonly kind: 'command' }
  | { readonly kind: 'flag' }
  /** `position`: how many words came before it that are no flags. */
  | { readonly kind: 'argument'; readonly argument: Argument; readonly position: number }
  | { readonly kind: 'value'; readonly option: Option }
  | { readonly kind: 'nothing' };

/** A command line as far as it is typed. */
export interface TypedLine {
  /** The command that it names so far. */
  readonly command: Command;
  readonly wanted: Wanted;
  /** What is typed of the word at the cursor; of `--flag=value` the value. */
  readonly prefix: string;
  /** Words of the command that are no flags. */
  readonly words: readonly string[];
  /** Values of flags by their long name, the last one given; empty for one that takes none. */
  readonly flags: ReadonlyMap<string, string>;
}

/** Reads the words behind the name of the program, the last of which is the one at the cursor, as commander would read them. Pure. */
export function readTyped(program: Command, typed: readonly string[]): TypedLine {
  const current = typed.at(-1) ?? '';
  const read: WordsRead = {
    command: program,
    words: [],
    flags: new Map(),
    awaiting: undefined,
    isPastFlags: false,
  };
  for (const word of typed.slice(0, -1)) readWord(read, word);
  const { command, words, flags, awaiting } = read;
  const line = { command, words, flags };
  if (takesAsValue(read, current))
    return {
      ...line,
      wanted: awaiting ? { kind: 'value', option: awaiting } : { kind: 'nothing' },
      prefix: current,
    };
  if (!read.isPastFlags && current.startsWith('-')) return { ...line, ...flagAtCursor(command, current) };
  return { ...line, wanted: wordAtCursor(command, words.length), prefix: current };
}

interface WordsRead {
  command: Command;
  readonly words: string[];
  readonly flags: Map<string, string>;
  /** The flag whose value comes next; it may come without, if it takes several. */
  awaiting: Option | undefined;
  /** After `--`. */
  isPastFlags: boolean;
}

function takesAsValue({ awaiting, isPastFlags }: WordsRead, word: string): boolean {
  return awaiting !== undefined && (!awaiting.variadic || isPastFlags || !word.startsWith('-'));
}

function readWord(read: WordsRead, word: string): void {
  const { command, words, flags, awaiting } = read;
  if (awaiting && takesAsValue(read, word)) {
    flags.set(awaiting.long ?? '', word);
    if (!awaiting.variadic) read.awaiting = undefined;
  } else if (!read.isPastFlags && word.length > 1 && word.startsWith('-')) {
    read.isPastFlags = word === '--';
    read.awaiting = readFlag(command, word, flags);
  } else {
    const isNamed = (one: Command) => one.name() === word || one.aliases().includes(word);
    const inner = words.length === 0 ? command.commands.find(isNamed) : undefined;
    if (inner) read.command = inner;
    else words.push(word);
  }
}

/** A flag that was typed; the option whose value is still to come. */
function readFlag(command: Command, word: string, flags: Map<string, string>): Option | undefined {
  const [name = '', value] = word.startsWith('--') ? splitAtEqual(word) : [word.slice(0, 2), word.slice(2)];
  const option = command.options.find(({ long, short }) => long === name || short === name);
  if (!option) return undefined;
  flags.set(option.long ?? '', value ?? '');
  if (!option.required) {
    // -wA is -w and -A.
    if (!word.startsWith('--') && value) return readFlag(command, `-${value}`, flags);
    return undefined;
  }
  return value ? undefined : option;
}

function flagAtCursor(command: Command, current: string): Pick<TypedLine, 'wanted' | 'prefix'> {
  const [name, value] = splitAtEqual(current);
  if (value === undefined) return { wanted: { kind: 'flag' }, prefix: current };
  const option = command.options.find(({ long, required }) => long === name && required);
  return { wanted: option ? { kind: 'value', option } : { kind: 'nothing' }, prefix: value };
}

function wordAtCursor(command: Command, position: number): Wanted {
  if (command.commands.length > 0 && position === 0) return { kind: 'command' };
  const { registeredArguments: all } = command;
  const last = all.at(-1);
  const argument = all[position] ?? (last?.variadic ? last : undefined);
  return argument ? { kind: 'argument', argument, position } : { kind: 'nothing' };
}

/** `--flag=value` as both; without a value where there is none. */
function splitAtEqual(word: string): [name: string, value: string | undefined] {
  const at = word.indexOf('=');
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
