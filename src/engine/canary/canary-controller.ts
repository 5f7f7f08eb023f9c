import type { Canary } from '../../api/canary/canary.ts';
import { type KubernetesObject, namespacedName } from '../../api/kubernetes.ts';
import type { Metrics, OpenWatch, WatchedSet } from '../../contracts/cluster.ts';
import type { Alerts, Hooks } from '../../contracts/notifications.ts';
import { createAlertOutbox } from '../alerts/alert-outbox.ts';
import { createChecks } from '../checks/checks.ts';
import { createEventHooks } from '../checks/event-hooks.ts';
import { failureOf, isStale } from '../failure.ts';
import { findCondition, withCondition } from '../status-patch.ts';
import { createWorkQueue, type PassResult, type WorkQueue } from '../work-queue.ts';
import { affects } from './affected.ts';
import { createCanaryPass } from './canary-pass.ts';
import type { CanaryParts } from './context/context.ts';
import { foreignControllerCondition, unknownController } from './context/flagger-watch.ts';
import { type NamespaceWatch, watchNamespace } from './context/namespace-view.ts';
import { createAfterRevert, createLostRecords, type Reproduced } from './context/reproduction.ts';
import { createShadowPass } from './shadow.ts';
import { specsOf } from './status/spec-in-force.ts';
import { mayName } from './status/spec-notices.ts';
import { writeStatus } from './status/status.ts';
import { kindsByNamespace } from './status/watched-kinds.ts';

/** The parts of the controller of all Canaries. */
interface CanaryControllerOptions
  extends Omit<
    CanaryParts,
    'canaries' | 'namespace' | 'checks' | 'afterRevert' | 'lostRecords' | 'outbox' | 'eventHooks' | 'drift'
  > {
  readonly openWatch: OpenWatch;
  readonly metrics: Metrics;
  readonly alerts: Alerts;
  readonly hooks: Hooks;
  /** Renders a Canary's release at an older commit again. */
  readonly reproduce: (canaryKey: string, commit: string) => Promise<Reproduced>;
  /** The set of all Canaries. */
  readonly canaries: WatchedSet;
  /** Decisions are only logged, and nothing is written. */
  readonly isShadow: boolean;
  /** Whether a Canary is ours; what is not is left alone. */
  readonly isOurs: (canary: KubernetesObject) => boolean;
  readonly random: () => number;
  /** Called after each pass, for metrics. */
  readonly onPass?: (key: string, durationMs: number, succeeded: boolean) => void;
}

/** Reconciles every Canary, independent of the others. */
export interface CanaryController {
  start(): void;
  /** Reconciles a Canary soon, for instance because Git has a new commit. */
  wake(key: string): void;
  /** Ends the passes under way, then every watch. */
  stop(): Promise<void>;
  depth(): number;
}

const defaultConcurrency = 8;
/** Bursts of watch events become one pass. */
const gatherMs = 20;

/** Does nothing before `start`. */
export function createCanaryController(options: CanaryControllerOptions): CanaryController {
  const { canaries, clock, hooks, metrics } = options;
  const namespaces = new Map<string, NamespaceWatch>();
  const ours = () => canaries.list().filter(options.isOurs);
  const checks = createChecks({ metrics, hooks, clock, onDone: (key) => queue.add(key) });
  const eventHooks = createEventHooks(options);
  const outbox = createAlertOutbox({ ...options, onAnswer: (key) => queue.add(key) });
  const parts: CanaryParts = {
    ...options,
    checks,
    eventHooks,
    outbox,
    drift: new Map(),
    afterRevert: createAfterRevert(options.reproduce, (key) => queue.add(key), clock),
    lostRecords: createLostRecords(options.heads, options.reproduce, clock, (key) => queue.add(key)),
    canaries: {
      get: (key) => ours().find((canary) => namespacedName(canary) === key),
      list: ours,
      remember: (object) => canaries.remember(object),
    },
    namespace: (namespace) => viewOf(namespace),
  };
  const pass = options.isShadow ? createShadowPass(parts) : deferToFlagger(parts, createCanaryPass(parts));
  const queue = newQueue(options, pass);

  function viewOf(namespace: string): NamespaceWatch {
    const known = namespaces.get(namespace);
    if (known) return known;
    const view = watchNamespace(namespace, options.openWatch, (object) => changed(namespace, object));
    namespaces.set(namespace, view);
    return view;
  }

  function changed(namespace: string, object: KubernetesObject | undefined): void {
    for (const canary of ours()) {
      if (canary.metadata.namespace !== namespace) continue;
      const isNamed = object !== undefined && options.liveHeads.names(namespacedName(canary), object);
      if (!object || isNamed || specsOf(canary).some((one) => affects(object, one)))
        queue.addAfter(namespacedName(canary), gatherMs);
    }
  }

  /** Watches exactly the namespaces and kinds that the Canaries need now. */
  function adjustWatches(): void {
    const wanted = kindsByNamespace(ours(), options);
    for (const [namespace, kinds] of wanted) viewOf(namespace).setKinds(kinds);
    for (const [namespace, view] of namespaces) {
      if (wanted.has(namespace)) continue;
      namespaces.delete(namespace);
      view.close();
    }
  }

  function canaryChanged(canary: KubernetesObject | undefined): void {
    adjustWatches();
    for (const other of canary ? canariesOfSameTarget(canary, ours()) : ours())
      queue.addAfter(namespacedName(other), gatherMs);
    if (canary && !canaries.get(canary.metadata.namespace, canary.metadata.name))
      queue.add(namespacedName(canary));
  }

  function referenceChanged(object: KubernetesObject | undefined): void {
    for (const canary of ours())
      if (!object || specsOf(canary).some((one) => mayName(one, object)))
        queue.addAfter(namespacedName(canary), gatherMs);
  }

  return {
    start() {
      adjustWatches();
      canaries.onChange(canaryChanged);
      options.references.onChange(referenceChanged);
      options.heads.onAllRead(() => canaryChanged(undefined));
      options.flagger.onChange(() => canaryChanged(undefined));
      options.freezes?.onChange(() => canaryChanged(undefined));
    },
    wake: (key) => queue.addAfter(key, gatherMs),
    async stop() {
      await Promise.all([queue.stop(), outbox.stop()]);
      eventHooks.stop();
      for (const view of namespaces.values()) view.close();
      namespaces.clear();
    },
    depth: () => queue.depth(),
  };
}

