import type { CheckResult } from '../../api/canary/status.ts';
import {
  canaryStatus,
  isGoodLost,
  messageOf,
  opensFor,
  phaseOf,
  shareOf,
  shortCommit,
  toneOf,
  troublesBeside,
  whatStalls,
  whyFailed,
} from '../../api/canary/summary.ts';
import { isCommit } from '../../api/commit.ts';
import { isToldAsMerge, revertCommand, runbookOf } from '../../api/incident.ts';
import {
  type Condition,
  commandOn,
  conditionOf,
  type KubernetesObject,
  nameOf,
} from '../../api/kubernetes.ts';
import { actOn } from '../../api/reasons.ts';
import type { SourceStatus } from '../../api/source/source.ts';
import {
  formatAge,
  formatTable,
  paint,
  printable,
  type ReleaseChanges,
  type Screen,
  section,
  type TableColumn,
  type Tone,
  widthOf,
  wrap,
} from '../../terminal/output.ts';
import { changeSummary } from './release-changes.ts';
import { commitLine, commitSubject, sourceRow } from './rows.ts';

const barWidth = 20;
const indent = '  ';

/** How it is shown, and what of it is not in the Canary itself. */
interface CanaryDetailOptions {
  readonly screen: Screen;
  readonly nowMs: number;
  readonly underWay: ReleaseChanges | undefined;
}

/** Everything about one Canary: who serves, what was measured, what comes next and what can be done. */
export function canaryDetail(
  object: KubernetesObject,
  { screen, nowMs, underWay }: CanaryDetailOptions,
): string[] {
  const status = canaryStatus(object);
  const { name, namespace } = object.metadata;
  const next = status.next && [`${status.next.action} ${formatAge(status.next.time, nowMs)}`.trim()];
  const good = status.lastKnownGood;
  return [
    heading(screen, `Canary ${namespace}/${name}`, phaseOf(object), toneOf(object)),
    ...wrap(messageOf(object), screen.columns, ''),
    ...section(screen, 'Serving', serving(object, screen)),
    ...section(
      screen,
      'Head',
      text(commitLine(status.lastAppliedCommit, commitSubject(object, status.lastAppliedCommit))),
    ),
    ...section(
      screen,
      'Last known good',
      text(
        good &&
          `${commitLine(good.commit, commitSubject(object, good.commit))}  ${formatAge(good.promotedTime, nowMs)}`,
      ),
    ),
    ...section(
      screen,
      'What the release under way changes',
      underWay ? wrap(changeSummary(underWay, `${namespace}/${name}`), screen.columns, indent) : [],
    ),
    ...section(screen, 'Why it failed', wrap(whyFailed(status) ?? '', screen.columns, indent)),
    ...section(screen, 'What stops it', wrap(whatStalls(object) ?? '', screen.columns, indent)),
    ...section(screen, 'Checks', checks(status.checks ?? [], screen, nowMs)),
    ...section(screen, 'Next', next?.flatMap((line) => wrap(line, screen.columns, indent)) ?? []),
    ...section(
      screen,
      'What you can do',
      adviceFor(object).flatMap(({ text: why, command }) => [
        ...wrap(command ? `${why}:` : why, screen.columns, indent),
        // Commands stay in one piece, so that they can be copied.
        ...(command ? [`${indent}${indent}${paint(screen, 'strong', printable(command))}`] : []),
      ]),
    ),
    ...section(screen, 'History', history(object, screen, nowMs)),
    ...section(screen, 'Rejected', rejected(object, screen, nowMs)),
    ...section(screen, 'Conditions', conditions(status, screen, nowMs)),
  ];
}

/** Everything about one Source. */
export function sourceDetail(object: KubernetesObject, screen: Screen, nowMs: number): string[] {
  const status = (object.status ?? {}) as SourceStatus;
  const row = sourceRow(object);
  const { head, counts } = status;
  const about = [commitLine(head?.commit, head?.subject), head?.author, formatAge(head?.time, nowMs)];
  const counted = Object.entries(counts ?? {}).map(([what, count]) => `${what} ${count}`);
  return [
    heading(
      screen,
      `Source ${row.namespace}/${row.name}`,
      row.ready === 'True' ? 'Ready' : row.reason,
      row.tone,
    ),
    ...wrap(row.message, screen.columns, ''),
    ...section(screen, 'Head', text(head && about.filter(Boolean).join('  '))),
    ...section(
      screen,
      'Applied',
      text(
        status.appliedCommit &&
          `${shortCommit(status.appliedCommit)}  ${formatAge(status.appliedTime, nowMs)}`,
      ),
    ),
    ...section(screen, 'Objects', text(counted.join(', '))),
    ...section(screen, 'Conditions', conditions({ ...status, message: row.message }, screen, nowMs)),
  ];
}

