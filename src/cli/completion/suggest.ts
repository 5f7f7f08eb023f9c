import type { Argument, Option } from 'commander';
import { printable } from '../../terminal/output.ts';
import { kindIn } from '../flags.ts';
import runbooks from '../runbooks.json' with { type: 'json' };
import type { TypedLine } from './typed.ts';

/** What could stand at the cursor. */
export interface Suggestion {
  readonly value: string;
  /** In a few words. */
  readonly description?: string | undefined;
}

/** The answer to the shell: suggestions, and whether file names may stand there, too. */
export interface Suggestions {
  readonly items: readonly Suggestion[];
  readonly areFiles: boolean;
}

/** What only the kubeconfig and the cluster know. */
export interface Lookup {
  contexts(): Promise<readonly Suggestion[]>;
  namespaces(): Promise<readonly Suggestion[]>;
  objects(kind: 'Canary' | 'Source'): Promise<readonly Suggestion[]>;
  /** Commits of releases of a Canary, the newest first. */
  commits(canary: string): Promise<readonly Suggestion[]>;
}

/** Called when something is to be looked up: most of what is completed is known without the cluster. */
type OpenLookup = () => Lookup | Promise<Lookup>;

/** Where the values of an argument or a flag come from. `text`: only the person who types it knows. */
type ValueSource =
  | 'canaries'
  | 'sources'
  | 'canariesAndSources'
  | 'kindsAndCanaries'
  | 'objectsOfKind'
  | 'reasonsAndCanaries'
  | 'contexts'
  | 'namespaces'
  | 'commits'
  | 'providers'
  | 'files'
  | 'text';

/** By the name of the argument; with the command before it where that is not enough. */
const argumentSources: Readonly<Record<string, ValueSource>> = {
  canary: 'canaries',
  source: 'sources',
  subject: 'canariesAndSources',
  'resume canary': 'canariesAndSources',
  'runbook subject': 'reasonsAndCanaries',
  kind: 'kindsAndCanaries',
  name: 'objectsOfKind',
  path: 'files',
};

const flagSources: Readonly<Record<string, ValueSource>> = {
  '--context': 'contexts',
  '--namespace': 'namespaces',
  '--holdfast-namespace': 'namespaces',
  '--commit': 'commits',
  '--revision': 'commits',
  '--to': 'commits',
  '--mesh-provider': 'providers',
};

/** Where the values of an argument come from; undefined: it is not declared. */
export function argumentSource(command: string, argument: Argument): ValueSource | undefined {
  return argumentSources[`${command} ${argument.name()}`] ?? argumentSources[argument.name()];
}

/** Where the values of a flag come from. */
function flagSource({ long, flags }: Option): ValueSource {
  if (/<(file|folder)/.test(flags)) return 'files';
  return flagSources[long ?? ''] ?? 'text';
}

/** Everything that fits what is typed. Rejects with what the lookup throws. */
export async function suggest(line: TypedLine, openLookup: OpenLookup): Promise<Suggestions> {
  const found = await candidates(line, openLookup);
  const items = found.items
    .filter(({ value }) => value.startsWith(line.prefix))
    // A name that could break the line, or the terminal, is none that anybody can type.
    .filter(({ value }) => value !== '' && printable(value) === value);
  return { ...found, items };
}

const nothing: Suggestions = { items: [], areFiles: false };

async function candidates(line: TypedLine, openLookup: OpenLookup): Promise<Suggestions> {
  const { wanted, command } = line;
  switch (wanted.kind) {
    case 'command':
      return only(
        command
          .createHelp()
          .visibleCommands(command)
          .map((one) => ({ value: one.name(), description: one.summary() || one.description() })),
      );
    case 'flag':
      return only(
        command
          .createHelp()
          .visibleOptions(command)
          .map(({ long, short, description }) => ({ value: long ?? short ?? '', description })),
      );
    case 'value':
      return valuesOf(flagSource(wanted.option), wanted.option.argChoices, line, openLookup);
    case 'argument': {
      const source = argumentSource(command.name(), wanted.argument) ?? 'text';
      return valuesOf(source, wanted.argument.argChoices, line, openLookup);
    }
    default:
      return nothing;
  }
}

async function valuesOf(
  source: ValueSource,
  choices: readonly string[] | undefined,
  line: TypedLine,
  openLookup: OpenLookup,
): Promise<Suggestions> {
  if (choices) return only(named(choices));
  switch (source) {
    case 'files':
      return { items: [], areFiles: true };
    case 'contexts':
      return only(await (await openLookup()).contexts());
    case 'namespaces':
      return only(await (await openLookup()).namespaces());
    case 'providers':
      return only(named((await import('../../providers/routing/table.ts')).workloadProviders()));
    case 'commits': {
      const [canary = ''] = line.words.slice(-1);
      return only(await (await openLookup()).commits(canary.replace(/^canary\//, '')));
    }
    case 'text':
      return nothing;
    default:
      return only(await objectsFor(source, line, openLookup));
  }
}

/** With -l or -A an object cannot be named. */
async function objectsFor(
  source: ValueSource,
  line: TypedLine,
  openLookup: OpenLookup,
): Promise<Suggestion[]> {
  const isForMany = line.flags.has('--selector') || line.flags.has('--all-namespaces');
  const namesOf = async (kind: 'Canary' | 'Source') =>
    isForMany ? [] : [...(await (await openLookup()).objects(kind))];
  const [word = ''] = line.prefix.split('/', 1);
  const kindTyped = line.prefix.includes('/') ? kindIn(word) : undefined;
  if (kindTyped && source !== 'objectsOfKind') return withKind(word, await namesOf(kindTyped));
  switch (source) {
    case 'canaries':
      return namesOf('Canary');
    case 'sources':
      return namesOf('Source');
    case 'canariesAndSources':
      return [...(await namesOf('Canary')), ...withKind('source', await namesOf('Source'))];
    case 'kindsAndCanaries':
      return [...named(['canary', 'source']), ...(await namesOf('Canary'))];
    case 'reasonsAndCanaries':
      return [...named(Object.keys(runbooks)), ...withKind('canary', await namesOf('Canary'))];
    default: {
      const kind = kindIn(line.words[0] ?? '');
      return kind ? namesOf(kind) : [];
    }
  }
}

function withKind(word: string, objects: readonly Suggestion[]): Suggestion[] {
  return objects.map((object) => ({ ...object, value: `${word}/${object.value}` }));
}

function named(values: readonly string[]): Suggestion[] {
  return values.map((value) => ({ value }));
}

function only(items: readonly Suggestion[]): Suggestions {
  return { items, areFiles: false };
}
