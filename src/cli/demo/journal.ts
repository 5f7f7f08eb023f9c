import type { DemoEvent, Difference } from './events.ts';

/** What the story on the way must show, read from what was told. Times in milliseconds since the demo began. */
export interface Journal {
  add(event: DemoEvent): void;
  readonly promoted: readonly string[];
  readonly reverted: string;
  readonly revertReason: string;
  readonly failureToGoodMs: number | null;
  readonly heldMs: number | null;
  /** What did not happen on the way as it should have. */
  differences(): Difference[];
}

/** Release names by commit. */
export type NamesOf = (commit: string) => string;

/** An empty journal. */
export function createJournal(nameOf: NamesOf): Journal {
  let chapter = '';
  let promoted: readonly string[] = [];
  let reverted = '';
  let revertReason = '';
  let failedAtMs: number | undefined;
  let goodAtMs: number | undefined;
  let heldFromMs: number | undefined;
  let heldUntilMs: number | undefined;
  let quietSeen = false;
  const surprises: Difference[] = [];

  function onTraffic(event: Extract<DemoEvent, { type: 'traffic' }>): void {
    if (chapter === 'revert' && event.canaryWeight > 0)
      surprises.push({
        what: 'traffic on the canary after git revert',
        expected: '0 %',
        found: `${event.canaryWeight} %`,
      });
    if (chapter !== 'v3' || failedAtMs === undefined) return;
    if (event.canaryWeight === 100) heldFromMs ??= event.elapsedMs;
    const [first] = event.serving;
    if (first?.role !== 'primary' || first.weight !== 100 || nameOf(first.commit) !== 'v2') return;
    goodAtMs ??= event.elapsedMs;
    if (heldFromMs !== undefined) heldUntilMs ??= event.elapsedMs;
  }

  function onState(event: Extract<DemoEvent, { type: 'state' }>): void {
    if (event.state === 'Held') failedAtMs ??= event.elapsedMs;
    if (event.phase === 'Failed' && chapter === 'v3') reverted = 'v3';
    const isGood = event.phase === 'Succeeded' || event.phase === 'Initialized';
    if (isGood && (chapter === 'v1' || chapter === 'v2') && !promoted.includes(chapter))
      promoted = [...promoted, chapter];
  }

  return {
    add(event) {
      if (event.type === 'commit') chapter = event.name;
      if (event.type === 'traffic') onTraffic(event);
      if (event.type === 'state') onState(event);
      if (event.type === 'event' && event.reason === 'Reverting') revertReason = event.message;
      if (event.type === 'checks' && chapter === 'revert')
        surprises.push({ what: 'checks after git revert', expected: 'none', found: event.during });
      if (event.type !== 'quiet') return;
      quietSeen = true;
      if (event.written.length > 0)
        surprises.push({
          what: 'written while the rejected commit is at head',
          expected: 'nothing',
          found: event.written.join(', '),
        });
    },
    get promoted() {
      return promoted;
    },
    get reverted() {
      return reverted;
    },
    get revertReason() {
      return revertReason;
    },
    get failureToGoodMs() {
      return failedAtMs === undefined || goodAtMs === undefined ? null : goodAtMs - failedAtMs;
    },
    get heldMs() {
      return heldFromMs === undefined || heldUntilMs === undefined ? null : heldUntilMs - heldFromMs;
    },
    differences() {
      const missing: Difference[] = [];
      if (heldFromMs === undefined)
        missing.push({
          what: 'canary carries all traffic while v3 is held',
          expected: 'seen',
          found: 'not seen',
        });
      if (goodAtMs === undefined)
        missing.push({ what: 'v2 carries all traffic after v3 failed', expected: 'seen', found: 'not seen' });
      if (!quietSeen)
        missing.push({ what: 'head stays bad for three polls', expected: 'seen', found: 'not seen' });
      return [...surprises, ...missing];
    },
  };
}