function newQueue(
  { clock, log, random, onPass, options }: CanaryControllerOptions,
  pass: ReturnType<typeof createCanaryPass>,
): WorkQueue {
  return createWorkQueue({
    clock,
    random,
    concurrency: options.concurrency ?? defaultConcurrency,
    backoff: { firstMs: 500, maximumMs: 60_000 },
    async pass(key) {
      const startedMs = clock.nowMs();
      let succeeded = false;
      try {
        const result = await pass(key);
        succeeded = result.failure === undefined;
        return result;
      } finally {
        onPass?.(key, clock.nowMs() - startedMs, succeeded);
      }
    },
    onError(canary, error, retryAfterMs) {
      const { reason, message } = failureOf(error);
      const thrown = error instanceof Error ? { err: error } : {};
      log.warn({ canary, reason, retryAfterMs, ...thrown }, `could not reconcile the Canary: ${message}`);
    },
  });
}

/** The Canary itself and those with the same target: when one is deleted, the other may begin. */
function canariesOfSameTarget(
  canary: KubernetesObject,
  all: readonly KubernetesObject[],
): KubernetesObject[] {
  const target = JSON.stringify((canary.spec as { targetRef?: unknown } | undefined)?.targetRef);
  return all.filter(
    (other) =>
      other.metadata.namespace === canary.metadata.namespace &&
      (other.metadata.name === canary.metadata.name ||
        JSON.stringify((other.spec as { targetRef?: unknown } | undefined)?.targetRef) === target),
  );
}

/** A Lease expires without a watch event: it is checked this often. */
const againMs = 10_000;
const unknownAgainMs = 500;

/** Phases in which Flagger writes no status: in the others a write of ours would give it a conflict, and it would lose what it had not written. */
const quietPhases = new Set(['Initialized', 'Succeeded']);

type Pass = (key: string) => Promise<PassResult>;

/** A pass over a Canary that does nothing while Flagger acts on it, and reports that once (design section 2.5). */
function deferToFlagger(parts: CanaryParts, pass: Pass): Pass {
  const reported = new Set<string>();

  return async (key) => {
    const object = parts.canaries.get(key);
    const controller = object && parts.flagger.actsOn(object.metadata.namespace ?? '');
    if (!object || controller === undefined) {
      reported.delete(key);
      return pass(key);
    }
    if (controller === unknownController) return { againAfterMs: unknownAgainMs };
    const message = `${controller}; Holdfast writes nothing until it is scaled to zero`;
    await writeFlaggerCondition(parts, object as Canary, message);
    if (!reported.has(key)) {
      parts.events.emit(object, { type: 'Warning', reason: foreignControllerCondition, message });
      reported.add(key);
    }
    return { againAfterMs: againMs };
  };
}

async function writeFlaggerCondition(
  parts: Pick<CanaryParts, 'clock' | 'cluster'>,
  canary: Canary,
  message: string,
): Promise<void> {
  const status = canary.status ?? {};
  if (!quietPhases.has(status.phase ?? '') || canary.metadata.deletionTimestamp !== undefined) return;
  if (findCondition(status.conditions, foreignControllerCondition)?.status === 'True') return;
  const type = foreignControllerCondition;
  const news = { type, status: 'True' as const, reason: 'FlaggerActs', message };
  const conditions = withCondition(status.conditions ?? [], news, parts.clock.nowMs());
  try {
    await writeStatus(parts, canary, { ...status, conditions });
  } catch (error) {
    // Flagger was faster: the next pass reports it.
    if (!isStale(error)) throw error;
  }
}
