import type { Canary } from '../../api/canary/canary.ts';
import { fieldsOfFewProviders } from '../../api/canary/unsupported-fields.ts';
import {
  controllerOf,
  isGenerated,
  type KubernetesObject,
  keepAwayAnnotations,
  keepFluxAway,
  type ObjectMeta,
  ownerReference,
  ownLabels,
  takenOverAnnotation,
} from '../../api/kubernetes.ts';
import type { RouteTarget, RouteView } from '../../api/observed.ts';
import type {
  RouteContext,
  RouteKind,
  RouteProblem,
  RouteReference,
  Router,
} from '../../contracts/routing.ts';
import type { RequestMetrics } from './request-metrics.ts';

/** Traffic as read back; `matched`: unmatched requests stay with the primary whatever the weights are (A/B). */
export interface RouteReading extends RouteView {
  matched: boolean;
}

/** One line of the table: the contract's router, and everything else in which providers differ. */
export interface RoutingProvider extends Router {
  /** As `spec.provider` names it. */
  readonly name: string;
  /** Other names of it begin like this, as in Flagger (flagger-behaviour.md 3). */
  readonly variants?: string;
  /** Resources that only this provider writes, as `kubectl` names them: `httproutes.gateway.networking.k8s.io`. */
  readonly resources: readonly string[];
  /** How requests are counted, for the built-in metrics. */
  readonly requests: RequestMetrics;
  read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined;
}

/**
 * Metadata of the routing object: the apex' name and custom metadata, and the Canary as its controller. An object of another creator retains
 * its owners, and is marked as taken over.
 */
export function routeMetadata(
  { canary, names }: RouteContext,
  live: KubernetesObject | undefined,
): ObjectMeta {
  const custom = canary.spec.service?.apex;
  const isOurs = live === undefined || isGenerated(live, canary);
  const away = isOurs ? keepAwayAnnotations : { ...keepFluxAway, [takenOverAnnotation]: 'spec' };
  return {
    name: names.apex,
    namespace: canary.metadata.namespace ?? 'default',
    labels: { ...custom?.labels, ...ownLabels(canary) },
    annotations: { ...custom?.annotations, ...away },
    ...(isOurs ? { ownerReferences: [ownerReference(canary)] } : {}),
  };
}

/** The Canary's routing object among the live ones. */
export function findRoute(
  context: RouteContext,
  kind: RouteKind,
  live: readonly KubernetesObject[],
): KubernetesObject | undefined {
  return findObject(context, { ...kind, name: context.names.apex }, live);
}

/** An object of this kind and name, in the namespace of the Canary unless the reference names one. */
export function findObject(
  { canary }: RouteContext,
  { apiVersion, kind, name, namespace = canary.metadata.namespace ?? 'default' }: RouteReference,
  live: readonly KubernetesObject[],
): KubernetesObject | undefined {
  return live.find(
    (object) =>
      object.kind === kind &&
      object.apiVersion === apiVersion &&
      object.metadata.name === name &&
      (object.metadata.namespace ?? (namespace === '' ? '' : 'default')) === namespace,
  );
}

/** The port by which requests reach the Service of a side. */
export function portOf({ canary, ports }: RouteContext, side: 'primary' | 'canary'): number | undefined {
  return ports?.[side] ?? canary.spec.service?.port;
}

/** Fields that only some providers use, except those that this one uses. */
export function ignoredBut(...used: readonly string[]): readonly string[] {
  return fieldsOfFewProviders.filter((path) => !used.includes(path));
}

const conditions = [
  ...['uri', 'method', 'headers', 'queryParams', 'scheme', 'authority', 'withoutHeaders'],
  ...['sourceLabels', 'sourceNamespace', 'gateways', 'port', 'ignoreUriCase'],
];

/** Conditions of `service.match` that a provider cannot compare: all but these. */
export function conditionsBut(...used: readonly string[]): readonly string[] {
  return conditions.filter((field) => !used.includes(field)).map((field) => `spec.service.match.*.${field}`);
}

/** Fields about requests that a provider leaves to its users' own objects when it only writes weights. */
export const requestFields: readonly string[] = [
  'spec.service.hosts',
  'spec.service.gatewayRefs',
  'spec.service.timeout',
  'spec.service.backendTimeout',
  'spec.service.retries',
  'spec.service.match',
  'spec.service.headers',
  'spec.service.rewrite',
  'spec.service.mirror',
  'spec.service.corsPolicy',
];

/** A warning for each field of the analysis that is set, and that the provider takes no account of. */
export function withoutEffect(fields: object, provider: string): RouteProblem[] {
  return Object.entries(fields)
    .filter(([, value]) => Boolean(value))
    .map(([field]) => ({
      severity: 'warning',
      path: `spec.analysis.${field}`,
      message: `has no effect with provider ${provider}`,
    }));
}

/**
 * Of a provider that divides requests by weight alone: an A/B test would send all of them to the canary, as it does in Flagger
 * (flagger-behaviour.md 3.3).
 */
