import { watchFlagger } from '../engine/canary/context/flagger-watch.ts';
import { watchFreezes } from '../engine/canary/context/freeze-watch.ts';
import { createLiveHeads } from '../engine/canary/context/live-heads.ts';
import { createAdoption } from '../engine/canary/observe/adoption.ts';
import { createHooks } from '../providers/hooks/webhook.ts';
import { routerFor, routers } from '../providers/routing/table.ts';
import { step } from '../rollout/step.ts';
import { createAlertsPort } from './alerts-port.ts';
import { createReferences, type EngineSets, type EngineWiring } from './engine-wiring.ts';
import { createMetricsPort } from './metrics-port.ts';
import { DEFAULT_CLUSTER_NAME, namespacesOf } from './options.ts';

/** What rollouts use, besides what they share with Sources. */
export function canaryParts(wiring: EngineWiring, sets: EngineSets) {
  const { options, cluster, dryRun, clock, openWatch, secretKey, http, cloudIdentity, leadingSinceMs } =
    wiring;
  const tracksConfig = options.tracksConfig !== false;
  const { canarySet, templates } = sets;
  return {
    ports: new Map(),
    routing: routerFor,
    routeKinds: routers.flatMap(({ kinds }) => kinds),
    step,
    canaries: canarySet,
    hooks: createHooks({ http, clock }),
    metrics: createMetricsPort({
      http,
      cloudIdentity,
      clock,
      templates,
      cluster,
      metricsServer: options.metricsServer,
      defaultProvider: options.meshProvider,
      metricsServerCredentials: options.metricsServerCredentials,
      metricCluster: { ...cluster, externalMetric: wiring.externalMetric },
      jobCluster: (account) => cluster.as(account),
      crossesNamespaces: options.forbidsOtherNamespaces === false,
    }),
    options: engineOptions(options),
    references: createReferences(sets),
    leadingSinceMs,
    liveHeads: createLiveHeads({ cluster, secretKey, tracksConfig }),
    adoption: createAdoption({ cluster, dryRun, secretKey, tracksConfig }),
    // Flagger is told by names and labels, which others may use in namespaces of their own.
    flagger: watchFlagger(
      openWatch,
      clock,
      options.flaggerNamespaces?.length ? options.flaggerNamespaces : namespacesOf(options),
    ),
    freezes: watchFreezes(openWatch, namespacesOf(options), wiring.ownNamespace),
    isShadow: options.shadow === true,
  };
}

function engineOptions(options: EngineWiring['options']) {
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

/** The receivers of alerts, of Canaries and of Sources. */
export function alertsOf({ options, http, cluster }: EngineWiring, { alertProviders }: EngineSets) {
  const { clusterName, defaultReceiver, runbookUrl } = options;
  return createAlertsPort({
    http,
    cluster,
    providers: alertProviders,
    crossesNamespaces: options.forbidsOtherNamespaces === false,
    byDefault: defaultReceiver,
    clusterName: clusterName === DEFAULT_CLUSTER_NAME ? undefined : clusterName,
    documentation: runbookUrl,
  });
}
