import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Metrics, OpenWatch, WatchedSet } from '../../contracts/cluster.ts';
import type { Alerts, Hooks } from '../../contracts/notifications.ts';
import { createAlertOutbox } from '../alerts/alert-outbox.ts';
import { createChecks } from '../checks/checks.ts';
import { createEventHooks } from '../checks/event-hooks.ts';
import type { CanaryParts } from './context/context.ts';
import type { NamespaceView } from './context/namespace-view.ts';
import { createAfterRevert, createLostRecords, type Reproduced } from './context/reproduction.ts';

/** The parts of the controller of all Canaries. */
export interface CanaryControllerOptions
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

/** How the parts reach the loop. */
interface Loop {
  /** Reconciles a Canary now. */
  readonly wake: (key: string) => void;
  readonly namespace: (namespace: string) => NamespaceView;
}

/** Starts the checks, alerts and comparisons that run beside the loop, with nothing under way. */
export function canaryParts(options: CanaryControllerOptions, { wake, namespace }: Loop): CanaryParts {
  const { canaries, clock, heads, hooks, metrics, reproduce } = options;
  const ours = () => canaries.list().filter(options.isOurs);
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
        const [namespace, name = ''] = key.split('/');
        const canary = canaries.get(namespace, name);
        return canary && options.isOurs(canary) ? canary : undefined;
      },
      list: ours,
      remember: (object) => canaries.remember(object),
    },
    namespace,
  };
}
