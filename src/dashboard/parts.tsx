import type { ComponentChildren } from 'preact';
import { nowMs } from './state.ts';
import { relative } from './time.ts';
import type { Section as SectionOf } from './views.ts';

/** With a sign and a word, never by colour alone. */
const tones: Readonly<Record<string, readonly [sign: string, word: string]>> = {
  bad: ['✕', 'needs a look'],
  busy: ['◐', 'under way'],
  none: ['–', 'not checked yet'],
  good: ['✓', 'good'],
  warn: ['!', 'warning'],
  error: ['✕', 'error'],
  info: ['i', 'information'],
  pass: ['✓', 'pass'],
  fail: ['✕', 'fail'],
  inconclusive: ['?', 'inconclusive'],
};

/** The sign of a state, with its word for screen readers. */
export function Sign({ tone }: { tone: string }) {
  const [sign, word] = tones[tone] ?? ['–', tone];
  return (
    <span class={`sign ${tone}`}>
      <span aria-hidden="true">{sign}</span>
      <span class="hidden">{word}: </span>
    </span>
  );
}

/** The word of a state. */
export function toneWord(tone: string): string {
  return tones[tone]?.[1] ?? tone;
}

/** A time as its distance from now, which is updated. */
export function When({ time }: { time: string | undefined }) {
  if (!time) return null;
  return (
    <time dateTime={time} title={time}>
      {relative(time, nowMs.value)}
    </time>
  );
}

/** A commit's short id and its subject. */
export function Commit({ commit, subject }: { commit: string | undefined; subject?: string | undefined }) {
  if (!commit) return <span>{subject ?? '–'}</span>;
  return (
    <span>
      <code title={commit}>{commit.slice(0, 7)}</code> {subject}
    </span>
  );
}

/** A part of a page under its heading. */
export function Panel({
  title,
  wide,
  children,
}: {
  title: string;
  wide?: boolean;
  children: ComponentChildren;
}) {
  const id = `panel-${title.toLowerCase().replace(/\W+/g, '-')}`;
  return (
    <section class={wide ? 'panel wide' : 'panel'} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** A table that scrolls by itself where it is too wide; by keyboard, too. */
export function Table({
  label,
  titles,
  rows,
}: {
  label: string;
  titles: readonly string[];
  rows: ReadonlyArray<{ readonly key: string; readonly cells: readonly ComponentChildren[] }>;
}) {
  if (rows.length === 0) return <p class="quiet">None.</p>;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is about a form
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <div class="scroll" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, index) => (
                <td key={titles[index]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What is not there, or the part itself. */
export function Section<T>({
  section,
  children,
}: {
  section: SectionOf<T>;
  children: (value: T) => ComponentChildren;
}) {
  if ('missing' in section) return <p class="quiet">{section.missing}</p>;
  const { value, more = 0 } = section;
  return (
    <>
      {children(value)}
      {more > 0 && <p class="quiet">{more} more are not shown.</p>}
    </>
  );
}
