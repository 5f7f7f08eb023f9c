import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A part of the bed that runs as a process of its own. */
export interface Program {
  readonly name: string;
  readonly pid: number;
  /** Throws, with the end of the program's log, when it has ended. */
  assertRunning(): void;
  stop(): Promise<void>;
}

/** Variables beside those of this process. */
type Environment = Readonly<Record<string, string>>;

/** Starts programs and remembers them, so that a start that fails half-way leaves nothing behind. */
export interface Programs {
  /** Both outputs of the program go to `<logsFolder>/<name>.log`. */
  start(name: string, path: string, args: readonly string[], env?: Environment): Program;
  /** Ends all at once. */
  stopAll(): Promise<void>;
  /** Process ids by name. */
  pids(): Readonly<Record<string, number>>;
}

/** An empty collection whose programs log into `logsFolder`. */
export function createPrograms(logsFolder: string): Programs {
  const started: Program[] = [];
  const start = (name: string, path: string, args: readonly string[], more: Environment = {}) => {
    const program = startProgram(name, path, args, { logsFolder, more });
    started.push(program);
    return program;
  };
  const stopAll = async () => {
    await Promise.all(started.splice(0).map((program) => program.stop()));
  };
  return { start, stopAll, pids: () => Object.fromEntries(started.map(({ name, pid }) => [name, pid])) };
}

const LOG_TAIL_LINES = 15;
/** The bed's programs are written in Go: they may keep more garbage while there is room, which leaves the processor to others. */
const rarelyCollected = { GOGC: '800', GOMEMLIMIT: '6GiB' };

function startProgram(
  name: string,
  path: string,
  args: readonly string[],
  { logsFolder, more }: { readonly logsFolder: string; readonly more: Environment },
): Program {
  const logPath = join(logsFolder, `${name}.log`);
  const log = openSync(logPath, 'a');
  const env = { ...process.env, ...rarelyCollected, ...more };
  const child = spawn(path, args, { stdio: ['ignore', log, log], cwd: logsFolder, env });
  closeSync(log);
  let failure: string | undefined;
  child.on('error', (error) => {
    failure = error.message;
  });
  child.on('exit', (code, signal) => {
    failure ??= `ended with ${signal ?? `code ${code}`}`;
  });
  const assertRunning = () => {
    if (failure === undefined) return;
    const tail = readFileSync(logPath, 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
    throw new Error(`${name} ${failure}; end of ${logPath}:\n${tail}`);
  };
  return { name, pid: child.pid ?? 0, assertRunning, stop: () => killChild(child) };
}

/** Nothing of a program is needed after the tests, so it need not end well. */
async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

/** Waits until `url` answers with a status below 400; fails early when `program` ends. */
export async function waitForAnswer(program: Program, url: string, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let last = '';
  while (Date.now() < deadline) {
    program.assertRunning();
    last = await statusOf(url);
    if (/^[23]/.test(last)) return;
    await sleep(100);
  }
  throw new Error(`${program.name} did not answer at ${url} within ${timeoutMs / 1000} s (last: ${last})`);
}

function statusOf(url: string): Promise<string> {
  return new Promise((resolve) => {
    const options = { timeout: 2_000, rejectUnauthorized: false };
    const request = (url.startsWith('https:') ? httpsGet : httpGet)(url, options, (response) => {
      response.resume();
      resolve(String(response.statusCode));
    });
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', (error) => resolve(error.message));
  });
}
