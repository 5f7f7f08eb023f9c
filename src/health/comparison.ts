import type { WorkloadView } from './workload-view.ts';

/**
 * What a difference from the expected state leads to:
 * `blocks`: the workload is not ready with the release, so it gets no traffic, and a check after promotion fails;
 * `fails`: a check after promotion fails; `tells`: it is only reported.
 */
type Severity = 'blocks' | 'fails' | 'tells';

/** One expected property of a workload and its actual value (Flagger issue 1592). Texts are for people; counts also have numbers. */
export interface Comparison {
  /** kebab-case, stable: part of status.checks. */
  readonly name: string;
  readonly expected: string;
  readonly actual: string;
  readonly met: boolean;
  readonly severity: Severity;
  /** What differs, in one sentence; present if it is not met. */
  readonly detail?: string;
  readonly value?: number;
  readonly min?: number;
  readonly max?: number;
}

/** The expected state of a workload. */
export interface Expected {
  /** Digest of the release it should run; undefined: the one it was written from. */
  readonly digest?: string | undefined;
  /** Share of its pods that must be available, in percent (analysis.primaryReadyThreshold). */
  readonly readyPercent: number;
  /** Number of pods by Git or an autoscaler; undefined: only the workload itself sets it. */
  readonly replicas?: { readonly min: number; readonly max: number } | undefined;
  /** postPromotion.expect.maxRestarts. */
  readonly maxRestarts?: number | undefined;
}

/** A comparison of texts; the caller gives `met`, since texts may be cut. */
export function compareText(
  name: string,
  texts: Pick<Comparison, 'expected' | 'actual' | 'met' | 'severity'> & { readonly detail: string },
): Comparison {
  const { detail, ...rest } = texts;
  return { name, ...rest, ...(texts.met ? {} : { detail }) };
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

/** How many pods of the current template must be available: the ready threshold of its pods, or of the expected minimum; at least one. */
export function enoughPods(
  { updatedReplicas }: Pick<WorkloadView, 'updatedReplicas'>,
  { readyPercent, replicas }: Pick<Expected, 'readyPercent' | 'replicas'>,
): number {
  const asked = Math.min(updatedReplicas, replicas?.min ?? Number.POSITIVE_INFINITY);
  return Math.max(1, Math.floor((asked * readyPercent) / 100));
}
