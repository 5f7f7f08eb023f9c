import { Argument, type Command } from 'commander';
import { printed } from '../../terminal/output.ts';
import { type CliCommand, emit } from '../command.ts';
import { exitCodes } from '../failure.ts';
import { completionScripts } from './scripts.ts';
import { type Lookup, type Suggestions, suggest } from './suggest.ts';
import { readTyped } from './typed.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/** `holdfast completion`: prints what makes a shell complete command lines of holdfast. */
export const completionCommand: CliCommand = {
  register(command, context) {
    command
      .description(
        'print the script that lets bash, zsh or fish complete commands, flags, and the names of objects in the cluster',
      )
      .addArgument(new Argument('<shell>', 'whose script it is').choices(shells))
      .action((shell: (typeof shells)[number]) => {
        emit(printed(completionScripts[shell]), context);
      });
  },
};

/** Where to look for what is in the cluster that the flags on the line name. */
type LookupFor = (flags: ReadonlyMap<string, string>, version: string) => Lookup | Promise<Lookup>;

/** A person waits at the prompt. */
const deadlineMs = 2_000;

/**
 * The answer to a shell about the words that were typed, in the form that kubectl takes from plug-ins, too: a line for each suggestion with its
 * description behind a tab, then `:0` where files may stand and `:4` where not. What cannot be asked in time suggests nothing; never throws.
 */
export async function complete(
  program: Command,
  typed: readonly string[],
  version: string,
  lookupFor: LookupFor = async (...on) => (await import('./cluster-lookup.ts')).clusterLookup(...on),
): Promise<string> {
  const line = readTyped(program, typed);
  const { items, areFiles } = await withinDeadline(suggest(line, () => lookupFor(line.flags, version)));
  const lines = items.map(({ value, description }) =>
    description ? `${value}\t${description.replace(/\s+/g, ' ')}` : value,
  );
  return [...lines, areFiles ? ':0' : ':4', ''].join('\n');
}

async function withinDeadline(work: Promise<Suggestions>): Promise<Suggestions> {
  const nothing: Suggestions = { items: [], areFiles: false };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Suggestions>((resolve) => {
    timer = setTimeout(() => resolve(nothing), deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } catch {
    return nothing;
  } finally {
    clearTimeout(timer);
  }
}

/** Answers a shell and ends the process: a request that is still under way must not hold up the prompt. */
export async function answerShell(
  program: Command,
  typed: readonly string[],
  version: string,
): Promise<never> {
  const answer = await complete(program, typed, version);
  await new Promise((resolve) => process.stdout.write(answer, resolve));
  process.exit(exitCodes.good);
}
