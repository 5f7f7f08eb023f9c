import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Canary } from '../../../src/api/canary/canary.ts';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import type { BedClient } from '../bed/client.ts';
import { grantInstalled } from '../bed/installed.ts';
import { createProgram, type Program } from '../scenarios/program.ts';
import { openShopOn, type Shop, type ShopOptions, untilRunning } from '../scenarios/shop.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';

/** What is special about the machine that Holdfast runs on. */
export interface MachineOptions {
  /** Of the JavaScript heap. */
  readonly heapMiB?: number;
  /** The data directory is a file system of this size. */
  readonly diskMiB?: number;
  /** A second Holdfast waits for the Lease. */
  readonly standby?: boolean;
  /** Each signal moves the wall clock by so much. */
  readonly clockStepMs?: number;
}

/** One Holdfast, and what is between it and the API server. */
export interface Machine {
  readonly program: Program;
  readonly api: FaultProxy;
}

/** A shop that is disturbed: only its Holdfast notices, never its pods. */
export interface FaultyShop extends Shop {
  /** The first one leads. */
  readonly machines: readonly [Machine, ...Machine[]];
  readonly metrics: FaultProxy;
  /** Every status that was written. */
  readonly statuses: readonly CanaryStatus[];
  /** Takes what is left of the disk; the returned function gives it back. */
  fillDisk(): () => void;
}

const clock = resolve(import.meta.dirname, 'clock.mjs');

/** A shop whose v1 is initialized and answers through Envoy. */
export async function openFaultyShop(
  bed: BedClient,
  namespace: string,
  options: ShopOptions & MachineOptions,
): Promise<FaultyShop> {
  await bed.createNamespace(namespace);
  const repo = await bed.createGitRepo(namespace);
  const granted = await grantInstalled(bed, [namespace]);
  const metrics = await startFaultProxy(bed.prometheusUrl);
  const folder = mkdtempSync(join(tmpdir(), `holdfast-faults-${namespace}-`));
  const env = environmentOf(options);
  const disk = join(folder, 'disk');
  const startMachine = async (name: string): Promise<Machine & { stop(): Promise<void> }> => {
    const api = await startFaultProxy(bed.apiServer, bed.ca);
    const kubeconfigPath = through(api, granted, join(folder, `${name}.kubeconfig`));
    const dataFolder = options.diskMiB === undefined ? join(folder, name) : join(disk, 'data');
    const place = {
      ...{ namespaces: [namespace], kubeconfigPath, dataFolder, metricsUrl: metrics.url },
      isKeptRunning: true,
    };
    const program = createProgram(bed, place, repo.url, {}, env);
    return {
      program,
      api,
      async stop() {
        await program.stop();
        await api.close();
      },
    };
  };
  if (options.diskMiB !== undefined) {
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${options.diskMiB}m`, 'tmpfs', disk]);
  }
  const first = await startMachine('first');
  const shop = await untilRunning(openShopOn(bed, { namespace, repo, program: first.program }, options));
  const second = options.standby ? [await startMachine('second')] : [];
  for (const { program } of second) program.start();
  const stopped = new AbortController();
  const statuses: CanaryStatus[] = [];
  const path = `/apis/flagger.app/v1beta1/namespaces/${namespace}/canaries`;
  const keep = ({ object }: { object: unknown }) => void statuses.push((object as Canary).status ?? {});
  void bed.api.follow(path, keep, stopped.signal).catch(() => undefined);
  return {
    ...shop,
    machines: [first, ...second],
    metrics,
    statuses,
    fillDisk() {
      const ballast = join(disk, 'ballast');
      try {
        writeFileSync(ballast, Buffer.alloc((options.diskMiB ?? 0) * 1024 * 1024));
      } catch {
        // Until it is full.
      }
      return () => rmSync(ballast);
    },
    async close() {
      stopped.abort();
      for (const machine of [first, ...second]) await machine.stop();
      await shop.close();
      await metrics.close();
      if (options.diskMiB !== undefined) execFileSync('umount', [disk]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function environmentOf({ heapMiB, clockStepMs }: MachineOptions): Record<string, string> {
  const flags = [
    ...(heapMiB === undefined ? [] : [`--max-old-space-size=${heapMiB}`]),
    ...(clockStepMs === undefined ? [] : [`--import=${clock}`]),
  ];
  return { NODE_OPTIONS: flags.join(' '), CLOCK_STEP_MS: String(clockStepMs ?? 0) };
}

/** The same account over the proxy. */
function through({ url }: FaultProxy, kubeconfigPath: string, path: string): string {
  const config = parse(readFileSync(kubeconfigPath, 'utf8')) as {
    clusters: Array<{ cluster: Record<string, unknown> }>;
  };
  for (const one of config.clusters) one.cluster = { server: url };
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, stringify(config), { mode: 0o600 });
  return path;
}
