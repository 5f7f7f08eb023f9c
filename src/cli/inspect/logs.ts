import { Option } from 'commander';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { InputError } from '../../api/problems.ts';
import { parseDurationMs } from '../../api/time.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { Connection } from '../../server/connection.ts';
import { counted, formatOutputLine, printableLines } from '../../terminal/output.ts';
import { type CliCommand, untilInterrupted, withConnection } from '../command.ts';
import { exitCodes } from '../failure.ts';
import { outputOption, type SubjectFlags, withSubjectFlags } from '../flags.ts';
import { noneFound } from '../objects.ts';
import { type CanaryPod, podsOf } from './canary-pods.ts';
import { type LogBounds, type LogSelection, type LogSource, logSources, readLog } from './pod-logs.ts';
import { readSubjects } from './subjects.ts';

interface LogFlags extends SubjectFlags {
  readonly output: 'text' | 'json';
  readonly failing?: boolean;
  readonly canary?: boolean;
  readonly primary?: boolean;
  readonly container?: string;
  readonly previous?: boolean;
  readonly since?: number;
  readonly tail: number;
  readonly follow?: boolean;
}

/** What `holdfast logs` is asked for. */
interface LogOptions extends LogSelection, LogBounds {
  readonly format: 'text' | 'json';
  readonly signal: AbortSignal;
}

/** Where the lines go; each ends with a line feed. */
interface LogOutput {
  readonly out: (text: string) => Promise<void> | void;
  readonly err: (text: string) => void;
}

/** `holdfast logs`: of the pods of a Canary that fail, or of one side. */
export const logsCommand: CliCommand = {
  register(command, context) {
    withSubjectFlags(
      command
        .description(
          'print the logs of the pods of Canaries that are not ready or were restarted, or of one side (--canary, --primary); each line with its pod and container',
        )
        .argument('[canary]', 'NAME or canary/NAME (default: every Canary of the namespace)'),
    )
      .addOption(
        new Option('--failing', 'pods that are not ready or were restarted; the default').conflicts([
          'canary',
          'primary',
        ]),
      )
      .addOption(new Option('--canary', 'all pods of the canary').conflicts('primary'))
      .option('--primary', 'all pods of the primary')
      .option(
        '-c, --container <name>',
        'only this container (default: of failing pods the containers that fail, else all)',
      )
      .option('-p, --previous', 'the run before the current one')
      .addOption(
        new Option('--since <duration>', 'only what is newer, for example 10m').argParser(sinceSeconds),
      )
      .addOption(
        new Option('--tail <lines>', 'lines from the end of each log; -1 for all')
          .argParser(tail)
          .default(100),
      )
      .option('-f, --follow', 'go on with new lines until you press Ctrl-C')
      .addOption(outputOption('text', ['text', 'json']))
      .action(async (subject: string | undefined, flags: LogFlags) => {
        if (flags.follow && flags.previous)
          throw new InputError('--follow and --previous exclude each other: a run that ended writes nothing');
        await untilInterrupted(context, (signal) =>
          withConnection(flags, context, async (connection) => {
            const canaries = await readSubjects(connection, subject, flags, ['Canary']);
            if (canaries.some(({ kind }) => kind !== 'Canary'))
              throw new InputError('only Canaries have pods');
            const output = {
              out: written,
              err: (text: string) => void process.stderr.write(printableLines(text)),
            };
            if (canaries.length === 0) output.err(noneFound('Canaries', flags));
            return logs(connection, canaries, optionsIn(flags, signal), output);
          }),
        );
      });
  },
};

function optionsIn(flags: LogFlags, signal: AbortSignal): LogOptions {
  return {
    side: flags.canary ? 'canary' : flags.primary ? 'primary' : undefined,
    container: flags.container,
    previous: flags.previous === true,
    tailLines: flags.tail < 0 ? undefined : flags.tail,
    sinceSeconds: flags.since,
    follow: flags.follow === true,
    format: flags.output,
    signal,
  };
}

/** A reader that is slow holds up the log, and not our memory. */
function written(text: string): Promise<void> | void {
  if (process.stdout.write(text)) return;
  return new Promise((resolve) => process.stdout.once('drain', resolve));
}

/**
 * Prints the logs, one after the other; followed ones as they come. Resolves with the exit code: 2 when none of them can be read. Throws ApiError, and
 * InputError and RefusedError for a target without pods.
 */
