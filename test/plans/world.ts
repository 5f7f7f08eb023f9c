import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiRequest } from '../../sandbox/api-server/request.ts';
import type { FaultRule } from '../../sandbox/api-server/server.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { createVirtualClock, type VirtualClock } from '../../sandbox/virtual-clock.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { untilCalm } from '../sandbox/calm.ts';
import { installCrds } from '../sandbox/holdfast-bed.ts';
import type { GitFront, GitView, History } from './git-front.ts';
import { type HoldfastProcess, startProcess } from './process.ts';

/** A cluster, a Git server and Holdfast in virtual time, which passes as fast as there is nothing to do. */
export interface World {
  readonly clock: VirtualClock;
  readonly sandbox: Sandbox;
  readonly git: GitView;
  /** Full SHAs of its history, oldest first. */
  readonly commits: readonly string[];
  readonly signer: string;
  /** Those that run, the first one first. */
  readonly processes: readonly HoldfastProcess[];
  /** Milliseconds since the world began. */
  ageMs(): number;
  /** Starts a process; without a folder in one of its own. */
  start(more?: { wallOffsetMs?: number; dataDirectory?: string }): Promise<HoldfastProcess>;
  kill(process: HoldfastProcess): void;
  /** As somebody with kubectl. */
  send(method: string, path: string, body?: unknown, contentType?: string): Promise<void>;
  /** Lets time pass until the next thing happens. */
  pass(): Promise<void>;
  /** Resolves when so much time has passed; somebody must let it pass. */
  wait(durationMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Timers that fall due within so much are taken together. */
const shortestStepMs = 100;
const longestStepMs = 5_000;
/** A world with a Source of this history and no process of Holdfast yet. */
export async function createWorld(front: GitFront, history: History, writesGit = false): Promise<World> {
  const clock = createVirtualClock();
  const startMs = clock.nowMs();
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-plan-'));
  const sandbox = await startSandbox({ podReadyMs: 2_000, terminationMs: 1_000, clock });
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, sandbox.kubeconfig);
  const git = await front.view(history, writesGit);
  const processes: HoldfastProcess[] = [];
  const killed: HoldfastProcess[] = [];
  let count = 0;
  sandbox.fault(ofProcesses);
  sandbox.perturbWatches(({ userAgent }) => {
    const until = processes.find((each) => each.userAgent === userAgent)?.stopped();
    return until && { until };
  });

  /** Nothing reaches the server from a dead process, nor from one that stands still before it goes on. */
  function ofProcesses({ userAgent }: ApiRequest): ReturnType<FaultRule> {
    if (!userAgent.startsWith('holdfast/')) return undefined;
    const sender = processes.find((each) => each.userAgent === userAgent);
    if (dead.has(userAgent)) return 'drop';
    const until = sender?.stopped();
    return until && { until };
  }

  let starting = 0;
  /** Nobody is started any more, and those that end are closed and not killed. */
  let isClosing = false;
  const dead = new Set<string>();
  async function start(
    more: { wallOffsetMs?: number; dataDirectory?: string } = {},
  ): Promise<HoldfastProcess> {
    // A fault may come due while the world ends.
    if (isClosing) return new Promise(() => undefined);
    count += 1;
    starting += 1;
    const number = count;
    const { wallOffsetMs = 0, dataDirectory = join(folder, `data-${number}`) } = more;
    const isSuccessor = more.dataDirectory !== undefined;
    const place = { sandbox, clock, kubeconfig, dataDirectory, number, wallOffsetMs, isSuccessor };
    const process = await startProcess(place);
    starting -= 1;
    processes.push(process);
    void process.ended.then(() => restart(process, more.wallOffsetMs));
    return process;
  }

  /** As the kubelet does with a container that ended. */
  function restart(ended: HoldfastProcess, wallOffsetMs = 0): void {
    if (isClosing || ended.isDead() || !processes.includes(ended)) return;
    kill(ended);
    clock.after(1_000, () => {
      if (!isClosing) void start({ wallOffsetMs, dataDirectory: ended.dataDirectory });
    });
  }

  function kill(process: HoldfastProcess): void {
    processes.splice(processes.indexOf(process), 1);
    dead.add(process.userAgent);
    process.kill();
    killed.push(process);
  }

  async function send(method: string, path: string, body?: unknown, contentType = 'application/json') {
    const init = { method, headers: { 'content-type': contentType } };
    const sent = body === undefined ? init : { ...init, body: JSON.stringify(body) };
    const answer = await fetch(`${sandbox.url}${path}`, sent);
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  }

  const calm = () => untilCalm(() => sandbox.requests.underWay() + git.underWay() > 0 || starting > 0);

  await installCrds(sandbox.store, send);
  const metadata = { name: 'shop' };
  await send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
  return {
    clock,
    sandbox,
    git,
    commits: history.commits,
    signer: history.signer,
    processes,
    ageMs: () => clock.nowMs() - startMs,
    start,
    kill,
    send,
    async pass() {
      await calm();
      const nextMs = clock.nextInMs() ?? longestStepMs;
      clock.advance(Math.min(Math.max(nextMs, shortestStepMs), longestStepMs));
    },
    wait: (durationMs) => new Promise((resolve) => void clock.after(durationMs, () => resolve())),
    async close() {
      isClosing = true;
      let isOver = false;
      const all = Promise.all([...processes, ...killed].map((each) => each.close())).then(() => {
        isOver = true;
      });
      while (!isOver) {
        await calm();
        clock.advance(shortestStepMs);
      }
      await all;
      await git.close();
      await sandbox.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A Source of the world's repository. */
export function sourceOf(world: World, name = 'shop', spec: Record<string, unknown> = {}): KubernetesObject {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name, namespace: 'shop' },
    spec: { url: world.git.url, ref: { branch: 'main' }, interval: '30s', prune: true, ...spec },
  };
}
