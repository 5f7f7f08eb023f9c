import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { nodeFlags } from '../../node-flags.ts';
import { type BedClient, waitFor } from '../bed/client.ts';
import { grantInstalled } from '../bed/installed.ts';

/**
 * `node dist/main.js run` on the bed, for one namespace or a few; it can be killed and started again with its data. One that lost its Lease ends,
 * and is started again, as by the kubelet; any other end that nobody asked for is left to be noticed.
 */
export interface Program {
  start(): void;
  /** SIGKILL: nothing is told, nothing is finished. */
  kill(): Promise<void>;
  /** SIGTERM, and its exit code. */
  stop(): Promise<number | null>;
  /**
   * Resolves when it reads nothing of Git: who kills it twice while it reads a commit has that left alone for minutes (issue 13, 9).
   */
  untilNotReading(): Promise<void>;
  /** Removes its data, as in a pod that starts on another node. */
  wipe(): void;
  readonly logPath: string;
  /** Process id while it runs. */
  pid(): number;
  /** How often it was started again by itself. */
  restarts(): number;
  /** Where it serves health and webhooks, as it logged it. */
  url(): Promise<string>;
}

const main = resolve(import.meta.dirname, '../../../dist/main.js');
const RESTART_MS = 1_000;
/** Of what it said last, to find out why it ended. */
const SAID_LENGTH = 16_000;

/**
 * Prepares a program that follows one repository into a namespace, or what others apply there or in several. Intervals down to a second are
 * allowed. `env` is read at each start. It has exactly the rights that `holdfast install` prints, and a Source is written as `holdfast-source`, unless
 * a kubeconfig is given.
 */
export function createProgram(
  bed: BedClient,
  place:
    | string
    | readonly string[]
    | {
        readonly namespaces: readonly string[];
        readonly kubeconfigPath: string;
        readonly dataFolder?: string;
        readonly metricsUrl?: string;
        /** However it ends, it is started again. */
        readonly isKeptRunning?: boolean;
      },
  repositoryUrl: string | undefined,
  spec: Record<string, unknown> = {},
  env: Readonly<Record<string, string>> = {},
): Program {
  const isGiven = typeof place === 'object' && 'kubeconfigPath' in place;
  const namespaces = isGiven ? place.namespaces : [place].flat();
  const [namespace = ''] = namespaces;
  const folder = mkdtempSync(join(tmpdir(), `holdfast-${namespace}-`));
  const logPath = join(bed.logsDir, `holdfast-${namespace}.log`);
  let prepared: Promise<string> | undefined;
  let starting: Promise<void> = Promise.resolve();
  let child: ChildProcess | undefined;
  let isWanted = false;
  let restarts = 0;
  const isKeptRunning = isGiven && place.isKeptRunning === true;
  const watched =
    typeof place === 'string' ? ['--namespace', place] : ['--watch-namespaces', namespaces.join(',')];
  const data = (isGiven ? place.dataFolder : undefined) ?? join(folder, 'data');
  const places = ['--data-dir', data, '--listen', '127.0.0.1:0'];
  const behaviour = [
    '--min-analysis-interval',
    '1s',
    '--metrics-server',
    (isGiven ? place.metricsUrl : undefined) ?? bed.prometheusUrl,
    '--log-level',
    'debug',
  ];
  const prepare = async () => {
    const path = isGiven ? place.kubeconfigPath : await grantInstalled(bed, namespaces);
    if (repositoryUrl) await bed.apply([source(namespace, repositoryUrl, spec)], namespace);
    return path;
  };
  const startAs = (path: string) => {
    const log = openSync(logPath, 'a');
    const began = fstatSync(log).size;
    const flags = ['--kubeconfig', path, ...watched, ...places, ...behaviour];
    const started = spawn(process.execPath, [...nodeFlags, main, 'run', ...flags], {
      stdio: ['ignore', log, log],
      // As in the image.
      env: { ...process.env, MALLOC_ARENA_MAX: '2', POD_NAMESPACE: namespace, ...env },
    });
    closeSync(log);
    // What those before it said is no reason to start it again.
    const isLost = () =>
      readFileSync(logPath).subarray(began).subarray(-SAID_LENGTH).includes('"end":"lost"');
    started.on('close', () => {
      if (isKeptRunning || isLost()) setTimeout(restart, RESTART_MS);
    });
    const restart = () => {
      if (!isWanted || child !== started) return;
      restarts += 1;
      startAs(path);
    };
    child = started;
  };
  const end = async (signal: NodeJS.Signals) => {
    await starting;
    isWanted = false;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  };
  return {
    logPath,
    start() {
      isWanted = true;
      prepared ??= prepare();
      starting = prepared.then(startAs);
    },
    async untilNotReading() {
      const notes = join(data, 'reading');
      const isRead = async () => !existsSync(notes) || readdirSync(notes).length === 0;
      await waitFor(isRead, { timeoutMs: 120_000, what: `${namespace}: the program has read the commit` });
    },
    wipe: () => rmSync(data, { recursive: true, force: true }),
    pid: () => child?.pid ?? 0,
    restarts: () => restarts,
    url: () =>
      waitFor(async () => /http:\/\/127\.0\.0\.1:\d+/.exec(listening(logPath))?.[0], {
        timeoutMs: 60_000,
        what: 'the address the program listens on',
      }),
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  };
}

/** The Source that such a program follows; intervals down to a second are allowed. */
export function source(namespace: string, url: string, spec: Readonly<Record<string, unknown>> = {}) {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace },
    spec: { url, ref: { branch: 'main' }, interval: '1s', defaultNamespace: namespace, ...spec },
  };
}

/** The log line about the web server; empty before there is one. */
function listening(logPath: string): string {
  if (!existsSync(logPath)) return '';
  const lines = readFileSync(logPath, 'utf8').split('\n');
  return lines.findLast((line) => /listen|serving/i.test(line)) ?? '';
}
