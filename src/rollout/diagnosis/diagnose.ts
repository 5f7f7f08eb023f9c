import { isBroken } from '../expectation/drift-comparisons.ts';
import { firstDifference } from '../expectation/expectation.ts';
import { faultWords } from '../expectation/fault-words.ts';
import type { PodFault, WorkloadView } from '../world.ts';
import { causeOf } from './cause-of.ts';
import { type Cause, causes } from './causes.ts';

/** Why a primary does not take a release over, compared with the canary. */
export interface Diagnosis {
  readonly cause: Cause;
  /** What was seen, worst first; at most a handful of lines. */
  readonly evidence: readonly string[];
  /** The canary, with the same release, shows the same cause: then the release is to blame, and not this copy. */
  readonly onCanaryToo: boolean;
}

const mostEvidence = 6;

/** Diagnoses a primary by its worst fault. Pure; the same views give the same answer. */
export function diagnose(primary: WorkloadView | undefined, target: WorkloadView | undefined): Diagnosis {
  const sameRelease = target !== undefined && target.digest === primary?.digest;
  const containers = sameRelease ? target.podContainers : [];
  const [worst] = primary?.faults ?? [];
  const cause = worst ? causeOf(worst, containers) : withoutFault(primary);
  const twin = sameRelease && worst ? twinOf(worst, cause, target) : undefined;
  return {
    cause,
    evidence: evidenceOf(primary, twin),
    onCanaryToo: twin !== undefined,
  };
}

function withoutFault(primary: WorkloadView | undefined): Cause {
  return primary?.configCopies.some(isBroken) ? 'ConfigCopyMissing' : 'ProgressStopped';
}

/** One line: what is wrong, and the worst that was seen of it. */
export function sentence({ cause }: Diagnosis, primary: WorkloadView | undefined): string {
  return `${causes[cause].title}: ${firstDifference(primary, { readyPercent: 100 })}`;
}

/** A pod that only starts is in the state of one that fails; on a canary that has passed its analysis it says nothing. */
const starting: ReadonlySet<string> = new Set(['NotReadyYet', 'ContainerCreating', 'PodInitializing']);

function twinOf(worst: PodFault, cause: Cause, target: WorkloadView): PodFault | undefined {
  return target.faults.find(
    (fault) =>
      !starting.has(fault.reason) && fault.container === worst.container && causeOf(fault, []) === cause,
  );
}

function evidenceOf(primary: WorkloadView | undefined, twin: PodFault | undefined): string[] {
  const faults = (primary?.faults ?? []).map((fault) => `${fault.pod}: ${faultWords(fault)}`);
  const deadline = primary?.progressDeadlineExceeded
    ? ['its controller gave up: ProgressDeadlineExceeded']
    : [];
  const canary = twin ? [`canary ${twin.pod}: ${faultWords(twin)}`] : [];
  const seen = [...faults, ...deadline];
  if (seen.length === 0) seen.push(firstDifference(primary, { readyPercent: 100 }));
  return [...new Set(seen)].slice(0, mostEvidence - canary.length).concat(canary);
}
