import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { VirtualClock } from '../../sandbox/virtual-clock.ts';
import type { Clock } from '../../src/api/clock.ts';
import { type App, startApp } from '../../src/server/app.ts';
import { optionsFor } from '../sandbox/holdfast-bed.ts';

/** One process of Holdfast in a simulated world; it can be stopped and killed as a real one. */
export interface HoldfastProcess {
  /** By what the API server knows its requests. */
  readonly userAgent: string;
  readonly dataDirectory: string;
  readonly isDead: () => boolean;
  /** Undefined while it runs; resolves when it goes on. */
  readonly stopped: () => Promise<void> | undefined;
  /** Nothing of it happens any more before `close`: no timer, no request. */
  kill(): void;
  /** SIGSTOP: timers wait, and what is sent to it and by it, too. */
  stop(): void;
  /** SIGCONT. */
  go(): void;
  /** Resolves when it ends by itself, as one does that lost the Lease. */
  readonly ended: Promise<void>;
  /** Resolves when nothing of it is left in this process. */
  close(): Promise<void>;
}

interface ProcessOptions {
  readonly sandbox: Sandbox;
  readonly clock: VirtualClock;
  readonly kubeconfig: string;
  readonly dataDirectory: string;
  /** Tells processes of a world apart. */
  readonly number: number;
  /** How far the wall clock of its machine is off. */
  readonly wallOffsetMs: number;
  /** Whether the one that used the data directory before is gone for good. */
  readonly isSuccessor: boolean;
}

/** Twice as long as by default: every renewal costs the time of a plan. */
const leaseTimes = { leaseMs: 30_000, renewMs: 20_000, retryMs: 5_000 };

/** Starts it. */
export async function startProcess(options: ProcessOptions): Promise<HoldfastProcess> {
  const { sandbox, kubeconfig, dataDirectory, number } = options;
  const version = `0.0.${number}`;
  const machine = machineOf(options.clock, options.wallOffsetMs);
  if (options.isSuccessor) await buryHolder(dataDirectory);
  const log = pino({ level: process.env.HOLDFAST_TEST_LOG ?? 'silent' });
  const given = { ...optionsFor({ kubeconfig, dataDirectory, sandbox }), version, leaseTimes };
  const app: App = await startApp(given, log, machine.wall, machine.monotonic);
  // A process also ends that could not begin to lead.
  const ended = Promise.race([app.lost, app.leading.then(() => app.lost)]).catch(() => undefined);
  let closed: Promise<void> | undefined;
  return {
    userAgent: `holdfast/${version}`,
    dataDirectory,
    isDead: machine.isDead,
    stopped: machine.stopped,
    kill() {
      machine.kill();
      closed ??= app.drain().catch(() => undefined);
    },
    stop: machine.stop,
    go: machine.go,
    ended,
    close() {
      machine.end();
      closed ??= app.drain().catch(() => undefined);
      return closed;
    },
  };
}

/** The process that wrote it has the number of this one, in which all of them run; that of one that never was says the same as its death. */
async function buryHolder(dataDirectory: string): Promise<void> {
  const file = join(dataDirectory, 'holder.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text !== undefined)
    await writeFile(file, JSON.stringify({ ...(JSON.parse(text) as object), pid: 2 ** 30 }));
}

interface Machine {
  readonly wall: Clock;
  readonly monotonic: Clock;
  stop(): void;
  go(): void;
  kill(): void;
  stopped(): Promise<void> | undefined;
  isDead(): boolean;
  /** Timers run again, so that what a dead or stopped process left behind can be cleared away. */
  end(): void;
}

/** The clocks of a process. Timers that fall due while it is stopped run when it goes on; those of a dead one not before the end. */
function machineOf(clock: VirtualClock, wallOffsetMs: number): Machine {
  let dead = false;
  let isOver = false;
  let gone: Promise<void> | undefined;
  let wake: () => void = () => undefined;
  const late = new Set<() => void>();

  function after(delayMs: number, callback: () => void): () => void {
    const run = () => {
      if (isOver || (!dead && !gone)) callback();
      else late.add(run);
    };
    const cancel = clock.after(delayMs, run);
    return () => {
      cancel();
      late.delete(run);
    };
  }

  return {
    wall: { nowMs: () => clock.nowMs() + wallOffsetMs, after },
    monotonic: { nowMs: clock.nowMs, after },
    stop() {
      gone ??= new Promise((resolve) => {
        wake = resolve;
      });
    },
    go() {
      gone = undefined;
      wake();
      const due = [...late];
      late.clear();
      for (const run of due) run();
    },
    kill() {
      dead = true;
      this.go();
    },
    end() {
      isOver = true;
      this.go();
    },
    stopped: () => gone,
    isDead: () => dead,
  };
}
