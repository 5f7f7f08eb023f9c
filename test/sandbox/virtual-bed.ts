import { setTimeout as sleep } from 'node:timers/promises';
import { createVirtualClock, type VirtualClock } from '../../src/sandbox/virtual-clock.ts';
import { type Bed, startBed, statusOf } from './holdfast-bed.ts';

/** A bed whose pods, polls and rollouts live in virtual time. */
export interface VirtualBed extends Bed {
  readonly clock: VirtualClock;
  /** Lets time pass in steps of `stepMs`, with real time in between for requests to be answered, until the look gives something. */
  pass(what: string, look: () => Promise<unknown>, stepMs?: number): Promise<void>;
  /** Lets this much time pass, in steps of `stepMs`. */
  passMs(durationMs: number, stepMs?: number): Promise<void>;
}

/** Nothing of Holdfast runs yet. */
export async function startVirtualBed(): Promise<VirtualBed> {
  const clock = createVirtualClock();
  const bed = await startBed(clock);
  return {
    ...bed,
    clock,
    async pass(what, look, stepMs = 200) {
      for (let count = 0; count < 5000; count += 1) {
        if (await look()) return;
        clock.advance(stepMs);
        await sleep(4);
      }
      throw new Error(`${what}: not seen; there is ${JSON.stringify(statusOf(await bed.canary()))}`);
    },
    async passMs(durationMs, stepMs = 1000) {
      for (let passedMs = 0; passedMs < durationMs; passedMs += stepMs) {
        clock.advance(stepMs);
        await sleep(5);
      }
    },
  };
}

/** Whether `web` is in this phase with no release under way. */
export async function isAtRest(bed: Bed, phase: string): Promise<boolean> {
  const status = statusOf(await bed.canary());
  return status.phase === phase && status.run === undefined;
}
