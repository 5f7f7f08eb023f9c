/** A plan as a comment of a pull request. Pure. */
import { counted, printable } from '../../terminal/output.ts';
import type { ObjectChange, PlanReport, SourcePlanned } from './report.ts';
import {
  canaryWords,
  dryRunWords,
  objectWords,
  sideWords,
  sourceChangeWords,
  summaryWords,
} from './report-sentences.ts';

/** By this line a pipeline finds the comment that it made before. */
export const commentMark = '<!-- holdfast-plan -->';

/** Room for the line that says what was left out. */
const reservedBytes = 400;

/** One piece of the comment. Where `text` does not fit `brief` is tried, and what was left out is counted as `what`. */
interface Piece {
  readonly text: string;
  readonly brief?: string;
  readonly what: string;
}

/**
 * The comment, in at most so many bytes of UTF-8 (forges refuse longer ones): what a person must decide on comes first, differences of objects
 * last. What does not fit is counted at the end.
 */
export function planMarkdown(report: PlanReport, mostBytes: number): string {
  const { base, head, notes, sources } = report;
  const title = `${commentMark}\n### Holdfast plan\n\nFrom ${escaped(sideWords(base))} to ${escaped(sideWords(head))}: **${escaped(summaryWords(report))}**\n`;
  const pieces = [
    ...notes.map((note) => ({ text: `\n> ${escaped(note)}\n`, what: 'note' })),
    ...sources.flatMap(urgent),
    ...sources
      .filter(({ objects }) => objects.length > 0)
      .flatMap(({ source, objects }) => [
        { text: `\n#### ${counted(objects.length, 'object')} of ${escaped(source)}\n\n`, what: 'heading' },
        ...objects.map(objectPiece),
      ]),
  ];
  return fitted(title, pieces, mostBytes);
}

function fitted(title: string, pieces: readonly Piece[], mostBytes: number): string {
  let text = title;
  while (Buffer.byteLength(text) > mostBytes - reservedBytes)
    text = text.slice(0, Math.max(0, text.length - 100));
  const left = new Map<string, number>();
  const fits = (more: string) =>
    Buffer.byteLength(text) + Buffer.byteLength(more) <= mostBytes - reservedBytes;
  for (const { text: full, brief, what } of pieces) {
    if (fits(full)) text += full;
    else {
      if (brief !== undefined && fits(brief)) text += brief;
      left.set(what, (left.get(what) ?? 0) + 1);
    }
  }
  if (left.size === 0) return text;
  const what = [...left].map(([word, count]) => counted(count, word)).join(', ');
  return `${text}\n_Left out, because a comment holds at most ${mostBytes} bytes: ${what}. Run \`holdfast plan\` for the whole plan._\n`;
}

const severities = { oneWay: '⚠️ one-way', refused: '⛔ refused', note: 'ℹ️ note' } as const;

/** Everything but the differences. */
function urgent(source: SourcePlanned): Piece[] {
  const { problems, oneWay, canaries, dryRun = [], notes } = source;
  const found: Piece[] = [
    ...problems.map((problem) => ({ text: `- ⛔ ${escaped(problem)}\n`, what: 'problem' })),
    ...oneWay.map(({ severity, object, origin, message }) => ({
      text: `- ${severities[severity]}: **${escaped(object)}** (${escaped(origin)}): ${escaped(message)}\n`,
      what: 'one-way or refused change',
    })),
    ...canaries.map((canary) => ({
      text: `\n**Canary ${escaped(canary.canary)}**: ${escaped(canary.summary)}\n${canaryWords(canary)
        .map((line) => `- ${escaped(line)}\n`)
        .join('')}`,
      brief: `\n**Canary ${escaped(canary.canary)}**: ${escaped(canary.summary)}\n`,
      what: 'rollout',
    })),
    ...dryRun.map((finding) => ({
      text: `- dry run: ${escaped(dryRunWords(finding))}\n`,
      what: 'finding of the dry run',
    })),
    ...notes.map((note) => ({ text: `\n> ${escaped(note)}\n`, what: 'note' })),
  ];
  if (found.length === 0 && source.objects.length === 0 && source.change === 'same') return [];
  const heading = `\n#### Source ${escaped(source.source)} (${escaped(source.path)})${sourceChangeWords(source)}\n\n`;
  return [{ text: heading, what: 'heading' }, ...found];
}

function objectPiece(object: ObjectChange): Piece {
  const words = escaped(objectWords(object));
  const body = object.diff.map(printable).join('\n');
  const fence = '`'.repeat(Math.max(3, ...[...body.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  const text = `<details><summary>${words}</summary>\n\n${fence}diff\n${body}\n${fence}\n\n</details>\n`;
  return { text, brief: `- ${words}\n`, what: 'difference of an object' };
}

/** Text from outside, which can neither make markup nor call people by name. */
function escaped(text: string): string {
  return printable(text)
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/[\\`*_[\]#|~]/g, (sign) => `&#${sign.charCodeAt(0)};`)
    .replace(/@/g, '@\u200b');
}
