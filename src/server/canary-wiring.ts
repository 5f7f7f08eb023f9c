import type { Clock } from '../api/clock.ts';
import { InputError } from '../api/problems.ts';
import type { WatchedSet } from '../contracts/cluster.ts';
import type { Alerts } from '../contracts/notifications.ts';
import { createApplied } from '../engine/applied.ts';
import type { EngineOptions } from '../engine/canary/context/context.ts';
import { watchFlagger } from '../engine/canary/context/flagger-watch.ts';
import { watchFreezes } from '../engine/canary/context/freeze-watch.ts';
import { createLiveHeads } from '../engine/canary/context/live-heads.ts';
import {
  createDrillSchedule,
  type DrillSchedule,
  type DrillScheduleParts,
} from '../engine/canary/drill/drill-schedule.ts';
import { createAdoption } from '../engine/canary/observe/adoption.ts';
import { nextDelayMs, scheduleProblem } from '../git/poll/schedule.ts';
import { createHooks } from '../providers/hooks/webhook.ts';
import { routerFor, routers } from '../providers/routing/table.ts';
import { step } from '../rollout/step.ts';
import { createReferences, type EngineSets, type EngineWiring } from './engine-wiring.ts';
import { type AppOptions, DEFAULT_CLUSTER_NAME, namespacesOf } from './options.ts';
import { createAlertsPort, createMetricsPort } from './providers.ts';

/** The receivers of alerts. */
export function alertsOf({ options, http, cluster }: EngineWiring, providers: WatchedSet): Alerts {
  const { clusterName, defaultReceiver, runbookUrl } = options;
  return createAlertsPort({
    ...{ http, cluster, providers },
    byDefault: defaultReceiver,
    clusterName: clusterName === DEFAULT_CLUSTER_NAME ? undefined : clusterName,
    documentation: runbookUrl,
  });
}

function limitsOf(options: AppOptions): EngineOptions {
  const { minAnalysisIntervalMs, meshProvider, selectorLabels, includeLabelPrefixes } = options;
  return {
    minIntervalMs: minAnalysisIntervalMs,
    defaultProvider: meshProvider,
    selectorLabels,
    includeLabelPrefixes,
    ...(options.routes ? { routes: options.routes } : {}),
    forbidsOtherNamespaces: options.forbidsOtherNamespaces !== false,
    ...(options.concurrency ? { concurrency: options.concurrency } : {}),
    hasDefaultAlert: options.defaultReceiver !== undefined,
    eventWebhook: options.eventWebhook,
  };
}

/** What Canaries are rolled out with, beside what they share with Sources. */
export function canaryParts(wiring: EngineWiring, sets: EngineSets) {
  const { options, cluster, dryRun, clock, openWatch, secretKey, http, cloudIdentity, leadingSinceMs } =
    wiring;
  const tracksConfig = options.tracksConfig !== false;
  const { canarySet, templates } = sets;
  return {
    applied: createApplied(),
    ports: new Map(),
    routing: routerFor,
    routeKinds: routers.flatMap(({ kinds }) => kinds),
    step,
    canaries: canarySet,
    hooks: createHooks({ http, clock }),
    metrics: createMetricsPort({
      ...{ http, cloudIdentity, clock, templates, cluster },
      metricsServer: options.metricsServer,
      metricsServerCredentials: options.metricsServerCredentials,
      metricCluster: { ...cluster, externalMetric: wiring.externalMetric },
      jobCluster: (account) => cluster.as(account),
      crossesNamespaces: options.forbidsOtherNamespaces === false,
    }),
    options: limitsOf(options),
    references: createReferences(sets),
    leadingSinceMs,
    liveHeads: createLiveHeads({ cluster, secretKey, tracksConfig }),
    adoption: createAdoption({ cluster, dryRun, secretKey, tracksConfig }),
    flagger: watchFlagger(openWatch, clock, namespacesOf(options)),
    freezes: watchFreezes(openWatch, namespacesOf(options), wiring.ownNamespace),
    isShadow: options.shadow === true,
  };
}

/** Drills by a cron expression (5 or 6 fields, UTC); without one there are none. Throws InputError for one that cannot be read. */
export function openDrillSchedule(
  expression: string | undefined,
  clock: Clock,
  parts: Omit<DrillScheduleParts, 'clock' | 'nextDelayMs'>,
): DrillSchedule | undefined {
  if (expression === undefined) return undefined;
  const problem = scheduleProblem(expression, undefined, clock.nowMs());
  if (problem) throw new InputError(`--drill-schedule: ${problem}`);
  const next = (nowMs: number) => nextDelayMs({ kind: 'cron', expression }, nowMs, 0);
  return createDrillSchedule({ ...parts, clock, nextDelayMs: next });
}
