/** Checks of a Canary that its schema cannot express. Problems stop the Canary (Ready=False); warnings are reported. */
import { limits } from '../limits.ts';
import type { Findings, Problem } from '../problems.ts';
import { parseDurationMs } from '../time.ts';
import type { Canary } from './canary.ts';
import { checkComparison } from './comparison.ts';
import { checkMetrics } from './validate-metrics.ts';
import { checkKnative, checkNative, checkServiceNames, checkServiceTarget } from './validate-target.ts';
import { checkWebhooks } from './validate-webhooks.ts';

interface CanaryCheckOptions {
  /** The shortest analysis interval, in milliseconds. Default: Flagger's 10 s. */
  intervalFloorMs?: number;
  /** The provider of Canaries that name none. */
  defaultProvider?: string;
  /** References to objects of other namespaces are problems. */
  forbidsOtherNamespaces?: boolean;
}

/** Checks a parsed Canary by itself; what needs other objects (templates, the target) is checked where they are known. */
export function checkCanary(canary: Canary, options: CanaryCheckOptions = {}): Findings {
  const tooLong = longLists(canary);
  if (tooLong.length > 0) return { problems: tooLong, warnings: [] };
  const provider = canary.spec.provider ?? options.defaultProvider;
  const found: Findings = { problems: [], warnings: [] };
  checkWholeNumbers(canary, found);
  checkService(canary, provider, found);
  checkProviderNeeds(canary, provider, found);
  checkKnative(canary, found);
  checkServiceTarget(canary, provider, found);
  checkNative(canary, provider, found);
  checkServiceNames(canary, provider, found);
  const floorMs = options.intervalFloorMs ?? limits.minAnalysisIntervalMs;
  const intervalMs = parseDurationMs(canary.spec.analysis.interval ?? '');
  const interval = 'spec.analysis.interval';
  if (intervalMs === undefined)
    found.warnings.push({ path: interval, message: 'cannot be read as a duration; 60s is used' });
  else if (intervalMs < floorMs)
    found.warnings.push({
      path: interval,
      message: `is below the shortest interval; ${floorMs / 1_000}s is used`,
    });
  checkBounds(canary, found);
  checkSteps(canary, provider, found);
  checkWebhooks(canary, found);
  checkAffinity(canary, found);
  const { minReplicas, maxReplicas } = canary.spec.autoscalerRef?.primaryScalerReplicas ?? {};
  // One bound alone is compared with the scaler's other one where that is known.
  if (minReplicas !== undefined && maxReplicas !== undefined && minReplicas > maxReplicas)
    found.problems.push({
      path: 'spec.autoscalerRef.primaryScalerReplicas.minReplicas',
      message: `is above maxReplicas, which is ${maxReplicas}`,
    });
  if (options.forbidsOtherNamespaces) checkNamespaces(canary, found);
  checkMetrics(canary.spec.analysis.metrics, 'spec.analysis.metrics', found);
  checkFormerNames(canary, found);
  checkMetrics(canary.spec.postPromotion?.metrics, 'spec.postPromotion.metrics', found);
  canary.spec.analysis.metrics?.forEach((metric, index) => {
    checkComparison(metric, { at: `spec.analysis.metrics[${index}].compare`, spec: canary.spec }, found);
  });
  return found;
}

/** Entries are compared with each other, asked at every check, or combined: more of them than anybody needs could stop the process. */
function longLists({ spec: { analysis, service } }: Canary): Problem[] {
  const lists = {
    'spec.analysis.metrics': analysis.metrics,
    'spec.analysis.webhooks': analysis.webhooks,
    'spec.analysis.stepWeights': analysis.stepWeights,
    'spec.analysis.match': analysis.match,
    'spec.service.match': service?.match,
  };
  const most = limits.analysisEntries;
  const long = Object.entries(lists).flatMap(([path, entries = []]) =>
    entries.length <= most
      ? []
      : [{ path, message: `has ${entries.length} entries; at most ${most} are used` }],
  );
  // A route for an A/B test has each match of the one in each of the other.
  const conditions = (analysis.match?.length ?? 0) * (service?.match?.length ?? 0);
  if (long.length > 0 || conditions <= limits.routeConditions) return long;
  const message = `makes ${conditions} conditions with spec.service.match; at most ${limits.routeConditions} are used`;
  return [{ path: 'spec.analysis.match', message }];
}

