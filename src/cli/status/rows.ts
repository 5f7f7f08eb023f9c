import { planOf } from '../../api/canary/plan.ts';
import {
  canaryStatus,
  messageOf,
  phaseOf,
  reasonBehind,
  type StatusTone,
  shareOf,
  shortCommit,
  sourceMessageOf,
  toneOf,
  troublesBeside,
  urgency,
} from '../../api/canary/summary.ts';
import { parseCanary } from '../../api/kinds/parse.ts';
import { conditionOf, isSuspended, type KubernetesObject } from '../../api/kubernetes.ts';
import type { SourceStatus } from '../../api/source/source.ts';
import {
  compareTexts,
  formatAge,
  formatTable,
  paint,
  type Screen,
  type TableColumn,
  wrap,
} from '../../terminal/output.ts';

/** A Canary in one line, and what to say about it below. */
interface CanaryRow {
  readonly namespace: string;
  readonly name: string;
  /** Phase, and the state after promotion where there is one. */
  readonly phase: string;
  /** The canary's share as read from the route, or of the pods. */
  readonly weight: string;
  /** `2/5` while a release goes through its steps or iterations, else `-`. */
  readonly step: string;
  /** Subject of the commit that answers most requests. */
  readonly serving: string;
  /** Newest commit that was started or rejected, shortened. */
  readonly head: string;
  readonly reason: string;
  readonly next: string;
  readonly message: string;
  /** Why the last release failed, or why nothing proceeds; empty if the message says it already. */
  readonly why: string;
  /** What else asks for a person, also where the newest release serves. */
  readonly beside: readonly string[];
  readonly tone: StatusTone;
}

/** A Source in one line. */
interface SourceRow {
  readonly namespace: string;
  readonly name: string;
  readonly ready: string;
  readonly reason: string;
  readonly commit: string;
  readonly subject: string;
  readonly canaries: string;
  readonly message: string;
  readonly tone: StatusTone;
}

/** A commit's short id and its subject. */
export function commitLine(commit: string | undefined, subject: string | undefined): string {
  return [shortCommit(commit), subject].filter(Boolean).join(' ');
}

/** A commit's subject, if who serves, the past releases or the reports name it. */
export function commitSubject(object: KubernetesObject, commit: string | undefined): string | undefined {
  const { serving = [], history = [], incidents = [] } = canaryStatus(object);
  return [...serving, ...history, ...incidents].find((entry) => entry.commit === commit)?.subject;
}

/** The row of a Canary. */
export function canaryRow(object: KubernetesObject, nowMs: number): CanaryRow {
  const status = canaryStatus(object);
  const { name, namespace = '' } = object.metadata;
  const serving = status.serving?.[0];
  const ready = conditionOf(status, 'Ready');
  const when = status.next?.time ? ` ${formatAge(status.next.time, nowMs)}` : '';
  return {
    namespace,
    name,
    phase: phaseOf(object),
    weight: status.canaryWeight === undefined ? '-' : `${status.canaryWeight}${shareOf(status)}`,
    step: stepOf(object),
    serving: serving ? (serving.subject ?? shortCommit(serving.commit)) || '-' : '-',
    head: shortCommit(status.lastAppliedCommit) || '-',
    reason: ready?.reason ?? '-',
    next: status.next ? `${status.next.action}${when}` : '',
    message: messageOf(object),
    why: reasonBehind(object),
    beside: troublesBeside(status).map(({ type, status: is, message }) => `${type} is ${is}: ${message}`),
    tone: toneOf(object),
  };
}

/** Counted in the steps of the spec that is in the object; an invalid one has none. */
function stepOf(object: KubernetesObject): string {
  const { run, canaryWeight = 0, iterations = 0, phase, provider } = canaryStatus(object);
  if (!run || !['Progressing', 'Waiting', 'WaitingPromotion'].includes(phase ?? '')) return '-';
  const parsed = parseCanary(object);
  if (!parsed.ok) return '-';
  const { strategy } = planOf(parsed.value, { minIntervalMs: 0, defaultProvider: provider ?? 'kubernetes' });
  if (strategy.kind !== 'canary') return `${iterations}/${strategy.iterations}`;
  const { steps, stepWeight, maxWeight } = strategy;
  if (steps) return `${steps.filter((weight) => weight <= canaryWeight).length}/${steps.length}`;
  return stepWeight > 0
    ? `${Math.ceil(canaryWeight / stepWeight)}/${Math.ceil(maxWeight / stepWeight)}`
    : '-';
}

