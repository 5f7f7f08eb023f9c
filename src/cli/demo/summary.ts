import { paint, printable, wrap } from '../output.ts';
import type { Ended } from './events.ts';
import type { NextCommand } from './options.ts';
import { inSeconds, type Look, lineWidth } from './rows.ts';

const indent = '   ';
const labelWidth = 10;

/** The end of the timeline: what was promoted and reverted, how long it took, what differs, what to try next. */
export function summaryLines(look: Look, ended: Ended, commands: readonly NextCommand[]): string[] {
  const { screen, glyphs } = look;
  const title = ended.ok
    ? paint(screen, 'good', `${glyphs.pass}  The cluster is as the story says.`)
    : paint(screen, 'bad', `${glyphs.fail}  The cluster is not as the story says.`);
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

function differenceLines(look: Look, { differences }: Ended): string[] {
  return differences.flatMap(({ what, expected, found }) =>
    wrap(`${what}: expected ${expected}, found ${found}`, lineWidth(look.screen), indent),
  );
}

function entry({ screen }: Look, label: string, text: string): string[] {
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

function nextLines({ screen }: Look, commands: readonly NextCommand[]): string[] {
  const width = Math.max(...commands.map(({ line }) => line.length));
  return [
    `${indent}${paint(screen, 'strong', 'Try next')}`,
    ...commands.map(
      ({ line, purpose }) => `${indent}${line.padEnd(width)}  ${paint(screen, 'quiet', purpose)}`,
    ),
  ];
}