export function weightsOnly({ spec }: Canary, provider: string): RouteProblem[] {
  const { match, mirror, sessionAffinity } = spec.analysis ?? {};
  const problems = withoutEffect({ mirror, sessionAffinity }, provider);
  if (!match?.length) return problems;
  const message = `is not supported: provider ${provider} splits requests by weight only`;
  return [...problems, { severity: 'error', path: 'spec.analysis.match', message }];
}

/** Throws RangeError for weights that no router may write: not integers, out of range, or not adding up to 100 (S3). */
export function assertWeights({ primaryWeight, canaryWeight }: RouteTarget): void {
  const valid =
    Number.isInteger(primaryWeight) &&
    Number.isInteger(canaryWeight) &&
    primaryWeight >= 0 &&
    canaryWeight >= 0 &&
    primaryWeight + canaryWeight === 100;
  if (!valid)
    throw new RangeError(`weights ${primaryWeight}/${canaryWeight} are not integers that add up to 100`);
}

/** An object of a user, and the object that is generated from it. */
export interface Derivation {
  readonly source: KubernetesObject | undefined;
  readonly own: KubernetesObject | undefined;
  /** Why nothing can be made, for people. */
  readonly problem?: string;
}

/** Finds both. What has the name of `own` and was not made for this Canary is left alone. */
export function derivationOf(
  context: RouteContext,
  kind: RouteKind,
  { source: from, own: to }: { readonly source: string; readonly own: string },
  live: readonly KubernetesObject[],
): Derivation {
  const source = findObject(context, { ...kind, name: from }, live);
  const found = findObject(context, { ...kind, name: to }, live);
  const title = `${kind.kind} ${to}`;
  if (found && !isGenerated(found, context.canary)) {
    const { name } = context.canary.metadata;
    const owner = controllerOf(found);
    // Whoever deleted it would take the requests from the other Canary, which makes it again.
    const problem =
      owner?.kind === context.canary.kind
        ? `${title} belongs to Canary ${owner.name}; let Canary ${name} name another ${kind.kind} than ${from}`
        : `${title} exists and was not made for Canary ${name}; delete it, or rename ${from}`;
    return { source: undefined, own: undefined, problem };
  }
  if (source) return { source, own: found };
  return { source, own: found, problem: `${kind.kind} ${from} does not exist; ${title} is made from it` };
}

/** Keys by which other tools find, prune or correct what carries them. */
const notCopied =
  /toolkit\.fluxcd\.io|argoproj\.io|holdfast\.dev\/|applyset\.kubernetes\.io\/|kubectl\.kubernetes\.io\/last-applied|meta\.helm\.sh\//;

/** Metadata of an object besides the routing object: labels and annotations, and the Canary as its controller. */
export function ownMetadata({ canary }: RouteContext, name: string): ObjectMeta {
  return {
    name,
    namespace: canary.metadata.namespace ?? 'default',
    labels: ownLabels(canary),
    annotations: { ...keepAwayAnnotations },
    ownerReferences: [ownerReference(canary)],
  };
}

/** Metadata of an object that is made from another one: its labels and annotations, the marks, and the Canary as controller. */
export function derivedMetadata(
  context: RouteContext,
  name: string,
  { metadata }: KubernetesObject,
): ObjectMeta {
  const copied = (entries: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.entries(entries).filter(([key]) => !notCopied.test(key)));
  const own = ownMetadata(context, name);
  return {
    ...own,
    labels: { ...copied(metadata.labels), ...own.labels },
    annotations: { ...copied(metadata.annotations), ...own.annotations },
  };
}

/** A reading of an object that the data plane has accepted, unless there is a problem. */
export function taken(
  weights: Pick<RouteReading, 'primaryWeight' | 'canaryWeight'> & { readonly matched?: boolean },
  problem?: string,
): RouteReading {
  return {
    mirrored: false,
    matched: false,
    ...weights,
    accepted: problem === undefined,
    ...(problem ? { problem } : {}),
  };
}

/**
 * Weights as found, in percent: 1/1 reads as 50/50. A side with a share has at least 1 %: pods without any may be removed. Undefined when they are
 * missing, negative or both 0.
 */
export function percentOf(
  primary: number | undefined,
  canary: number | undefined,
): { primaryWeight: number; canaryWeight: number } | undefined {
  if (primary === undefined || canary === undefined || primary < 0 || canary < 0) return undefined;
  const total = primary + canary;
  if (!Number.isFinite(total) || total === 0) return undefined;
  const nearest = Math.round((canary * 100) / total);
  const canaryWeight = Math.min(primary > 0 ? 99 : 100, Math.max(canary > 0 ? 1 : 0, nearest));
  return { primaryWeight: 100 - canaryWeight, canaryWeight };
}

/** A route that exists but whose weights cannot be read; nothing may be decided on them. */
export function unreadable(problem: string): RouteReading {
  return { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false, accepted: false, problem };
}

/** Whether the Canary has conditions for requests: matching requests are divided, for an A/B test or by steps as in Flagger. */
export function isAbTest({ canary }: RouteContext): boolean {
  return Boolean(canary.spec.analysis?.match?.length);
}