/** Two names of one field must not say two things. */
function checkFormerNames({ spec: { postPromotion } }: Canary, found: Findings): void {
  const { threshold, failureThreshold = threshold } = postPromotion ?? {};
  if (threshold !== undefined && threshold !== failureThreshold)
    found.problems.push({
      path: 'spec.postPromotion.threshold',
      message: `is the former name of failureThreshold, which is ${failureThreshold}; remove threshold`,
    });
}

const largestWhole = 2 ** 31 - 1;

/** Flagger's CRD says number where its program reads an integer of 32 bits; what is none breaks the program, so it is named here. */
function checkWholeNumbers({ spec }: Canary, found: Findings): void {
  const analysis = spec.analysis;
  const values: Record<string, number | undefined> = {
    'spec.progressDeadlineSeconds': spec.progressDeadlineSeconds,
    'spec.service.port': spec.service?.port,
    'spec.analysis.iterations': analysis.iterations,
    'spec.analysis.threshold': analysis.threshold,
    'spec.analysis.maxWeight': analysis.maxWeight,
    'spec.analysis.stepWeight': analysis.stepWeight,
    'spec.analysis.stepWeightPromotion': analysis.stepWeightPromotion,
    'spec.analysis.mirrorWeight': analysis.mirrorWeight,
    'spec.analysis.primaryReadyThreshold': analysis.primaryReadyThreshold,
    'spec.analysis.canaryReadyThreshold': analysis.canaryReadyThreshold,
  };
  analysis.stepWeights?.forEach((weight, index) => {
    values[`spec.analysis.stepWeights[${index}]`] = weight;
  });
  for (const [path, value] of Object.entries(values)) {
    if (value !== undefined && !Number.isInteger(value))
      found.problems.push({ path, message: 'must be a whole number' });
    else if (value !== undefined && value > largestWhole)
      found.problems.push({ path, message: `must be at most ${largestWhole}` });
  }
}

function checkService({ spec }: Canary, provider: string | undefined, found: Findings): void {
  const { service, targetRef } = spec;
  if (!service) {
    if (provider === 'native' || targetRef.kind === 'Service') return;
    found.problems.push({ path: 'spec.service.port', message: 'is missing; the generated Services need it' });
    return;
  }
  if (service.port < 1 || service.port > 65_535)
    found.problems.push({ path: 'spec.service.port', message: 'must be between 1 and 65535' });
  // No Service is made from the ports of the Canary where the target is one.
  const targetPort = targetRef.kind === 'Service' ? undefined : service.targetPort;
  if (typeof targetPort === 'string' && /^[0-9]+$/.test(targetPort) && targetPort !== '0')
    found.problems.push({
      path: 'spec.service.targetPort',
      message: `"${targetPort}" is read as the name of a port, which has a letter; for the number leave the quotes out`,
    });
  service.mirror?.forEach((mirror, index) => {
    if (!mirror.backendRef)
      found.problems.push({ path: `spec.service.mirror[${index}].backendRef`, message: 'is missing' });
  });
}

const needs: ReadonlyArray<{
  providers: readonly string[];
  path: string;
  has: (spec: Canary['spec']) => boolean;
}> = [
  {
    providers: ['gatewayapi:v1', 'gatewayapi:v1beta1'],
    path: 'spec.service.gatewayRefs',
    has: ({ service, routeRef }) => Boolean(service?.gatewayRefs?.length) || routeRef?.kind === 'HTTPRoute',
  },
  { providers: ['nginx', 'skipper'], path: 'spec.ingressRef', has: ({ ingressRef }) => Boolean(ingressRef) },
  { providers: ['apisix'], path: 'spec.routeRef', has: ({ routeRef }) => routeRef?.kind === 'ApisixRoute' },
  {
    providers: ['appmesh'],
    path: 'spec.service.meshName',
    has: ({ service }) => Boolean(service?.meshName),
  },
];

function checkProviderNeeds({ spec }: Canary, provider: string | undefined, found: Findings): void {
  if (provider === undefined) return;
  for (const { providers, path, has } of needs) {
    if (providers.includes(provider) && !has(spec))
      found.problems.push({ path, message: `is missing; provider ${provider} needs it` });
  }
}

/** Numbers that Flagger accepts and that are most likely mistakes. */
function checkBounds({ spec }: Canary, { warnings }: Findings): void {
  const { progressDeadlineSeconds, analysis } = spec;
  const { stepWeight = 0, maxWeight = 100 } = analysis;
  if (progressDeadlineSeconds !== undefined && progressDeadlineSeconds <= 0)
    warnings.push({
      path: 'spec.progressDeadlineSeconds',
      message: 'is not above 0, so every wait ends at once',
    });
  if (stepWeight > maxWeight)
    warnings.push({
      path: 'spec.analysis.stepWeight',
      message: `is above maxWeight, which is ${maxWeight}: there is one step only`,
    });
  if (analysis.threshold !== undefined && analysis.threshold < 0)
    warnings.push({
      path: 'spec.analysis.threshold',
      message: 'is below 0, which means 1: the first failed check ends the analysis',
    });
}

