import { type Clock, calendarOf } from '../../api/clock.ts';
import type { Poller } from '../../contracts/git.ts';
import { nextDelayMs, type PollSchedule } from './schedule.ts';

/** Settings of a poller. */
export interface PollerOptions {
  readonly clock: Clock;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
  readonly schedule: PollSchedule;
  /** One poll with all that follows from it; a rejection counts as a failure and is not reported further. */
  readonly poll: (signal: AbortSignal) => Promise<void>;
  /** First wait after a failure; doubles with each. Default 5 s. */
  readonly retryMs?: number;
  /** Longest wait after a failure. Default 5 min. */
  readonly maxRetryMs?: number;
  /** Least time between the starts of two polls, whatever wakes them: a flood of webhooks. Default 1 s. */
  readonly minGapMs?: number;
}

interface State {
  cancelTimer: () => void;
  running: Promise<void> | undefined;
  isWoken: boolean;
  isStopped: boolean;
  failures: number;
  startedMs: number;
  /** When the next scheduled poll is due; a wake-up does not postpone it. */
  dueMs: number;
}

/** Timers are limited to some weeks; a longer wait, as of a schedule by months, is made of several. */
const longestWaitMs = 24 * 3_600_000;

/** A poller that does nothing before `start`. */
export function createSourcePoller(options: PollerOptions): Poller {
  const { clock, minGapMs = 1_000 } = options;
  const abort = new AbortController();
  const state: State = {
    cancelTimer: () => {},
    running: undefined,
    isWoken: false,
    isStopped: false,
    failures: 0,
    startedMs: Number.NEGATIVE_INFINITY,
    dueMs: Number.NEGATIVE_INFINITY,
  };

  function plan(delayMs: number): void {
    state.cancelTimer();
    if (state.isStopped) return;
    const earliest = state.startedMs + minGapMs - clock.nowMs();
    // Wall clocks jump: a gap is never longer than minGapMs.
    const gapMs = Math.min(minGapMs, Math.max(0, earliest));
    wait(Math.max(delayMs, gapMs));
  }

  function wait(leftMs: number): void {
    const partMs = Math.min(leftMs, longestWaitMs);
    state.cancelTimer = clock.after(partMs, partMs < leftMs ? () => wait(leftMs - partMs) : run);
  }

  function run(): void {
    state.isWoken = false;
    state.startedMs = clock.nowMs();
    const polled = options.poll(abort.signal).then(
      () => true,
      () => false,
    );
    state.running = polled.then((succeeded) => {
      state.running = undefined;
      state.failures = succeeded ? 0 : state.failures + 1;
      const delayMs = nextMs(state.failures);
      plan(state.isWoken ? 0 : delayMs);
    });
  }

  function nextMs(failures: number): number {
    const nowMs = clock.nowMs();
    const leftMs = state.dueMs - nowMs;
    const delayMs = waitMs(options, failures);
    // Wall clocks jump: the remaining wait is never longer than a whole one.
    if (failures === 0 && leftMs > 0 && leftMs <= delayMs) return leftMs;
    state.dueMs = nowMs + delayMs;
    return delayMs;
  }

  return {
    start: () => plan(0),
    wake() {
      state.isWoken = true;
      if (!state.running) plan(0);
    },
    async stop() {
      state.isStopped = true;
      state.cancelTimer();
      abort.abort();
      await state.running;
    },
  };
}

function waitMs(options: PollerOptions, failures: number): number {
  const { clock, random, schedule, retryMs = 5_000, maxRetryMs = 300_000 } = options;
  if (failures === 0) return nextDelayMs(schedule, calendarOf(clock), random());
  const backOffMs = Math.min(maxRetryMs, retryMs * 2 ** Math.min(failures - 1, 30));
  // Up to a fifth less, so that Sources that failed together do not come back together.
  return Math.round(backOffMs * (1 - 0.2 * random()));
}
