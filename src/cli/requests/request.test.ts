import { describe, expect, it } from 'vitest';
import type { Clock } from '../../api/clock.ts';
import { ApiError, type ApiErrorKind } from '../../cluster/errors.ts';
import { pollUntil } from './request.ts';

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
