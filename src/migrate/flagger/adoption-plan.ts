import { unsupportedFields } from '../../api/canary/unsupported-fields.ts';
import { parseCanary } from '../../api/kinds/parse.ts';
import { describe, namespacedName } from '../../api/kubernetes.ts';
import type { FieldDifference } from '../../health/workload-view.ts';
import { routerFor } from '../../providers/routing/table.ts';
import { worldAfter } from '../../review/explain/world-after.ts';
import type { Decision } from '../../rollout/outcome.ts';
import { step } from '../../rollout/step.ts';
import { type HeadView, type Run, runOf, type World } from '../../rollout/world.ts';
import type { CheckLine } from '../../terminal/check-report.ts';
import { counted, paint, printable, type Screen, type Tone, wrap } from '../../terminal/output.ts';
import type { ObservedCanary } from './read-canaries.ts';

/** What Holdfast would do with one Canary. */
interface AdoptionRow extends Verdict {
  /** `namespace/name`. */
  readonly canary: string;
  /** As it stands in the status now. */
  readonly phase: string;
  readonly canaryWeight: number;
  /** Where the target is not what the primary runs. */
  readonly differences: readonly FieldDifference[];
  /** Fields that are accepted and have no effect here. */
  readonly notActedOn: readonly string[];
  /** What acts on it now; until that ends Holdfast does nothing. */
  readonly waitsFor?: string;
}

/** What `holdfast migrate plan` says. */
interface AdoptionPlan {
  readonly canaries: readonly AdoptionRow[];
  /** What of the cluster is not as Holdfast needs it. */
  readonly cluster: readonly CheckLine[];
}

/** 1 where something would be rolled out or is refused, or the cluster lacks something; else 0. */
export function adoptionExitCode({ canaries, cluster }: AdoptionPlan): 0 | 1 {
  const isBad =
    canaries.some(({ outcome }) => outcome === 'rolledOut' || outcome === 'refused') ||
    cluster.some(({ state }) => state === 'failed');
  return isBad ? 1 : 0;
}

/** What becomes of a Canary, by the decisions that the controller would take. Pure. */
export function adoptionRow({ object, foreignController, found }: ObservedCanary): AdoptionRow {
  const { phase = '', canaryWeight = 0 } = (object.status ?? {}) as { phase?: string; canaryWeight?: number };
  const prefix = `${describe(object)}: `;
  let verdict: Verdict;
  if ('refusal' in found) {
    const { refusal } = found;
    const why = refusal.startsWith(prefix) ? refusal.slice(prefix.length) : refusal;
    verdict = { outcome: 'refused', what: 'nothing', why };
  } else verdict = judgeAdoption(found.world);
  const parsed = parseCanary(object);
  const ofProvider = parsed.ok ? routerFor(parsed.value.spec.provider ?? '')?.ignores(parsed.value) : [];
  return {
    canary: namespacedName(object),
    phase,
    canaryWeight,
    ...verdict,
    differences: 'world' in found && verdict.outcome === 'rolledOut' ? found.differences : [],
    notActedOn: parsed.ok ? unsupportedFields(parsed.value, ofProvider) : [],
    ...(foreignController === undefined ? {} : { waitsFor: foreignController }),
  };
}

/**
 * What becomes of a Canary. `takenOver`: by metadata alone, and nothing is rolled out. `carriedOn`: what Flagger was doing is brought to its
 * end. `rolledOut`: a rollout starts. `waits`: nothing, until something passes. `refused`: nothing, until something is changed. `ours`: it
 * is Holdfast's already.
 */
type Outcome = 'takenOver' | 'carriedOn' | 'rolledOut' | 'waits' | 'refused' | 'ours';

/** What Holdfast would do with a Canary when it is started, and why. */
interface Verdict {
  readonly outcome: Outcome;
  readonly what: string;
  readonly why: string;
}

