import { describe, expect, it } from 'vitest';
import { packStatus, unpackStatus } from '../../src/api/canary/bookkeeping.ts';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { playWith } from './matrix/play.ts';
import { STATES, states, UPDATES } from './matrix/states.ts';
import type { Model } from './model.ts';

/** As the API server keeps it. */
function stored(status: CanaryStatus): CanaryStatus {
  return JSON.parse(JSON.stringify(packStatus(status))) as CanaryStatus;
}

/** The version before knows no bookkeeping, and a CRD of another tool drops it. */
function loseBookkeeping(model: Model): void {
  const { bookkeeping, shortCommit, ...known } = stored(model.status);
  model.status = known;
}

describe.each(UPDATES)('a stored status (%s)', (update) => {
  it.each(states)('is read as it was written: %s', (state) => {
    const { status } = STATES[state](update);
    const { shortCommit, ...read } = unpackStatus(stored(status));
    expect(read).toEqual(JSON.parse(JSON.stringify(status)));
  });

  it.each(states)('without its bookkeeping ends as it would have: %s', (state) => {
    const lost = playWith(state, { happens: loseBookkeeping }, update);
    expect(lost).toEqual(playWith(state, { happens: () => undefined }, update));
  });
});
