import { homedir } from 'node:os';
import { Argument, type Command } from 'commander';
import { canaryStatus } from '../../api/canary/summary.ts';
import { limits } from '../../api/limits.ts';
import { listContexts } from '../../cluster/access/cluster-access.ts';
import type { Connection } from '../../server/connection.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import { exitCodes } from '../failure.ts';
import { readAll, readOne } from '../objects.ts';
import { commitSubject } from '../status/rows.ts';
import { completionScripts } from './scripts.ts';
import { type Lookup, type Suggestion, type Suggestions, suggest } from './suggest.ts';
import { readTyped } from './typed.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/** `holdfast completion`: prints what makes a shell complete command lines of holdfast. */
export const completionCommand: CliCommand = {
  register(command, context) {
    command
      .description(
        'print the script that lets bash, zsh or fish complete commands, flags, and the names of objects in the cluster',
      )
      .addArgument(new Argument('<shell>').choices(shells))
      .action((shell: (typeof shells)[number]) => {
        emit({ stdout: completionScripts[shell], stderr: '', exitCode: 0 }, context);
      });
  },
};

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
  lookupFor: (flags: ReadonlyMap<string, string>, version: string) => Lookup = clusterLookup,
): Promise<string> {
  const line = readTyped(program, typed);
  const { items, areFiles } = await withinDeadline(suggest(line, lookupFor(line.flags, version)));
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

/** Looks into the kubeconfig and the cluster that the flags on the line name. Rejects with what connecting or reading throws. */
function clusterLookup(flags: ReadonlyMap<string, string>, version: string): Lookup {
  // Shells leave `~/` as it is typed.
  const kubeconfig = flags.get('--kubeconfig')?.replace(/^~(?=\/)/, process.env.HOME ?? homedir());
  const context = flags.get('--context') || undefined;
  const onCluster = <T>(work: (connection: Connection) => Promise<T>) =>
    withConnection({ kubeconfig, context }, { version }, work);
  const namespaceIn = ({ access }: Connection) => flags.get('--namespace') || access.namespace;
  const contexts = () => listContexts({ ...(kubeconfig ? { kubeconfig } : {}), allowExec: true });
  return {
    contexts: async () =>
      (await contexts()).map(({ name, namespace }) => ({ value: name, description: namespace })),
    namespaces: () =>
      onCluster(async ({ client }) =>
        suggestions((await client.list('v1', 'Namespace', { metadataOnly: true })).items),
      ).catch(async () => {
        // Who may not list namespaces has those of their contexts.
        const own = (await contexts()).map(({ namespace }) => namespace).filter((one) => one !== undefined);
        return [...new Set(own)].map((value) => ({ value }));
      }),
    objects: (kind) =>
      onCluster(async (connection) => {
        const query = { namespace: namespaceIn(connection), metadataOnly: true };
        return suggestions(await readAll(connection.client, kind, query));
      }),
    commits: (name) =>
      onCluster(async (connection) => {
        const place = { namespace: namespaceIn(connection), name };
        const canary = await readOne(connection.client, 'Canary', place);
        const { run, history = [] } = canaryStatus(canary);
        const commits = [run?.commit ?? '', ...history.map(({ commit }) => commit)];
        return [...new Set(commits)].map((value) => ({ value, description: commitSubject(canary, value) }));
      }),
  };
}

function suggestions(objects: ReadonlyArray<{ readonly metadata: { readonly name: string } }>): Suggestion[] {
  return objects
    .slice(0, limits.completions)
    .map(({ metadata }) => ({ value: metadata.name }))
    .sort((left, right) => (left.value < right.value ? -1 : 1));
}
