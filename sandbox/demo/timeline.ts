import { shorten } from '../../src/api/text.ts';
import { paint, printable, type Tone, wrap } from '../../src/terminal/output.ts';
import type { DemoEvent, Ended, Quiet, Started, StateChanged } from './events.ts';
import type { NextCommand } from './options.ts';
import {
  besideLabel,
  checkLines,
  headline,
  inSeconds,
  lineWidth,
  row,
  type TextStyle,
  trafficLine,
} from './timeline-rows.ts';

/** Makes lines for people out of events. */
interface Timeline {
  /** Lines to print for this event; often none. */
  lines(event: DemoEvent): string[];
  /** What is going on at this moment, for a line that is redrawn; empty when there is nothing to say. */
  now(): string;
}

interface State {
  readonly look: TextStyle;
  readonly words: CommitNames;
  readonly commands: readonly NextCommand[];
  last: StateChanged | undefined;
  /** The cause that was told last; it is not repeated. */
  cause: string;
}

/** A timeline without history. `commands` are offered at the end. */
export function createTimeline(look: TextStyle, commands: readonly NextCommand[]): Timeline {
  const state: State = { look, words: createCommitNames(), commands, last: undefined, cause: '' };
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
      const line = trafficLine(look, event.canaryWeight, event.serving, words.releaseOf);
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

function opening({ screen, glyphs }: TextStyle, { stage, namespace, provider, sampled }: Started): string[] {
  const bars = `${paint(screen, 'good', glyphs.primary)} primary  ${paint(screen, 'busy', glyphs.canary)} canary`;
  const requests = sampled ? '' : ', no requests';
  return [
    `${paint(screen, 'strong', 'Holdfast demo')}: one good release, one bad release, one git revert`,
    paint(screen, 'quiet', shorten(`   ${stage}`, lineWidth(screen))),
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

function quietRow(
  look: TextStyle,
  { gitRequests, seconds: lasted, written }: Quiet,
  elapsedMs: number,
): string[] {
  const quiet = written.length === 0;
  const text = quiet
    ? `v3 stays at head: ${gitRequests} Git requests in ${lasted} s, nothing written`
    : `v3 stays at head, but Holdfast wrote: ${written.join(', ')}`;
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

const indent = '   ';
const labelWidth = 10;

/** The end of the timeline: what was promoted and reverted, how long it took, what differs, what to try next. */
function summaryLines(look: TextStyle, ended: Ended, commands: readonly NextCommand[]): string[] {
  const { screen, glyphs } = look;
  const title = ended.ok
    ? paint(screen, 'good', `${glyphs.pass}  The cluster is in the expected state.`)
    : paint(screen, 'bad', `${glyphs.fail}  The cluster is not in the expected state.`);
  return [
    title,
    ...differenceLines(look, ended),
    '',
    ...entry(look, 'promoted', ended.promoted.join(', ') || 'nothing'),
    ...entry(look, 'reverted', revertedText(ended)),
    ...entry(look, 'back', backText(ended)),
    ...entry(look, 'requests', requestsText(ended)),
    ...(ended.log ? entry(look, 'log', ended.log) : []),
    ...(ended.ok ? ['', ...nextLines(look, commands)] : []),
  ];
}

function differenceLines(look: TextStyle, { differences }: Ended): string[] {
  return differences.flatMap(({ what, expected, found }) =>
    wrap(`${what}: expected ${expected}, found ${found}`, lineWidth(look.screen), indent),
  );
}

function entry({ screen }: TextStyle, label: string, text: string): string[] {
  const [first = '', ...rest] = wrap(text, lineWidth(screen), ' '.repeat(indent.length + labelWidth));
  const name = paint(screen, 'quiet', label.padEnd(labelWidth));
  return [`${indent}${name}${first.trimStart()}`, ...rest];
}

function revertedText({ reverted, revertReason }: Ended): string {
  if (!reverted) return 'nothing';
  return printable(
    `${reverted}: healthy as a canary, but its primary did not become ready (${revertReason})`,
  );
}

function backText({ failureToGoodMs, heldMs }: Ended): string {
  if (failureToGoodMs === null) return 'the last-known-good was not seen to serve again';
  const held =
    heldMs === null ? '' : `; for ${inSeconds(heldMs)} the healthy canary carried all traffic meanwhile`;
  return `v2 served again ${inSeconds(failureToGoodMs)} after the failure was found${held}`;
}

function requestsText({ requests, failedRequests }: Ended): string {
  if (requests === null) return 'none were sampled';
  return `${failedRequests} of ${requests.toLocaleString('en')} sampled requests failed`;
}

function nextLines({ screen }: TextStyle, commands: readonly NextCommand[]): string[] {
  const width = Math.max(...commands.map(({ line }) => line.length));
  return [
    `${indent}${paint(screen, 'strong', 'Try next')}`,
    ...commands.map(
      ({ line, purpose }) => `${indent}${line.padEnd(width)}  ${paint(screen, 'quiet', purpose)}`,
    ),
  ];
}

/** Turns Holdfast's own words into the demo's: commits by the names of the releases. */
interface CommitNames {
  /** A commit was made: from now on it is called by this name. */
  learn(commit: { readonly name: string; readonly commit: string; readonly subject: string }): void;
  /** The message with names for commits. */
  plain(message: string): string;
  /** Release of a commit. */
  releaseOf(commit: string): string;
}

/** Knows no commit yet. */
function createCommitNames(): CommitNames {
  const known: Array<{ commit: string; name: string; subject: string }> = [];
  const called = (name: string) => (name === 'revert' ? 'the revert' : name);
  return {
    learn: (entry) => {
      known.push(entry);
    },
    plain(message) {
      return known.reduce((text, { commit, name, subject }) => {
        const short = commit.slice(0, 7);
        return text.replaceAll(`${short} "${subject}"`, called(name)).replaceAll(short, called(name));
      }, message);
    },
    releaseOf(commit) {
      const found = known.find((entry) => entry.commit === commit)?.name;
      return found === 'revert' ? 'v2' : (found ?? commit.slice(0, 7));
    },
  };
}
