import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Canary } from '../../src/api/canary/canary.ts';
import type { MetricTemplate } from '../../src/api/metric-template.ts';
import type { HttpClient } from '../../src/http/types.ts';
import { readMetric } from '../../src/providers/metrics/read-metric.ts';

/** A metric server that runs as a program of its own. */
export interface MetricServer {
  /** Base URL, from the first line of its log that fits. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Starts a program that tells in its log, on standard error, where it listens: the first group of `listens`. Throws when it ends before. */
export async function startMetricServer(
  program: string,
  args: readonly string[],
  listens: RegExp,
): Promise<MetricServer> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const lines = createInterface({ input: child.stderr });
  const told: string[] = [];
  const address = await new Promise<string>((found, failed) => {
    const fail = (what: string) => failed(new Error(`${program} ${what}:\n${told.slice(-10).join('\n')}`));
    child.on('error', failed);
    child.on('exit', () => fail('ended'));
    setTimeout(() => fail('did not tell where it listens'), 120_000).unref();
    lines.on('line', (line) => {
      told.push(line);
      const at = listens.exec(line)?.[1];
      if (at) found(`http://${at}`);
    });
  });
  return { address, stop: () => ended(child) };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** One reading of a MetricTemplate for the canary `web` in namespace `shop`, from a metric server on this machine. */
export function readTemplate(
  http: HttpClient,
  provider: { readonly type: string; readonly address: string },
  query: string,
  secret?: Readonly<Record<string, string>>,
) {
  const canary = {
    metadata: { name: 'web', namespace: 'shop' },
    spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, service: { port: 80 } },
  } as Canary;
  const secretRef = secret ? { secretRef: { name: 'login' } } : {};
  const template = {
    metadata: { name: 'errors', namespace: 'shop' },
    spec: { provider: { ...provider, ...secretRef }, query },
  } as MetricTemplate;
  const metric = { name: 'errors', templateRef: { name: 'errors' } };
  const source = { canary, metric, role: 'canary', provider: 'contour', metricsServer: '', secret } as const;
  // A busy machine answers late.
  return readMetric({ ...source, template, nowMs: Date.now(), timeoutMs: 120_000 }, http);
}
