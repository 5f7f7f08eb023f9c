import { type KubernetesObject, nameOfKey, namespacedName } from '../../api/kubernetes.ts';
import type { Metrics, OpenWatch, WatchedSet } from '../../contracts/cluster.ts';
import type { Alerts, Hooks } from '../../contracts/notifications.ts';
import { createAlertOutbox } from '../alerts/alert-outbox.ts';
import { createChecks } from '../checks/checks.ts';
import { createEventHooks } from '../checks/event-hooks.ts';
import { failureOf } from '../failure.ts';
import { createWorkQueue, type WorkQueue } from '../work-queue.ts';
import { anyChange, keyIn, keysOfCanary, keysOfObject, mayName } from './affected.ts';
import { createCanaryPass } from './canary-pass.ts';
import { gatherMs } from './canary-round.ts';
import type { CanaryParts } from './context/context.ts';
import { type NamespaceView, type NamespaceWatch, watchNamespace } from './context/namespace-view.ts';
import { keepsConfig } from './context/observation.ts';
import { createAfterRevert, createLostRecords, type Reproduced } from './context/reproduction.ts';
import { createShadowPass, deferToFlagger } from './hands-off-pass.ts';
import { specsOf, targetKeys } from './status/spec-in-force.ts';
import { kindsByNamespace, watchKey } from './watches.ts';

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

/** Does nothing before `start`. */
export function createCanaryController(options: CanaryControllerOptions): CanaryController {
  const { canaries } = options;
  const namespaces = new Map<string, NamespaceWatch>();
  const parts = canaryParts(options, { wake: (key) => queue.add(key), namespace: viewOf });
  const pass = options.isShadow ? createShadowPass(parts) : deferToFlagger(parts, createCanaryPass(parts));
  const queue = newQueue(options, pass);
  /** Of each Canary what its kinds go by, and its namespace with them. */
  const watchedFor = new Map<string, { readonly by: string; readonly kinds: string }>();

  function viewOf(namespace: string): NamespaceWatch {
    const known = namespaces.get(namespace);
    if (known) return known;
    const view = watchNamespace(namespace, options.openWatch, (object) => changed(namespace, object));
    namespaces.set(namespace, view);
    return view;
  }

  function addAll(concerned: readonly KubernetesObject[]): void {
    for (const canary of concerned) queue.addAfter(namespacedName(canary), gatherMs);
  }

  function changed(namespace: string, object: KubernetesObject | undefined): void {
    const having = (key: string) => parts.canaries.byKey(keysOfCanary, keyIn(namespace, key));
    if (!object) return addAll(having(anyChange));
    for (const key of keysOfObject(object)) addAll(having(key));
    // Content of releases; it is named by pods, and not by the Canary.
    if (object.kind !== 'ConfigMap' && object.kind !== 'Secret') return;
    const isNamed = (key: string) => options.liveHeads.names(key, object) || keepsConfig(parts, key, object);
    addAll(having(anyChange).filter((canary) => isNamed(namespacedName(canary))));
  }

  /** Watches exactly the namespaces and kinds that the Canaries need now. */
  function adjustWatches(): void {
    const wanted = kindsByNamespace(parts.canaries.list(), options);
    for (const [namespace, kinds] of wanted) viewOf(namespace).setKinds(kinds);
    for (const [namespace, view] of namespaces) {
      if (wanted.has(namespace)) continue;
      namespaces.delete(namespace);
      view.close();
    }
  }

  /** Whether other kinds are watched for a Canary than before: its status changes often, and all Canaries would be looked at each time. */
  function isWatchedAnew(canary: KubernetesObject): boolean {
    const key = namespacedName(canary);
    const before = watchedFor.get(key);
    watchedFor.delete(key);
    if (!canaries.get(canary.metadata.namespace, canary.metadata.name)) return true;
    const by = watchKey(canary);
    const kinds = before?.by === by ? before.kinds : JSON.stringify([...kindsByNamespace([canary], options)]);
    const isKnown = before
      ? before.kinds === kinds
      : [...watchedFor.values()].some((one) => one.kinds === kinds);
    watchedFor.set(key, { by, kinds });
    return !isKnown;
  }

  function canaryChanged(canary: KubernetesObject | undefined): void {
    if (!canary || isWatchedAnew(canary)) adjustWatches();
    if (!canary) return addAll(parts.canaries.list());
    // Those with the same target, too: when one is deleted, the other may begin.
    for (const key of targetKeys(canary)) addAll(parts.canaries.byKey(targetKeys, key));
    if (!canaries.get(canary.metadata.namespace, canary.metadata.name)) queue.add(namespacedName(canary));
  }

  function referenceChanged(object: KubernetesObject | undefined): void {
    const isConcerned = (canary: KubernetesObject) =>
      !object || specsOf(canary).some((one) => mayName(one, object));
    addAll(parts.canaries.list().filter(isConcerned));
  }

  function freezeChanged(namespace: string | undefined): void {
    const all = parts.canaries.list();
    addAll(all.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace));
  }

  return {
    start() {
      adjustWatches();
      canaries.onChange(canaryChanged);
      options.references.onChange(referenceChanged);
      options.heads.onAllRead(() => canaryChanged(undefined));
      options.flagger.onChange(() => canaryChanged(undefined));
      options.freezes?.onChange(freezeChanged);
    },
    wake: (key) => queue.addAfter(key, gatherMs),
    async stop() {
      await Promise.all([queue.stop(), parts.outbox.stop()]);
      parts.checks.stop();
      parts.eventHooks.stop();
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
    async pass(key, looks) {
      const startedMs = clock.nowMs();
      let succeeded = false;
      try {
        const result = await pass(key, looks);
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

/** How the parts reach the loop. */
interface Loop {
  /** Reconciles a Canary now. */
  readonly wake: (key: string) => void;
  readonly namespace: (namespace: string) => NamespaceView;
}

/** Starts the checks, alerts and comparisons that run beside the loop, with nothing under way. */
function canaryParts(options: CanaryControllerOptions, { wake, namespace }: Loop): CanaryParts {
  const { canaries, clock, heads, hooks, metrics, reproduce } = options;
  return {
    ...options,
    checks: createChecks({ metrics, hooks, clock, onDone: wake }),
    eventHooks: createEventHooks(options),
    outbox: createAlertOutbox({ ...options, onAnswer: wake }),
    drift: new Map(),
    afterRevert: createAfterRevert(reproduce, wake, clock),
    lostRecords: createLostRecords(heads, reproduce, clock, wake),
    canaries: {
      get(key) {
        const { namespace, name } = nameOfKey(key);
        return canaries.get(namespace, name);
      },
      list: () => canaries.list(),
      byKey: (keysOf, key) => canaries.byKey(keysOf, key),
      remember: (object) => canaries.remember(object),
    },
    namespace,
  };
}