export async function logs(
  { client, transport }: Pick<Connection, 'client' | 'transport'>,
  canaries: readonly KubernetesObject[],
  options: LogOptions,
  output: LogOutput,
): Promise<number> {
  const { found, isForbidden } = await sourcesOf(client, canaries, options, output);
  if (found.length === 0) return isForbidden ? exitCodes.noAnswer : exitCodes.good;
  const sources = found.slice(0, limits.logSources);
  if (found.length > sources.length)
    output.err(
      `only the first ${sources.length} of ${found.length} logs are shown; choose with --canary, --primary or -c\n`,
    );
  let readCount = 0;
  const print = async (source: LogSource) => {
    try {
      for await (const line of readLog(transport, source, options, options.signal))
        await output.out(lineOf(source, line, options.format));
      readCount += 1;
      if (options.follow) output.err(`${prefixOf(source)} the log has ended: the container stopped\n`);
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      if (!isApiError(error)) throw error;
      output.err(`${prefixOf(source)} ${error.message}\n`);
    }
  };
  if (options.format === 'text' && options.side === undefined)
    for (const one of problems(sources)) output.err(one);
  if (options.follow) await Promise.all(sources.map(print));
  else for (const source of sources) await print(source);
  return readCount > 0 ? exitCodes.good : exitCodes.noAnswer;
}

/** The logs of all of these Canaries. One without pods, or whose pods may not be read, does not hide the others. */
async function sourcesOf(
  client: Connection['client'],
  canaries: readonly KubernetesObject[],
  options: LogOptions,
  output: LogOutput,
): Promise<{ readonly found: readonly LogSource[]; readonly isForbidden: boolean }> {
  const found: LogSource[] = [];
  let isForbidden = false;
  for (const canary of canaries) {
    try {
      const pods = await podsOf(client, canary);
      const sources = logSources(pods, options);
      if (sources.length === 0) output.err(`${describe(canary)}: ${whyNone(pods, options)}\n`);
      found.push(...sources);
    } catch (error) {
      const isRefused = isApiError(error, 'forbidden');
      if (canaries.length === 1 || (isApiError(error) && !isRefused)) throw error;
      isForbidden ||= isRefused;
      // Others name the Canary themselves.
      const lead = isRefused ? `${describe(canary)}: ` : '';
      output.err(`${lead}${(error as Error).message}\n`);
    }
  }
  return { found, isForbidden };
}

/** What is wrong, a line for each container. */
function problems(sources: readonly LogSource[]): string[] {
  return sources
    .filter(({ previous, problem }, index) => problem !== '' && (previous || !sources[index - 1]?.previous))
    .map((source) => `${prefixOf({ ...source, previous: false })} ${source.side}: ${source.problem}\n`);
}

function whyNone(pods: readonly CanaryPod[], { side, container }: LogSelection): string {
  const count = (one: CanaryPod['side']) => pods.filter((pod) => pod.side === one).length;
  if (pods.length === 0) return 'it has no pods';
  if (container !== undefined && (side === undefined || count(side) > 0))
    return `no ${side === undefined ? 'pod that fails' : `pod of the ${side}`} has a container ${container}`;
  if (side !== undefined) return `the ${side} has no pods; the other side has ${pods.length}`;
  return `no pod fails: ${counted(count('primary'), 'pod')} of the primary and ${counted(count('canary'), 'pod')} of the canary are ready; --primary and --canary print their logs all the same`;
}

/** As kubectl's --prefix. */
function prefixOf({ pod, container, previous }: LogSource): string {
  return `[pod/${pod}/${container}${previous ? ' previous' : ''}]`;
}

function lineOf(source: LogSource, line: string, format: LogOptions['format']): string {
  if (format === 'text') return `${prefixOf(source)} ${line}\n`;
  const { namespace, side, pod, container, previous } = source;
  return formatOutputLine('LogLine', { namespace, side, pod, container, previous, line });
}

function sinceSeconds(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 1_000) return Math.ceil(ms / 1_000);
  throw new InputError(`--since: ${JSON.stringify(text)} is not a duration of a second or more, such as 10m`);
}

function tail(text: string): number {
  const lines = Number(text);
  if (Number.isInteger(lines) && lines >= -1 && lines <= 1_000_000) return lines;
  throw new InputError(`--tail: ${JSON.stringify(text)} is not a number of lines; -1 means all`);
}
