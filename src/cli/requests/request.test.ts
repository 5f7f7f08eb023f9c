import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../api/clock.ts';
import { ApiError, type ApiErrorKind } from '../../cluster/errors.ts';
import { pollUntil, withTimeout } from './request.ts';

/** Every pause is over at once, and the time has passed. */
function quickClock(): Clock {
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    after(delayMs, then) {
      nowMs += delayMs;
      queueMicrotask(then);
      return () => undefined;
    },
  };
}

function failure(kind: ApiErrorKind): ApiError {
  const details = { kind, status: 0, reason: '', effectUnknown: false, fieldConflicts: [] };
  return new ApiError(`get Canary shop/web: ${kind}`, details);
}

/** Looks until `good` comes, with these errors before it; how often it looked. */
async function looked(errors: readonly ApiErrorKind[], timeoutMs: number) {
  let looks = 0;
  const found = pollUntil(quickClock(), timeoutMs, async () => {
    const kind = errors[looks++];
    if (kind) throw failure(kind);
    return 'good';
  });
  return { found: await found.catch((error: ApiError) => error.kind), looks };
}

describe('waiting', () => {
  it('goes on over an API server that does not answer for a while', async () => {
    expect(await looked(['transient', 'timeout', 'tooManyRequests'], 60_000)).toEqual({
      found: 'good',
      looks: 4,
    });
  });

  it('says that it cannot be asked when it does not answer at the end either', async () => {
    const { found, looks } = await looked(Array(100).fill('transient'), 2_000);
    expect(found).toBe('transient');
    expect(looks).toBe(5);
  });

  it('ends at once at what another look does not mend', async () => {
    expect(await looked(['forbidden'], 60_000)).toEqual({ found: 'forbidden', looks: 1 });
  });

  it('looks once more when the time is up', async () => {
    expect(await looked(['transient'], 1)).toEqual({ found: 'good', looks: 2 });
  });
});

describe('--timeout', () => {
  const read = (text: string) =>
    withTimeout(new Command(), 600).parse(['--timeout', text], { from: 'user' }).opts().timeout;

  it.each([
    ['90', 90],
    ['0.5', 0.5],
    ['10m', 600],
    ['1h30m', 5_400],
  ])('%s is %d seconds', (text, expected) => expect(read(text)).toBe(expected));

  it.each(['', '0', '0s', '-1', '5 minutes', 'Infinity'])('refuses %j', (text) =>
    expect(() => read(text)).toThrow(
      `--timeout: ${JSON.stringify(text)} is neither a number of seconds above 0 nor a duration such as 10m`,
    ),
  );
});
