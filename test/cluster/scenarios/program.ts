import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { BedClient } from '../bed/client.ts';

/** `node dist/main.js run` on the bed, for one namespace; it can be killed and started again with its data. */
export interface Program {
  start(): void;
  /** SIGKILL: nothing is told, nothing is finished. */
  kill(): Promise<void>;
  /** SIGTERM, and its exit code. */
  stop(): Promise<number | null>;
  readonly logPath: string;
}

const main = resolve(import.meta.dirname, '../../../dist/main.js');

/** Prepares a program that follows one repository into a namespace. Intervals down to a second are allowed. */
export function createProgram(bed: BedClient, namespace: string, repositoryUrl: string): Program {
  const folder = mkdtempSync(join(tmpdir(), `holdfast-${namespace}-`));
  const sourceFile = join(folder, 'source.yaml');
  const logPath = join(bed.logsDir, `holdfast-${namespace}.log`);
  writeFileSync(sourceFile, JSON.stringify(source(namespace, repositoryUrl)));
  let child: ChildProcess | undefined;
  const flags = ['--source', sourceFile, '--kubeconfig', bed.kubeconfigPath, '--namespace', namespace];
  const places = ['--data-dir', join(folder, 'data'), '--listen', '127.0.0.1:0'];
  const behaviour = [
    '--min-analysis-interval',
    '1s',
    '--metrics-server',
    bed.prometheusUrl,
    '--log-level',
    'debug',
  ];
  const end = async (signal: NodeJS.Signals) => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  };
  return {
    logPath,
    start() {
      const log = createWriteStream(logPath, { flags: 'a' });
      child = spawn(process.execPath, [main, 'run', ...flags, ...places, ...behaviour], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.stdout?.pipe(log);
      child.stderr?.pipe(log);
    },
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  };
}

function source(namespace: string, url: string) {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace },
    spec: { url, ref: { branch: 'main' }, interval: '1s', defaultNamespace: namespace },
  };
}
