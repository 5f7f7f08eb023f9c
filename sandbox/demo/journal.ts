import type { TrafficMoved } from '../../src/terminal/timeline/news.ts';
import type { DemoEvent, Difference } from './events.ts';

/** What the story showed on the way, read from what was told. */
export interface Journal {
  add(event: DemoEvent): void;
  facts(): JournalFacts;
  /** What did not happen on the way as it should have. */
  differences(): Difference[];
}

/** Facts for the summary. */
interface JournalFacts {
  readonly promoted: readonly string[];
  readonly reverted: string;
  readonly revertReason: string;
  readonly failureToGoodMs: number | null;
  readonly heldMs: number | null;
}

interface Memory {
  chapter: string;
  readonly promoted: Set<string>;
  reverted: string;
  revertReason: string;
  /** Moments in milliseconds since the demo began. */
  failedMs?: number;
  canaryCarriesMs?: number;
  goodMs?: number;
  idleSeen: boolean;
  readonly unexpected: Difference[];
}

/** An empty journal. `releaseOf` gives the release of a commit. */
export function createJournal(releaseOf: (commit: string) => string): Journal {
  const memory: Memory = {
    chapter: '',
    promoted: new Set(),
    reverted: '',
    revertReason: '',
    idleSeen: false,
    unexpected: [],
  };
  return {
    add: (event) => remember(memory, event, releaseOf),
    facts: () => ({
      promoted: [...memory.promoted],
      reverted: memory.reverted,
      revertReason: memory.revertReason,
      failureToGoodMs: between(memory.failedMs, memory.goodMs),
      heldMs: between(memory.canaryCarriesMs, memory.goodMs),
    }),
    differences: () => [...memory.unexpected, ...missing(memory)],
  };
}

function remember(memory: Memory, event: DemoEvent, releaseOf: (commit: string) => string): void {
  switch (event.type) {
    case 'commit':
      memory.chapter = event.name;
      break;
    case 'state':
      rememberState(memory, event);
      break;
    case 'traffic':
      rememberTraffic(memory, event, releaseOf);
      break;
    case 'event':
      if (event.reason === 'Reverting') memory.revertReason = event.message.replace(/^.*?: /, '');
      break;
    case 'checks':
      if (memory.chapter === 'revert') surprise(memory, 'checks after git revert', 'none', event.during);
      break;
    case 'quiet':
      memory.idleSeen = true;
      if (event.written.length > 0)
        surprise(memory, 'written while the rejected commit is at head', 'nothing', event.written.join(', '));
      break;
  }
}

function rememberState(memory: Memory, event: Extract<DemoEvent, { type: 'state' }>): void {
  const { chapter } = memory;
  if (event.state === 'Held') memory.failedMs ??= event.elapsedMs;
  if (event.phase === 'Failed') memory.reverted = chapter;
  const good = event.phase === 'Succeeded' || event.phase === 'Initialized';
  if (good && (chapter === 'v1' || chapter === 'v2')) memory.promoted.add(chapter);
}

function rememberTraffic(
  memory: Memory,
  event: DemoEvent & TrafficMoved,
  releaseOf: (commit: string) => string,
): void {
  if (memory.chapter === 'revert' && event.canaryWeight > 0)
    surprise(memory, 'traffic on the canary after git revert', '0 %', `${event.canaryWeight} %`);
  if (memory.failedMs === undefined) return;
  if (event.canaryWeight === 100) memory.canaryCarriesMs ??= event.elapsedMs;
  const [first] = event.serving;
  if (first?.role === 'primary' && first.weight === 100 && releaseOf(first.commit) === 'v2')
    memory.goodMs ??= event.elapsedMs;
}

function surprise(memory: Memory, what: string, expected: string, found: string): void {
  memory.unexpected.push({ what, expected, found });
}

function missing(memory: Memory): Difference[] {
  const seen = [
    { what: 'canary carries all traffic while v3 is held', seen: memory.canaryCarriesMs !== undefined },
    { what: 'v2 carries all traffic after v3 failed', seen: memory.goodMs !== undefined },
    { what: 'rejected commit stays at head for three polls', seen: memory.idleSeen },
  ];
  return seen
    .filter((entry) => !entry.seen)
    .map(({ what }) => ({ what, expected: 'seen', found: 'not seen' }));
}

function between(fromMs: number | undefined, untilMs: number | undefined): number | null {
  return fromMs === undefined || untilMs === undefined ? null : untilMs - fromMs;
}
