import { CommanderError } from 'commander';
import { InputError } from '../api/problems.ts';
import { isApiError } from '../cluster/errors.ts';
import { EngineError } from '../engine/failure.ts';
import { GitError } from '../git/errors.ts';
import { type DataFormat, formatOutput, formatOutputLine, printableLines } from '../terminal/output.ts';
import type { OutputBody } from '../terminal/schemas/output-schemas.ts';

/** The exit codes of all commands, with what each means; docs/configuration.md shows this table. */
export const exitCodes = {
  /** As asked for. */
  good: 0,
  /** The answer is no: it failed, it differs, a check does not pass, the request was refused. */
  bad: 1,
  /** There is no answer. */
  noAnswer: 2,
  held: 3,
  timedOut: 4,
  interrupted: 130,
} as const;

/** The meaning of each code in the documentation. */
export const exitCodeMeanings: ReadonlyArray<readonly [code: number, meaning: string]> = [
  [exitCodes.good, 'as asked for: the release is good, nothing differs, every check passes'],
  [
    exitCodes.bad,
    'the answer is no: the release failed or was superseded, something differs, a check fails, the request was refused or not confirmed, the watched object was deleted',
  ],
  [
    exitCodes.noAnswer,
    'no answer: wrong arguments or files, no such object, no permission, no API server, no Git. `validate` also ends with it when it finds a problem',
  ],
  [exitCodes.held, 'a release that was waited for is held'],
  [exitCodes.timedOut, 'the time was up, or Holdfast did not answer in time'],
  [exitCodes.interrupted, 'interrupted, for example by Ctrl-C'],
];

/**
 * Reports why a command gave no answer: on standard error for people, and with -o json or yaml also on standard output, so that a program finds a
 * document of a known kind there in any case. Returns the exit code.
 */
export function reportFailure(error: unknown, argv: readonly string[]): number {
  const body = failureBody(error);
  // The parser itself reports wrong arguments.
  if (!(error instanceof CommanderError)) process.stderr.write(`error: ${printableLines(body.message)}\n`);
  // What -o says, also where the arguments could not be read whole. Undefined: output is for people.
  const formats = argv.flatMap((word, index) => {
    if (word === '-o' || word === '--output') return [argv[index + 1]];
    return /^(?:-o|--output=)(json|yaml)$/.exec(word)?.[1] ?? [];
  });
  const format = formats.findLast((format) => format === 'json' || format === 'yaml');
  if (format) process.stdout.write(failureDocument(body, format));
  return body.exitCode;
}

/** The document for any thrown value. `env`: the environment that a person may have set for other programs. */
export function failureBody(
  error: unknown,
  env: Readonly<Record<string, string | undefined>> = process.env,
): OutputBody<'Error'> {
  const said = (error instanceof Error ? error.message : String(error)).replace(/^error: /, '');
  return { exitCode: exitCodes.noAnswer, reason: reasonOf(error), message: said + hintOn(error, said, env) };
}

function hintOn(error: unknown, said: string, env: Readonly<Record<string, string | undefined>>): string {
  if (isApiError(error, 'unauthorized'))
    return ': the API server does not accept the credentials of the kubeconfig, or they have expired';
  if (isApiError(error, 'unknownKind'))
    return `${/[.?]$/.test(said) ? ' To' : '; to'} see what is missing in this cluster, run: holdfast check`;
  // kubectl reads them, so that it reaches the same server.
  const proxy = ['HTTPS_PROXY', 'https_proxy'].find((name) => env[name]);
  const isDirect = isApiError(error, 'transient', 'timeout') && /\(API server \S+\)$/.test(said);
  return isDirect && proxy ? `; ${proxy} is not read: set proxy-url of the cluster in the kubeconfig` : '';
}

/** The document of kind Error; JSON in one line, since some commands print lines. */
export function failureDocument(body: OutputBody<'Error'>, format: DataFormat): string {
  return format === 'json' ? formatOutputLine('Error', body) : formatOutput('Error', body, format);
}

function reasonOf(error: unknown): string {
  if (error instanceof CommanderError) return 'InvalidArguments';
  if (error instanceof InputError) return 'InvalidInput';
  if (error instanceof GitError) return 'GitError';
  if (error instanceof EngineError) return error.reason;
  return isApiError(error) ? error.kind.replace(/^./, (letter) => letter.toUpperCase()) : 'Failed';
}