function heading(screen: Screen, title: string, text: string, tone: Tone): string {
  const state = printable(text);
  // A pipe has no right edge.
  const space = Number.isFinite(screen.columns)
    ? Math.max(2, screen.columns - title.length - widthOf(state))
    : 2;
  return `${paint(screen, 'strong', title)}${' '.repeat(space)}${paint(screen, tone, state)}`;
}

function text(line: string | undefined): string[] {
  return line ? [indent + printable(line).trimEnd()] : [];
}

function serving(object: KubernetesObject, screen: Screen): string[] {
  const status = canaryStatus(object);
  const rows = status.serving ?? [];
  const unit = shareOf(status) || ' %';
  const columns: ReadonlyArray<TableColumn<(typeof rows)[number]>> = [
    { title: '', value: ({ workload }) => workload, least: 12 },
    {
      title: '',
      value: ({ weight }) => {
        const full = Math.round((Math.max(0, Math.min(100, weight)) / 100) * barWidth);
        const [on, off] = screen.isAscii ? ['#', '.'] : ['█', '░'];
        return on.repeat(full) + off.repeat(barWidth - full);
      },
    },
    { title: '', value: ({ weight }) => `${String(weight).padStart(3)}${unit}` },
    { title: '', value: ({ ready }) => `${ready} ready` },
    { title: '', value: ({ commit, subject }) => commitLine(commit, subject), least: 12 },
  ];
  return body(columns, rows, screen);
}

const verdictTones: Readonly<Record<string, Tone>> = { pass: 'good', fail: 'bad', inconclusive: 'busy' };

function checks(rows: readonly CheckResult[], screen: Screen, nowMs: number): string[] {
  const columns: ReadonlyArray<TableColumn<CheckResult>> = [
    { title: '', value: ({ verdict }) => verdict, tone: ({ verdict }) => verdictTones[verdict] ?? 'none' },
    { title: '', value: ({ name }) => name, least: 12 },
    { title: '', value: measured, least: 16 },
  ];
  const last = { title: '', value: ({ time }: CheckResult) => formatAge(time, nowMs) };
  return bodyWith(({ detail = '' }) => detail, { columns, last, rows, screen });
}

function measured({ value, min, max }: CheckResult): string {
  const bounds = [
    min === undefined ? '' : `min ${number(min)}`,
    max === undefined ? '' : `max ${number(max)}`,
  ];
  const bound = bounds.filter(Boolean).join(', ');
  const parts = [value === undefined ? '' : number(value), bound && `(${bound})`];
  return parts.filter(Boolean).join(' ');
}

function number(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));
}

function history(object: KubernetesObject, screen: Screen, nowMs: number): string[] {
  const rows = canaryStatus(object).history ?? [];
  const columns: ReadonlyArray<TableColumn<(typeof rows)[number]>> = [
    {
      title: '',
      value: ({ result }) => result,
      tone: ({ result }) => (result === 'Failed' ? 'bad' : 'none'),
    },
    { title: '', value: ({ commit, subject }) => commitLine(commit, subject), least: 16 },
    { title: '', value: ({ result, reason }) => (reason === result ? '' : (reason ?? '')), least: 10 },
    { title: '', value: ({ endTime }) => formatAge(endTime, nowMs) },
  ];
  return body(columns, rows, screen);
}

function rejected(object: KubernetesObject, screen: Screen, nowMs: number): string[] {
  const rows = canaryStatus(object).rejected ?? [];
  const columns: ReadonlyArray<TableColumn<(typeof rows)[number]>> = [
    { title: '', value: ({ commit, digest }) => shortCommit(commit) || digest.slice(0, 15) },
    { title: '', value: ({ reason, suspect }) => (suspect ? `${reason} (suspect)` : reason), least: 10 },
    { title: '', value: ({ time }) => formatAge(time, nowMs) },
  ];
  return body(columns, [...rows].reverse().slice(0, 10), screen);
}

