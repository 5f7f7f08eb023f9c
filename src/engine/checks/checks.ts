import { setMaxListeners } from 'node:events';
import type { HookType } from '../../api/canary/analysis.ts';
import { type Canary, hooksOf, metricsById } from '../../api/canary/canary.ts';
import { type Clock, sleep } from '../../api/clock.ts';
import { namespacedName } from '../../api/kubernetes.ts';
import type { CheckOutcome, CheckRequest, HookAnswer, MetricReading } from '../../api/observed.ts';
import type { MetricQuestion, Metrics } from '../../contracts/cluster.ts';
import type { Hooks } from '../../contracts/notifications.ts';
import { comparePoints } from '../../health/mann-whitney.ts';
import type { World } from '../../rollout/world.ts';

/** Asks metrics and webhooks outside the loop, so that a slow one delays no other Canary (L8). Answers are kept in memory only. */
export interface Checks {
  /** Starts the check unless the same key was started already; an older one of the same Canary is cancelled. */
  request(canary: Canary, request: CheckRequest, subject: CheckSubject): void;
  /** The answers that came last; those of a check under way replace them once they are all there. */
  outcomeOf(canaryKey: string): CheckOutcome | undefined;
  forget(canaryKey: string): void;
  /** Gives up what is under way: a webhook may take an hour, and who comes next asks again. */
  stop(): void;
}

/** What a check is about, besides the Canary. */
interface CheckSubject
  extends Pick<MetricQuestion, 'provider' | 'workload' | 'otherWorkload' | 'pods' | 'writer'> {
  /** The same of the other side, for metrics that compare the two. */
  readonly other?: Pick<MetricQuestion, 'workload' | 'otherWorkload' | 'pods'>;
}