/** Of what the release goes by; with provider kubernetes that is iterations of its own, 10 where the Canary names none (flagger-behaviour 2.2). */
function checkSteps({ spec }: Canary, provider: string | undefined, found: Findings): void {
  const { iterations, stepWeight, stepWeights, stepWeightPromotion = 0, maxWeight } = spec.analysis;
  if (stepWeightPromotion < 0)
    found.problems.push({ path: 'spec.analysis.stepWeightPromotion', message: 'must not be below 0' });
  if (spec.skipAnalysis || provider === 'kubernetes') return;
  const endless = 'the analysis would never end; it must be at least 1';
  if (stepWeight !== undefined && stepWeight < 1)
    found.problems.push({ path: 'spec.analysis.stepWeight', message: endless });
  if (iterations !== undefined && iterations < 1)
    found.problems.push({ path: 'spec.analysis.iterations', message: endless });
  if (stepWeight !== undefined && maxWeight !== undefined && (maxWeight < 0 || maxWeight > 100))
    found.problems.push({ path: 'spec.analysis.maxWeight', message: 'must be between 0 and 100' });
  if (stepWeights) checkStepWeights(stepWeights, found);
}

function checkStepWeights(weights: readonly number[], { problems, warnings }: Findings): void {
  if (weights.length === 0) problems.push({ path: 'spec.analysis.stepWeights', message: 'is empty' });
  weights.forEach((weight, index) => {
    const path = `spec.analysis.stepWeights[${index}]`;
    if (weight < 0) problems.push({ path, message: 'must not be below 0' });
    else if (weight > 100) warnings.push({ path, message: 'is above 100, and counts as 100' });
    else if (weight <= (weights[index - 1] ?? -1))
      warnings.push({ path, message: 'is not above the step before it' });
  });
}

function checkAffinity({ spec }: Canary, found: Findings): void {
  const { cookieName, primaryCookieName: named } = spec.analysis.sessionAffinity ?? {};
  const primaryCookieName = named || undefined;
  const path = 'spec.analysis.sessionAffinity';
  for (const [field, name] of Object.entries({ cookieName, primaryCookieName }))
    if (name !== undefined && !/^[\w!#$%&'*+.^`|~-]+$/.test(name))
      found.problems.push({ path: `${path}.${field}`, message: 'is not a valid cookie name' });
  if (cookieName !== undefined && cookieName === primaryCookieName)
    found.problems.push({ path: `${path}.primaryCookieName`, message: 'must differ from cookieName' });
}

// Check of references to other namespaces, for clusters where namespaces belong to different people (Flagger's -no-cross-namespace-refs).

/** What is said of a reference to an object of another namespace where that is not allowed. */
export function otherNamespace(namespace: string): string {
  return `is ${namespace}; references to other namespaces need holdfast run --cross-namespace-refs`;
}

/** Adds every reference that leaves the Canary's namespace; an empty one stays in it. */
function checkNamespaces({ metadata, spec }: Canary, found: Findings): void {
  const own = metadata.namespace ?? '';
  for (const [path, namespace] of namespacesOf(spec)) {
    // A manifest that names no namespace may be applied to any.
    if (!namespace || own === '' || namespace === own) continue;
    found.problems.push({
      path,
      message: otherNamespace(namespace),
    });
  }
}

function namespacesOf(spec: Canary['spec']): Array<readonly [path: string, namespace: string | undefined]> {
  const metrics = (list: string, entries: Canary['spec']['analysis']['metrics'] = []) =>
    entries.map(
      ({ templateRef }, index) =>
        [`spec.${list}.metrics[${index}].templateRef.namespace`, templateRef?.namespace] as const,
    );
  return [
    ['spec.upstreamRef.namespace', spec.upstreamRef?.namespace],
    ...metrics('analysis', spec.analysis?.metrics),
    ...metrics('postPromotion', spec.postPromotion?.metrics),
    ...(spec.analysis?.alerts ?? []).map(
      ({ providerRef }, index) =>
        [`spec.analysis.alerts[${index}].providerRef.namespace`, providerRef.namespace] as const,
    ),
  ];
}
