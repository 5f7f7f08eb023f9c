import type { Tone } from '../output.ts';
import type { RolloutNews, StateChanged } from './news.ts';
import { checkLines, inSeconds, row, type TextStyle, trafficLine, wrapAfterLabel } from './rows.ts';

/** How commits are called. */
export interface CommitWords {
  /** A message of Holdfast with these names. */
  plain(message: string): string;
  /** The release of a commit. */
  releaseOf(commit: string): string;
}

/** Makes lines for people out of what happens to one Canary. */
interface RolloutTimeline {
  /** Lines to print; often none. `time` is printed in front of them. */
  lines(news: RolloutNews, time: string): string[];
  /** Another release begins: a cause that was printed for the last one is printed again. */
  begin(): void;
  /** What is going on, for a line that is redrawn; empty before the first state. */
  now(nowMs: number): string;
}

/** A timeline without history. */
export function createRolloutTimeline(look: TextStyle, words: CommitWords): RolloutTimeline {
  let last: StateChanged | undefined;
  /** The cause that was printed last; it is not repeated. */
  let printedCause = '';

  /** A row when phase or post-promotion state changes; in Failed also when there is more to say. */
  function stateRow(event: StateChanged, time: string): string[] {
    const before = last;
    last = event;
    const label = event.state || event.phase;
    const isSame = label === (before && (before.state || before.phase));
    if (label === '' || (isSame && (label !== 'Failed' || before?.message === event.message))) return [];
    const lines = wrapAfterLabel(look, withoutKnownCause(words.plain(event.message)));
    return row(look, { time, label: isSame ? '' : label, tone: tones[label] ?? 'none', lines });
  }

  function withoutKnownCause(message: string): string {
    const colon = message.indexOf(': ');
    if (colon < 0) return message;
    const cause = message.slice(colon + 2);
    if (cause === printedCause) return message.slice(0, colon);
    printedCause = cause;
    return message;
  }

  return {
    lines(news, time) {
      const plain = { time, tone: 'none' as const };
      switch (news.type) {
        case 'traffic': {
          const line = trafficLine(look, news.canaryWeight, news.serving, words.releaseOf);
          return row(look, { ...plain, label: 'traffic', lines: [line] });
        }
        case 'iteration':
          return row(look, {
            ...plain,
            label: 'iteration',
            lines: [`${news.iteration} of the analysis`],
          });
        case 'checks':
          return row(look, { ...plain, label: 'check', lines: checkLines(look, news.results) });
        case 'state':
          return stateRow(news, time);
      }
    },
    begin() {
      last = undefined;
      printedCause = '';
    },
    now(nowMs) {
      if (!last) return '';
      const { message, next, nextTime, state, phase } = last;
      if (!nextTime) return words.plain(message);
      const leftMs = Math.max(0, Date.parse(nextTime) - nowMs);
      return words.plain(`${state || phase}; in ${inSeconds(leftMs)}: ${next}`);
    },
  };
}

const tones: Readonly<Record<string, Tone>> = {
  Initialized: 'good',
  Succeeded: 'good',
  Verifying: 'none',
  Held: 'busy',
  Reverting: 'busy',
  Failed: 'bad',
};