/** A message that is on top already is not repeated. */
function conditions(
  {
    conditions: rows = [],
    message: shown,
  }: { readonly conditions?: readonly Condition[] | undefined; readonly message?: string | undefined },
  screen: Screen,
  nowMs: number,
): string[] {
  const columns: ReadonlyArray<TableColumn<Condition>> = [
    { title: '', value: ({ type }) => type },
    { title: '', value: ({ status }) => status },
    { title: '', value: ({ reason }) => reason, least: 10 },
  ];
  const last = { title: '', value: (row: Condition) => formatAge(row.lastTransitionTime, nowMs) };
  return bodyWith(({ message }) => (message === shown ? '' : message), { columns, last, rows, screen });
}

/** With a text for each row: in a pipe in the line, on a terminal, where it would be cut, below it. */
function bodyWith<Row>(
  textOf: (row: Row) => string,
  {
    columns,
    last,
    rows,
    screen,
  }: {
    readonly columns: ReadonlyArray<TableColumn<Row>>;
    readonly last: TableColumn<Row>;
    readonly rows: readonly Row[];
    readonly screen: Screen;
  },
): string[] {
  if (!Number.isFinite(screen.columns))
    return body([...columns, { title: '', value: textOf }, last], rows, screen);
  return body([...columns, last], rows, screen).flatMap((line, index) => {
    const row = rows[index];
    const below = row === undefined ? [] : wrap(textOf(row), screen.columns, indent + indent);
    return [line, ...below.map((text) => paint(screen, 'quiet', text))];
  });
}

/** A table without its titles, indented. */
function body<Row>(columns: ReadonlyArray<TableColumn<Row>>, rows: readonly Row[], screen: Screen): string[] {
  const narrower = { ...screen, columns: screen.columns - indent.length };
  return formatTable(columns, rows, narrower, false)
    .slice(1)
    .map((line) => indent + line);
}

/** What a person can do about a Canary now. */
interface Advice {
  readonly text: string;
  /** To copy into a shell. */
  readonly command?: string;
}

/** From the table of reasons, and the commands that fit the state; nothing when all is well. */
export function adviceFor(canary: KubernetesObject): Advice[] {
  const status = canaryStatus(canary);
  const { lastAppliedCommit: head = '', lastPromotedCommit: good, rejected = [] } = status;
  const reason = conditionOf(status, 'Ready')?.reason ?? '';
  const isHeld = status.postPromotion?.state === 'Held';
  const act = actOn(reason, isHeld);
  const advice: Advice[] = [];
  const add = (text: string, command: string) => advice.push({ text, command });
  if (act !== undefined) advice.push({ text: act });
  if (runbookOf(reason)) add('what to check, and how to resolve it', commandOn('runbook', nameOf(canary)));
  if (canary.metadata.annotations?.['holdfast.dev/pause'] === 'true')
    add('it is paused; to resume', commandOn('resume', nameOf(canary)));
  advice.push(...adviceAtGate(canary));
  // Failed and held: it was taken back already, and the last known good release is what does not come up.
  if (isHeld && status.phase !== 'Failed' && !isGoodLost(status))
    add('to go back to the last known good release now', commandOn('abort', nameOf(canary)));
  const isStuck = isHeld && status.postPromotion?.reason === 'LKGNotReady';
  if (isStuck)
    add(
      'to find an older release that holdfast rollback can go back to',
      commandOn('history', nameOf(canary)),
    );
  // While a bad release is held or rejected at head, a revert in Git ends it everywhere; not if it leads to what does not come up.
  const revert = revertCommand(head, isToldAsMerge(head, status.incidents));
  if ((status.phase === 'Failed' || isHeld) && !isStuck && head !== good && revert)
    add('to revert the commit in Git', revert);
  if (isCommit(head) && rejected.some(({ commit }) => commit === head))
    add('to retry the release', commandOn('retry', nameOf(canary)));
  for (const condition of troublesBeside(status)) {
    const why = `${condition.type} is ${condition.status} (${condition.reason}): ${actOn(condition.reason)}`;
    add(why, `holdfast runbook ${condition.reason}`);
  }
  return advice;
}

/** The release is named, so that a newer one that nobody has seen does not go through in its place. */
function adviceAtGate(canary: KubernetesObject): Advice[] {
  const status = canaryStatus(canary);
  const { approve, ignoreWindow } = opensFor(status);
  const commit = status.run?.commit;
  const release = isCommit(commit) ? ` --revision ${shortCommit(commit)}` : '';
  const advice = (text: string, command: string): Advice => ({
    text,
    command: `${commandOn(command, nameOf(canary))}${release}`,
  });
  return [
    ...(ignoreWindow
      ? [advice('to let it go on although a window or a freeze holds it', 'ignore-window')]
      : []),
    ...(approve ? [advice('to let it through its gate', 'approve')] : []),
  ];
}