/** Decisions that one look leads to without waiting for pods are few. */
const mostDecisions = 8;

/** Says what would be done, from the decisions that the controller would take. Pure. */
function judgeAdoption(world: World): Verdict {
  const { canary, primary, head } = world;
  const decisions = decide(world);
  const line = decisions[0]?.status.message ?? '';
  if (canary.metadata.deletionTimestamp !== undefined)
    return { outcome: 'carriedOn', what: 'the deletion continues', why: line };
  if (canary.spec.suspend) return { outcome: 'waits', what: 'nothing', why: line };
  if (head.kind !== 'release') return withoutHead(head);
  if (primary?.digest !== undefined) return alreadyOurs(world, decisions);
  const isAdopted = decisions.some(({ actions }) => actions.some(({ type }) => type === 'AdoptPrimary'));
  return isAdopted ? adopted(world, decisions) : notAdopted(world, line);
}

/** Until a release begins, or nothing changes any more. */
function decide(world: World): Decision[] {
  const decisions: Decision[] = [];
  let now = world;
  while (decisions.length < mostDecisions) {
    const decision = step(now);
    decisions.push(decision);
    const next = { ...worldAfter(decision, now), nowMs: world.nowMs };
    const state = ({ status, primary, records, rejected }: World) =>
      JSON.stringify([status, primary?.digest, records, rejected.length]);
    if (decision.status.run || state(next) === state(now)) break;
    now = next;
  }
  return decisions;
}

function withoutHead(head: Exclude<HeadView, { kind: 'release' }>): Verdict {
  const isInGit = head.kind === 'unknown' && head.reason === 'NoSource';
  if (!isInGit) return { outcome: 'refused', what: 'nothing', why: head.message };
  const why =
    'Holdfast wrote its target from Git, which this command does not read; run holdfast run --shadow to include Git';
  return { outcome: 'ours', what: 'what Git says', why };
}

function alreadyOurs(world: World, decisions: readonly Decision[]): Verdict {
  const end = decisions.at(-1)?.status;
  const why = end?.message ?? flaggerPhase(world);
  if (end?.run && !world.status.run) return { outcome: 'rolledOut', what: 'a rollout starts', why };
  const isFailed = end?.phase === 'Failed';
  return {
    outcome: 'ours',
    what: isFailed ? 'the failed revision is not retried until it changes' : 'goes on as it is',
    why: isFailed ? why : 'its primary is marked as running a release of Holdfast',
  };
}

function adopted(world: World, decisions: readonly Decision[]): Verdict {
  const { phase = '' } = world.status;
  const end = decisions.at(-1)?.status;
  const flagger = flaggerPhase(world);
  const isStalled = phase === 'Failed' && (world.status.canaryWeight ?? 0) > 0;
  const process = phase === '' || phase === 'Initializing' ? 'initialization' : 'promotion';
  if (end?.phase === 'Initializing' || end?.postPromotion?.state === 'Converging')
    return {
      outcome: 'carriedOn',
      what: isStalled ? 'the canary serves until the primary is up' : `the ${process} continues`,
      why: `${flagger}, and the primary has the target's template`,
    };
  const run = end && runOf(end);
  if (run) return rolloutStarted(world, run);
  if (end?.phase === 'Failed')
    return {
      outcome: 'takenOver',
      what: 'the failed revision is not retried until it changes',
      why: `${flagger}, and the target still has the failed revision`,
    };
  const isFinishing = phase === 'Promoting' || phase === 'Finalising';
  return {
    outcome: isFinishing ? 'carriedOn' : 'takenOver',
    what: isFinishing ? 'the promotion continues' : 'no pod restarts and nothing is rolled out',
    why: `${flagger}, and the primary runs the revision of the target`,
  };
}

