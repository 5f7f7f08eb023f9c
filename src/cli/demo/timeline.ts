import { clip } from '../../api/limits.ts';
import { paint, type Tone } from '../output.ts';
import type { DemoEvent, Quiet, Started, StateChanged } from './events.ts';
import type { NextCommand } from './options.ts';
import {
  besideLabel,
  checkLines,
  headline,
  inSeconds,
  type Look,
  lineWidth,
  row,
  trafficLine,
} from './rows.ts';
import { summaryLines } from './summary.ts';
import { createWords, type Words } from './words.ts';

/** Makes lines for people out of events. */
export interface Timeline {
  /** Lines to print for this event; often none. */
  lines(event: DemoEvent): string[];
  /** What is going on at this moment, for a line that is redrawn; empty when there is nothing to say. */
  now(): string;
}

interface State {
  readonly look: Look;
  readonly words: Words;
  readonly commands: readonly NextCommand[];
  last: StateChanged | undefined;
  /** The cause that was told last; it is not repeated. */
  cause: string;
}

/** A timeline without history. `commands` are offered at the end. */
export function createTimeline(look: Look, commands: readonly NextCommand[]): Timeline {
  const state: State = { look, words: createWords(), commands, last: undefined, cause: '' };
  return {
    lines: (event) => linesOf(state, event),
    now: () => (state.last ? state.words.plain(currently(state.last)) : 'until Git is polled'),
  };
}

function linesOf(state: State, event: DemoEvent): string[] {
  const { look, words } = state;
  const { elapsedMs } = event;
  switch (event.type) {
    case 'started':
      return opening(look, event);
    case 'note':
      return besideLabel(look, event.message).map((line) => `   ${paint(look.screen, 'quiet', line)}`);
    case 'commit':
      words.learn(event);
      state.last = undefined;
      state.cause = '';
      return ['', ...headline(look, event)];
    case 'traffic': {
      const line = trafficLine(look, event.canaryWeight, event.serving, words.nameOf);
      return row(look, { elapsedMs, label: 'traffic', tone: 'none', lines: [line] });
    }
    case 'iteration':
      return row(look, {
        elapsedMs,
        label: 'iteration',
        tone: 'none',
        lines: [`${event.iteration} of the analysis`],
      });
    case 'checks':
      return row(look, { elapsedMs, label: 'check', tone: 'none', lines: checkLines(look, event.results) });
    case 'state':
      return stateRow(state, event, elapsedMs);
    case 'quiet':
      return quietRow(look, event, elapsedMs);
    case 'ended':
      return ['', ...summaryLines(look, event, state.commands)];
    case 'event':
      return [];
  }
}

function opening({ screen, glyphs }: Look, { stage, namespace, provider, sampled }: Started): string[] {
  const bars = `${paint(screen, 'good', glyphs.primary)} primary  ${paint(screen, 'busy', glyphs.canary)} canary`;
  const requests = sampled ? '' : ', no requests';
  return [
    `${paint(screen, 'strong', 'Holdfast demo')}: one good release, one bad release, one git revert`,
    paint(screen, 'quiet', clip(`   ${stage}`, lineWidth(screen))),
    `${paint(screen, 'quiet', `   namespace ${namespace}, provider ${provider}${requests}`)}   ${bars}`,
  ];
}

const tones: Readonly<Record<string, Tone>> = {
  Initialized: 'good',
  Succeeded: 'good',
  Verifying: 'none',
  Held: 'busy',
  Reverting: 'busy',
  Failed: 'bad',
};

/** A row when phase or post-promotion state changes; in Failed also when there is more to say. */
function stateRow(state: State, event: StateChanged, elapsedMs: number): string[] {
  const { look, last } = state;
  state.last = event;
  const label = event.state || event.phase;
  const isSame = label === (last && (last.state || last.phase));
  if (label === '' || (isSame && (label !== 'Failed' || last?.message === event.message))) return [];
  const lines = besideLabel(look, withoutKnownCause(state, state.words.plain(event.message)));
  return row(look, { elapsedMs, label: isSame ? '' : label, tone: tones[label] ?? 'none', lines });
}

function withoutKnownCause(state: State, message: string): string {
  const colon = message.indexOf(': ');
  if (colon < 0) return message;
  const cause = message.slice(colon + 2);
  if (cause === state.cause) return message.slice(0, colon);
  state.cause = cause;
  return message;
}

function quietRow(look: Look, { gitRequests, seconds: lasted, written }: Quiet, elapsedMs: number): string[] {
  const quiet = written.length === 0;
  const text = quiet
    ? `v3 stays at head: ${gitRequests} Git requests in ${lasted} s, nothing written`
    : `v3 stays at head, but this was written: ${written.join(', ')}`;
  return row(look, {
    elapsedMs,
    label: 'quiet',
    tone: quiet ? 'good' : 'bad',
    lines: besideLabel(look, text),
  });
}

function currently({ message, next, nextTime, state, phase }: StateChanged): string {
  if (!nextTime) return message;
  const leftMs = Math.max(0, Date.parse(nextTime) - Date.now());
  return `${state || phase}; in ${inSeconds(leftMs)}: ${next}`;
}
