import type { WorkloadView } from './workload-view.ts';

/**
 * How much a difference between what must be true and what is weighs:
 * `blocks`: the workload has not taken the release over, so no traffic follows, and a check after promotion fails;
 * `fails`: a check after promotion fails; `tells`: it is reported and decides nothing.
 */
type Severity = 'blocks' | 'fails' | 'tells';

/** One expected property of a workload and its actual value (Flagger issue 1592). Texts are for people; numbers are there where both are counts. */
export interface Comparison {
  /** kebab-case, stable: it stands in status.checks. */
  readonly name: string;
  readonly expected: string;
  readonly actual: string;
  readonly met: boolean;
  readonly severity: Severity;
  /** What differs, in one sentence; present when it is not met. */
  readonly detail?: string;
  readonly value?: number;
  readonly min?: number;
  readonly max?: number;
}

/** What must be true of a workload. */
export interface Expected {
  /** Digest of the release it is to run; undefined: whatever it was written from. */
  readonly digest?: string | undefined;
  /** Share of its pods that must be available, in percent (analysis.primaryReadyThreshold). */
  readonly readyPercent: number;
  /** Pods that Git, or an autoscaler, asks for; undefined: nobody but the workload itself says. */
  readonly replicas?: { readonly min: number; readonly max: number } | undefined;
  /** postPromotion.expect.maxRestarts. */
  readonly maxRestarts?: number | undefined;
}

/** A comparison of words; met or not is told, since texts may be cut. */
export function compareText(
  name: string,
  words: Pick<Comparison, 'expected' | 'actual' | 'met' | 'severity'> & { readonly detail: string },
): Comparison {
  const { detail, ...rest } = words;
  return { name, ...rest, ...(words.met ? {} : { detail }) };
}

/** A count that must not be below a bound. */
export function compareAtLeast(
  name: string,
  { value, min, detail, severity = 'blocks' }: Count & { readonly min: number },
): Comparison {
  const met = value >= min;
  const numbers = { value, min, expected: `at least ${min}`, actual: String(value) };
  return { name, ...numbers, met, severity, ...(met ? {} : { detail }) };
}

/** A count that must not be above a bound. */
export function compareAtMost(
  name: string,
  { value, max, detail, severity = 'blocks' }: Count & { readonly max: number },
): Comparison {
  const met = value <= max;
  const numbers = { value, max, expected: `at most ${max}`, actual: String(value) };
  return { name, ...numbers, met, severity, ...(met ? {} : { detail }) };
}

interface Count {
  readonly value: number;
  readonly detail: string;
  readonly severity?: Severity;
}

/**
 * How many pods of the current template must be available: their ready threshold, of the least of the range where one is expected; at least
 * one.
 */
export function enoughPods(
  { updatedReplicas }: Pick<WorkloadView, 'updatedReplicas'>,
  { readyPercent, replicas }: Pick<Expected, 'readyPercent' | 'replicas'>,
): number {
  const asked = Math.min(updatedReplicas, replicas?.min ?? Number.POSITIVE_INFINITY);
  return Math.max(1, Math.floor((asked * readyPercent) / 100));
}