/** A release begins right after the take-over: what Flagger was trying, or what came meanwhile. */
function rolloutStarted(world: World, run: Run): Verdict {
  const why = flaggerPhase(world);
  if (run.keepsPods)
    return {
      outcome: 'carriedOn',
      what: 'the analysis of the same revision restarts from the first step, with the existing pods',
      why,
    };
  if (world.status.phase === 'Waiting')
    return { outcome: 'carriedOn', what: 'its gates are checked again', why };
  return {
    outcome: 'rolledOut',
    what: world.canary.spec.skipAnalysis ? 'a rollout starts, without analysis' : 'a new analysis starts',
    why: `the target has another revision than the primary; ${why}`,
  };
}

/** Nothing of Flagger's can be taken for a good release. */
function notAdopted(world: World, line: string): Verdict {
  if (!world.primary)
    return { outcome: 'carriedOn', what: 'the primary is created', why: 'there is no primary yet' };
  if (world.adoptable && line.startsWith('Flagger promoted'))
    return { outcome: 'carriedOn', what: 'waits for the promotion', why: line };
  return {
    outcome: 'rolledOut',
    what: 'the primary is updated from the target, and its pods restart',
    why: `there is no last known good release, and the target has another revision than the primary; ${flaggerPhase(world)}`,
  };
}

function flaggerPhase({ status: { phase, canaryWeight = 0 } }: World): string {
  const share = canaryWeight > 0 ? ` with ${canaryWeight} % on the canary` : '';
  return `Flagger left it in ${phase || 'no phase'}${share}`;
}

const words: Readonly<Record<Outcome, { readonly word: string; readonly tone: Tone }>> = {
  takenOver: { word: 'taken over', tone: 'good' },
  carriedOn: { word: 'carried on', tone: 'good' },
  ours: { word: "Holdfast's", tone: 'quiet' },
  waits: { word: 'waits', tone: 'busy' },
  rolledOut: { word: 'rolled out', tone: 'busy' },
  refused: { word: 'refused', tone: 'bad' },
};

const indent = '    ';

/** A plan for people; lines without line feeds. */
export function adoptionLines(plan: AdoptionPlan, screen: Screen): string[] {
  const acting = [...new Set(plan.canaries.flatMap(({ waitsFor }) => waitsFor ?? []))];
  return [
    ...acting.flatMap((who) => wrap(`${who}: Holdfast waits until that ends, and then:`, screen.columns, '')),
    ...plan.canaries.flatMap((row) => rowLines(row, screen)),
    ...plan.cluster.flatMap(({ state, subject, detail, act }) => [
      `${printable(subject)}: ${paint(screen, state === 'failed' ? 'bad' : 'busy', state)}`,
      ...wrap(act ? `${detail}; ${act}` : detail, screen.columns, indent),
    ]),
    summaryOf(plan),
  ];
}

function rowLines(
  { canary, outcome, what, why, differences, notActedOn }: AdoptionRow,
  screen: Screen,
): string[] {
  const { word, tone } = words[outcome];
  const fields = differences.map(
    ({ path, expected, actual }) =>
      `- ${path}: ${expected} on the target, ${actual ?? '(absent)'} on the primary`,
  );
  const ignored = notActedOn.length > 0 ? [`- without effect here: ${notActedOn.join(', ')}`] : [];
  return [
    `${printable(canary)}: ${paint(screen, tone, word)}`,
    ...wrap(outcome === 'refused' ? why : `${what}: ${why}`, screen.columns, indent),
    ...[...fields, ...ignored].flatMap((line) => wrap(line, screen.columns, indent)),
  ];
}

function summaryOf({ canaries }: AdoptionPlan): string {
  if (canaries.length === 0) return 'No Canaries found.';
  const outcomes = Object.entries(words).flatMap(([outcome, { word }]) => {
    const count = canaries.filter((row) => row.outcome === outcome).length;
    return count > 0 ? [`${count} ${word}`] : [];
  });
  return `${counted(canaries.length, 'Canary', 'Canaries')}: ${outcomes.join(', ')}`;
}