/** The row of a Source. */
export function sourceRow(object: KubernetesObject): SourceRow {
  const status = (object.status ?? {}) as SourceStatus;
  const { name, namespace = '' } = object.metadata;
  const ready = conditionOf(status, 'Ready');
  return {
    namespace,
    name,
    ready: isSuspended(object) ? 'Suspended' : (ready?.status ?? '-'),
    reason: ready?.reason ?? '-',
    commit: shortCommit(status.appliedCommit) || '-',
    subject: status.head?.subject ?? '-',
    canaries: String(status.counts?.canaries ?? '-'),
    message: sourceMessageOf(object),
    tone: ready?.status === 'True' ? 'good' : ready?.status === 'False' ? 'bad' : 'busy',
  };
}

/** How much a table shows. */
export interface TableOptions {
  readonly screen: Screen;
  /** Nothing is cut, everything in one line. */
  readonly wide: boolean;
  readonly withNamespace: boolean;
}

const phase: TableColumn<CanaryRow> = { title: 'PHASE', value: (row) => row.phase, tone: (row) => row.tone };

const canaryColumns: ReadonlyArray<TableColumn<CanaryRow>> = [
  { title: 'CANARY', value: (row) => row.name, least: 12 },
  phase,
  {
    title: 'WEIGHT',
    value: ({ weight, step }) => (step === '-' ? weight : `${weight} (step ${step})`),
  },
  { title: 'SERVING', value: (row) => row.serving, least: 12 },
  { title: 'HEAD', value: (row) => row.head },
  { title: 'REASON', value: (row) => row.reason, least: 10 },
];

const wideColumns: ReadonlyArray<TableColumn<CanaryRow>> = [
  { title: 'NEXT', value: (row) => row.next || '-' },
  { title: 'MESSAGE', value: (row) => row.message || '-' },
];

const sourceColumns: ReadonlyArray<TableColumn<SourceRow>> = [
  { title: 'SOURCE', value: (row) => row.name, least: 12 },
  { title: 'READY', value: (row) => row.ready, tone: (row) => row.tone },
  { title: 'REASON', value: (row) => row.reason, least: 10 },
  { title: 'CANARIES', value: (row) => row.canaries },
  { title: 'APPLIED', value: (row) => row.commit },
  { title: 'HEAD', value: (row) => row.subject, least: 12 },
];

/** What needs a person comes first, then by namespace and name; below each line that is not good: message and next action; below any: what else asks for a person. */
export function canaryTable(rows: readonly CanaryRow[], options: TableOptions): string[] {
  const columns = options.wide ? [...canaryColumns, ...wideColumns] : canaryColumns;
  return withRemarks(mostUrgentFirst(rows), columns, options, ({ message, why, next, beside, tone }) => {
    const goesOn = [message, ...(why ? [`Why: ${why}`] : []), ...(next ? [`Next: ${next}`] : [])];
    return tone === 'good' ? beside : [...goesOn, ...beside];
  });
}

/** The Sources in the same order, those that are not ready with their message. */
export function sourceTable(rows: readonly SourceRow[], options: TableOptions): string[] {
  const columns = options.wide
    ? [...sourceColumns, { title: 'MESSAGE', value: (row: SourceRow) => row.message || '-' }]
    : sourceColumns;
  return withRemarks(mostUrgentFirst(rows), columns, options, ({ message, tone }) =>
    tone === 'good' ? [] : [message],
  );
}

function mostUrgentFirst<Row extends Pick<SourceRow, 'namespace' | 'name'> & { readonly tone: StatusTone }>(
  rows: readonly Row[],
): Row[] {
  return [...rows].sort(
    (left, right) =>
      urgency.indexOf(left.tone) - urgency.indexOf(right.tone) ||
      compareTexts(left.namespace, right.namespace) ||
      compareTexts(left.name, right.name),
  );
}

function withRemarks<Row extends { readonly namespace: string }>(
  rows: readonly Row[],
  columns: ReadonlyArray<TableColumn<Row>>,
  { screen, wide, withNamespace }: TableOptions,
  remarks: (row: Row) => readonly string[],
): string[] {
  const namespace: TableColumn<Row> = { title: 'NAMESPACE', value: (row) => row.namespace, least: 9 };
  const all = withNamespace ? [namespace, ...columns] : columns;
  const [titles = '', ...lines] = formatTable(all, rows, screen, wide);
  if (wide) return [titles, ...lines];
  return [
    titles,
    ...lines.flatMap((line, index) => {
      const row = rows[index];
      if (!row) return [line];
      const below = remarks(row).flatMap((remark) => wrap(remark, screen.columns, '  '));
      return [line, ...below.map((text) => paint(screen, 'quiet', text))];
    }),
  ];
}
