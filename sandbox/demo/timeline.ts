import { shorten } from '../../src/api/limits.ts';
import { paint, printable, wrap } from '../../src/terminal/output.ts';
import { type CommitWords, createRolloutTimeline } from '../../src/terminal/timeline/rollout-timeline.ts';
import {
  headline,
  inSeconds,
  lineWidth,
  row,
  seconds,
  type TextStyle,
  wrapAfterLabel,
} from '../../src/terminal/timeline/rows.ts';
import type { DemoEvent, Ended, Quiet, Started } from './events.ts';
import type { NextCommand } from './options.ts';

/** Makes lines for people out of events. */
interface Timeline {
  /** Lines to print for this event; often none. */
  lines(event: DemoEvent): string[];
  /** What is going on at this moment, for a line that is redrawn; empty when there is nothing to say. */
  now(): string;
}

/** A timeline without history. `commands` are offered at the end. */
export function createTimeline(look: TextStyle, commands: readonly NextCommand[]): Timeline {
  const words = createCommitNames();
  const rollout = createRolloutTimeline(look, words);
  return {
    lines(event) {
      const time = seconds(event.elapsedMs);
      switch (event.type) {
        case 'started':
          return opening(look, event);
        case 'note':
          return wrapAfterLabel(look, event.message).map((line) => `   ${paint(look.screen, 'quiet', line)}`);
        case 'commit': {
          words.learn(event);
          rollout.begin();
          const { name, subject, commit, intent } = event;
          const title = name === 'revert' ? subject : `${name}  ${subject}`;
          return ['', ...headline(look, { title, commit, remark: intent })];
        }
        case 'quiet':
          return quietRow(look, event, time);
        case 'ended':
          return ['', ...summaryLines(look, event, commands)];
        case 'event':
          return [];
        default:
          return rollout.lines(event, time);
      }
    },
    now: () => rollout.now(Date.now()) || 'until Git is polled',
  };
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

function quietRow(look: TextStyle, { gitRequests, seconds: lasted, written }: Quiet, time: string): string[] {
  const quiet = written.length === 0;
  const text = quiet
    ? `v3 stays at head: ${gitRequests} Git requests in ${lasted} s, nothing written`
    : `v3 stays at head, but Holdfast wrote: ${written.join(', ')}`;
  return row(look, {
    time,
    label: 'quiet',
    tone: quiet ? 'good' : 'bad',
    lines: wrapAfterLabel(look, text),
  });
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
interface CommitNames extends CommitWords {
  /** A commit was made: from now on it is called by this name. */
  learn(commit: { readonly name: string; readonly commit: string; readonly subject: string }): void;
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