/** What the checks need. `onDone` is called when all answers of a check are there. */
interface CheckOptions {
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

/** Starts without a check. */
export function createChecks({ metrics, hooks, clock, onDone }: CheckOptions): Checks {
  const entries = new Map<string, Entry>();

  async function ask(
    canary: Canary,
    request: CheckRequest,
    subject: CheckSubject,
    signal: AbortSignal,
  ): Promise<CheckOutcome['readings']> {
    const { analysis, postPromotion } = canary.spec;
    // Each list has ids of its own; after promotion its own list is asked first.
    const lists =
      request.purpose === 'analysis' ? [analysis?.metrics] : [postPromotion?.metrics, analysis?.metrics];
    return Promise.all(
      request.metrics.map(async (name) => {
        const metric = lists.map((list) => metricsById(list).get(name)).find((one) => one !== undefined);
        if (!metric) {
          const detail = `the Canary defines no metric ${name}`;
          return { name, reading: { kind: 'error' as const, detail } };
        }
        const reading = readCompared(metrics, { canary, metric, request, subject }, signal);
        return { name, reading: await withDeadline(reading, clock, signal) };
      }),
    );
  }

  return {
    request(canary, request, subject) {
      const canaryKey = namespacedName(canary);
      const before = entries.get(canaryKey);
      if (before?.key === request.key) return;
      before?.abort.abort();
      const entry: Entry = { key: request.key, abort: new AbortController(), outcome: before?.outcome };
      entries.set(canaryKey, entry);
      const { signal } = entry.abort;
      // Every metric and webhook of a Canary listens, which is no leak.
      setMaxListeners(0, signal);
      void Promise.all([
        ask(canary, request, subject, signal),
        Promise.all(request.hooks.map((type) => askType(hooks, { canary, request }, type, signal))),
      ]).then(([readings, answers]) => {
        if (signal.aborted) return;
        entry.outcome = { key: request.key, atMs: clock.nowMs(), readings, hooks: answers.flat() };
        onDone(canaryKey);
      });
    },
    outcomeOf: (canaryKey) => entries.get(canaryKey)?.outcome,
    forget(canaryKey) {
      entries.get(canaryKey)?.abort.abort();
      entries.delete(canaryKey);
    },
    stop() {
      for (const { abort } of entries.values()) abort.abort();
    },
  };
}

/**
 * One metric; with `compareWith` or `compare` the other side is asked at the same moment, and without its answer there is none. A release that is tried on
 * the primary is compared with the canary, which serves then. After promotion there is nothing to compare with.
 */
async function readCompared(
  metrics: Metrics,
  asked: Pick<MetricQuestion, 'canary' | 'metric'> & {
    readonly request: Pick<CheckRequest, 'role' | 'purpose' | 'facts' | 'startTime'>;
    readonly subject: CheckSubject;
  },
  signal: AbortSignal,
): Promise<MetricReading> {
  const { canary, metric, subject, request } = asked;
  const { role } = request;
  const { other, ...own } = subject;
  const asPoints = metric.compare !== undefined && request.purpose === 'analysis';
  const release = `${request.facts.digest} ${request.startTime ?? ''}`;
  const question = { canary, metric, release, ...(asPoints ? { asPoints } : {}) };
  const first = metrics.read({ ...question, role, ...own }, signal);
  if ((metric.compareWith !== 'primary' && !asPoints) || request.purpose !== 'analysis') return first;
  const otherRole = role === 'primary' ? 'canary' : 'primary';
  const second = metrics.read(
    { ...question, provider: own.provider, writer: own.writer, ...other, role: otherRole },
    signal,
  );
  const [reading, baseline] = await Promise.all([first, second]);
  if (reading.kind !== 'value') return reading;
  if (baseline.kind !== 'value') return { ...baseline, detail: `of the ${otherRole}: ${baseline.detail}` };
  const compared = asPoints
    ? comparePoints(metric, reading.points ?? [], baseline.points ?? [], otherRole)
    : { ...reading, baseline: baseline.value };
  return otherRole === 'canary' && compared.kind === 'value'
    ? { ...compared, baselineOf: otherRole }
    : compared;
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

/** The two sides at the moment of a check. */
interface Seen {
  readonly provider: string;
  readonly world: Pick<World, 'primary' | 'target'>;
  /** Names of pods by their template, where both sides are pods of one workload: those of the newest first. */
  readonly revision?: CheckSubject['pods'];
  readonly writer?: CheckSubject['writer'];
}

/** What queries may name besides the Canary: provider, the workload that the check is about, and the one it may be compared with. */
export function checkSubject(
  { provider, world, revision, writer }: Seen,
  { role }: Pick<CheckRequest, 'role'>,
): CheckSubject {
  const otherPods = revision && { pods: revision.otherPods, otherPods: revision.pods };
  const [own, other] = role === 'primary' ? [world.primary, world.target] : [world.target, world.primary];
  return {
    provider,
    writer,
    workload: own?.name,
    otherWorkload: other?.name,
    pods: revision,
    other: { workload: other?.name, otherWorkload: own?.name, pods: otherPods },
  };
}

/** The part of a request that concerns webhooks. */
interface Asked {
  readonly canary: Canary;
  readonly request: Pick<CheckRequest, 'hooks' | 'facts'>;
}

/**
 * Asks the webhooks of one type, in the order of the spec; the types of a request are asked side by side. The first that decides ends its type:
 * one that does not approve, and of the rollback type one that does. Never rejects.
 */
async function askType(
  hooks: Hooks,
  { canary, request }: Asked,
  type: HookType,
  signal: AbortSignal,
): Promise<HookAnswer[]> {
  const answers: HookAnswer[] = [];
  for (const webhook of hooksOf(canary, type)) {
    if (signal.aborted) break;
    const call = { canary, webhook, type, facts: request.facts };
    const answer = await hooks.call(call, signal).catch((error: unknown): HookAnswer => {
      const detail = error instanceof Error ? error.message : 'the webhook could not be called';
      return { name: webhook.name, type, verdict: 'unreachable', detail };
    });
    answers.push(answer);
    if ((answer.verdict === 'approved') === (type === 'rollback')) break;
  }
  return answers;
}
