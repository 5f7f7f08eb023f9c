import { setTimeout as sleep } from 'node:timers/promises';
import { createVirtualClock, type VirtualClock } from '../../sandbox/virtual-clock.ts';
import { untilCalm } from './calm.ts';
import { type Bed, startBed } from './holdfast-bed.ts';

/** A bed whose intervals and deadlines pass some twenty times as fast as on the wall. */
export interface QuickBed extends Bed {
  readonly clock: VirtualClock;
  /** Resolves when so much of the bed's own time has passed: as fast as what happens in it is dealt with. */
  pass(durationMs: number): Promise<void>;
}

/** Time moves on by this much whenever the process had time for what the last move led to; all of the bed's parts wait for the same clock. */
const stepMs = 100;
const pauseMs = 4;

/** A bed in virtual time that runs by itself, so that a test waits for what happens and not for configured intervals. */
export async function startQuickBed(): Promise<QuickBed> {
  const clock = createVirtualClock();
  const bed = await startBed(clock);
  let stopped = false;
  let held = 0;
  let passing = 0;
  const running = run();

  async function run(): Promise<void> {
    while (!stopped) {
      if (held === 0) clock.advance(stepMs);
      if (held === 0 && passing > 0) await untilCalm(isBusy);
      else await sleep(pauseMs);
    }
  }

  const isBusy = () => bed.sandbox.requests.underWay() > 0;

  return {
    ...bed,
    // A poll takes two requests, whose time is not virtual.
    pollInterval: '4s',
    clock,
    /** Time stands still: git is a process of its own, and on a busy machine steps would pass before it has ended. */
    async commit(...change) {
      held += 1;
      try {
        return await bed.commit(...change);
      } finally {
        held -= 1;
      }
    },
    async pass(durationMs) {
      passing += 1;
      await new Promise<void>((resolve) => void clock.after(durationMs, resolve));
      passing -= 1;
    },
    async close() {
      // What ends waits for timers, too: time stops last.
      await bed.close();
      stopped = true;
      await running;
    },
  };
}
