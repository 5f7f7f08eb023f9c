import type { Canary } from '../../api/canary.ts';
import type { CanaryMetric } from '../../api/canary-metric.ts';
import { type Clock, sleep } from '../../api/clock.ts';
import { metricsById } from '../../api/metric-ids.ts';
import type { MetricReading } from '../../api/observed.ts';
import type { CheckOutcome } from '../../health/check-results.ts';
import type { CheckRequest } from '../../rollout/action.ts';
import type { Hooks } from '../ports/hooks-port.ts';
import type { MetricQuestion, Metrics } from '../ports/ports.ts';
import { askHooks } from './hook-calls.ts';

/** Asks metrics and webhooks beside the loop, so that a slow one delays no other Canary (L8). Answers live in memory only. */
export interface Checks {
  /** Starts the check unless the same key was started already; an older one of the same Canary is given up. */
  request(canary: Canary, request: CheckRequest, subject: CheckSubject): void;
  /** The answers that came last; those of a check under way replace them once they are all there. */
  outcomeOf(canaryKey: string): CheckOutcome | undefined;
  forget(canaryKey: string): void;
}

/** Whom a check is about, beside the Canary. */
export interface CheckSubject {
  /** Routing provider in effect. */
  readonly provider: string;
  /** Name of the workload of its role as it is in the cluster: of a Knative Service the revision. */
  readonly workload?: string | undefined;
  /** Names of its pods by their template, where both sides are pods of one workload. */
  readonly pods?: MetricQuestion['pods'];
  /** The same of the other side, for metrics that compare the two. */
  readonly other?: Pick<MetricQuestion, 'workload' | 'pods'>;
}

/** What the checks need. `onDone` is called when all answers of a check are there. */
export interface CheckOptions {
  readonly metrics: Metrics;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly onDone: (canaryKey: string) => void;
}

/** Longest time for the metrics of one check; what is missing then counts as not known. Webhooks have timeouts of their own. */
const checkDeadlineMs = 30_000;

interface Entry {
  readonly key: string;
  readonly abort: AbortController;
  /** Of this check or, until it is answered, of the one before. */
  outcome: CheckOutcome | undefined;
}

/** No check under way. */
export function createChecks({ metrics, hooks, clock, onDone }: CheckOptions): Checks {
  const entries = new Map<string, Entry>();

  async function ask(
    canary: Canary,
    request: CheckRequest,
    subject: CheckSubject,
    signal: AbortSignal,
  ): Promise<CheckOutcome['readings']> {
    return Promise.all(
      request.metrics.map(async (name) => {
        const metric = metricNamed(canary, request, name);
        const reading = metric
          ? readCompared(metrics, { canary, metric, request, subject }, signal)
          : notDefined(name);
        return { name, reading: await withDeadline(reading, clock, signal) };
      }),
    );
  }

  return {
    request(canary, request, subject) {
      const canaryKey = keyOf(canary);
      const before = entries.get(canaryKey);
      if (before?.key === request.key) return;
      before?.abort.abort();
      const entry: Entry = { key: request.key, abort: new AbortController(), outcome: before?.outcome };
      entries.set(canaryKey, entry);
      const { signal } = entry.abort;
      void Promise.all([
        ask(canary, request, subject, signal),
        askHooks(hooks, { canary, request }, signal),
      ]).then(([readings, answers]) => {
        if (signal.aborted) return;
        entry.outcome = { key: request.key, atMs: clock.nowMs(), readings, hooks: answers };
        onDone(canaryKey);
      });
    },
    outcomeOf: (canaryKey) => entries.get(canaryKey)?.outcome,
    forget(canaryKey) {
      entries.get(canaryKey)?.abort.abort();
      entries.delete(canaryKey);
    },
  };
}

/** `namespace/name`, by which the engine knows a Canary or a Source. */
export function keyOf(object: { metadata: { namespace?: string; name: string } }): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

/** Each list has its own ids; after promotion its own list is asked first. */
function metricNamed({ spec }: Canary, { purpose }: CheckRequest, id: string): CanaryMetric | undefined {
  const own = purpose === 'analysis' ? undefined : metricsById(spec.postPromotion?.metrics).get(id);
  return own ?? metricsById(spec.analysis?.metrics).get(id);
}

/**
 * One metric; with `compareWith` the other side is asked at the same moment, and without its answer there is none. A release that is tried on
 * the primary is compared with the canary, which serves then. After promotion there is nothing to compare with.
 */
async function readCompared(
  metrics: Metrics,
  asked: Pick<MetricQuestion, 'canary' | 'metric'> & {
    readonly request: Pick<CheckRequest, 'role' | 'purpose'>;
    readonly subject: CheckSubject;
  },
  signal: AbortSignal,
): Promise<MetricReading> {
  const { canary, metric, subject, request } = asked;
  const { role } = request;
  const { other, ...own } = subject;
  const first = metrics.read({ canary, metric, role, ...own }, signal);
  if (metric.compareWith !== 'primary' || request.purpose !== 'analysis') return first;
  const otherRole = role === 'primary' ? 'canary' : 'primary';
  const second = metrics.read({ canary, metric, provider: own.provider, ...other, role: otherRole }, signal);
  const [reading, baseline] = await Promise.all([first, second]);
  if (reading.kind !== 'value') return reading;
  if (baseline.kind !== 'value')
    return { kind: baseline.kind, detail: `of the ${otherRole}: ${baseline.detail}` };
  const compared = { ...reading, baseline: baseline.value };
  return otherRole === 'canary' ? { ...compared, baselineOf: otherRole } : compared;
}

async function notDefined(name: string): Promise<MetricReading> {
  return { kind: 'error', detail: `the Canary defines no metric ${name}` };
}

async function withDeadline(
  reading: Promise<MetricReading>,
  clock: Clock,
  signal: AbortSignal,
): Promise<MetricReading> {
  const ended = new AbortController();
  const late = sleep(clock, checkDeadlineMs, AbortSignal.any([signal, ended.signal])).then(
    (): MetricReading => ({ kind: 'error', detail: `no answer within ${checkDeadlineMs / 1000} s` }),
  );
  const answer = reading.catch(
    (error: unknown): MetricReading => ({
      kind: 'error',
      detail: error instanceof Error ? error.message : 'the provider failed',
    }),
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    ended.abort();
  }
}
