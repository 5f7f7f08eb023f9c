/** Provider `nginx`: a second Ingress next to that of `spec.ingressRef`, with ingress-nginx's canary annotations (flagger-behaviour.md 3.7). */
import type { AnalysisMatch } from '../../api/canary/analysis.ts';
import type { Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext, RouteProblem } from '../../contracts/routing.ts';
import { ingressesOf, ingressKind, ingressReferences, mapPaths, withService } from './ingress.ts';
import {
  assertWeights,
  derivedMetadata,
  ignoredBut,
  isAbTest,
  type RouteReading,
  type RoutingProvider,
  requestFields,
  taken,
  unreadable,
  withoutEffect,
} from './router.ts';

const defaultPrefix = 'nginx.ingress.kubernetes.io';

/** The router of provider `nginx`. */
export const nginx: RoutingProvider = {
  name: 'nginx',
  kinds: [ingressKind],
  resources: ['ingresses.networking.k8s.io'],
  requests: {
    counter: 'nginx_ingress_controller_requests',
    good: 'status!~"5.*"',
    mean: 'nginx_ingress_controller_response_duration_seconds',
    factor: 1_000,
    // Its label `canary` is empty for requests that went by the users' Ingress.
    selector: ({ namespace, ingress, ownService }) =>
      `namespace="${namespace}",ingress="${ingress}",canary${ownService.endsWith('-primary') ? '=""' : '!=""'}`,
  },
  apexFollowsTraffic: false,
  ignores: () => [...ignoredBut('spec.ingressRef'), ...requestFields],
  references: ingressReferences,
  check,
  objects,
  read,
};

/** The canary Ingress. Its annotations for canaries are all ours: those of the users' Ingress would be about another one. */
function objects(
  context: RouteContext,
  target: RouteTarget,
  live: readonly KubernetesObject[],
): KubernetesObject[] {
  assertWeights(target);
  const { source, own } = ingressesOf(context, live);
  const from = source ?? own;
  if (!from) return [];
  const prefix = prefixOf(context);
  const metadata = derivedMetadata(context, ingressReferences(context.canary)[1]?.name ?? '', from);
  const { apex, canary } = context.names;
  const toCanary = (service: string) => (service === apex ? canary : service);
  const kept = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => !key.startsWith(`${prefix}/canary`),
  );
  const isMatched = target.matched && isAbTest(context);
  const annotations = {
    ...Object.fromEntries(kept),
    [`${prefix}/canary`]: 'true',
    ...(isMatched
      ? matchAnnotations(context.canary.spec.analysis.match ?? [], prefix)
      : { [`${prefix}/canary-weight`]: String(target.canaryWeight) }),
  };
  const spec = mapPaths(
    from.spec,
    (path) => [path.backend ? { ...path, backend: withService(path.backend, toCanary) } : path],
    toCanary,
  );
  return [{ ...ingressKind, metadata: { ...metadata, annotations }, spec }];
}

/** A cookie and a header can be compared; as in Flagger the last ones count, and a regular expression for `Cookie` is about the whole header. */
function matchAnnotations(matches: readonly AnalysisMatch[], prefix: string): Record<string, string> {
  const annotations: Record<string, string> = {};
  for (const [name, value] of matches.flatMap(({ headers = {} }) => Object.entries(headers))) {
    if (isCookie(name) && value.exact) {
      annotations[`${prefix}/canary-by-cookie`] = value.exact;
      continue;
    }
    delete annotations[`${prefix}/canary-by-header-value`];
    delete annotations[`${prefix}/canary-by-header-pattern`];
    annotations[`${prefix}/canary-by-header`] = name;
    if (value.exact) annotations[`${prefix}/canary-by-header-value`] = value.exact;
    if (value.regex) annotations[`${prefix}/canary-by-header-pattern`] = value.regex;
  }
  return annotations;
}

function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const { own, problem } = ingressesOf(context, live);
  if (!own) return problem === undefined ? undefined : unreadable(problem);
  const { name, annotations = {} } = own.metadata;
  const prefix = prefixOf(context);
  const condition = ['canary-by-cookie', 'canary-by-header']
    .map((key) => `${prefix}/${key}`)
    .find((key) => annotations[key] !== undefined);
  // An annotation of another writer survives every write.
  const foreign =
    condition && !isAbTest(context)
      ? `Ingress ${name} sends requests to the canary by a condition that the Canary does not have, its annotation ${condition}: remove it`
      : undefined;
  if (annotations[`${prefix}/canary`] !== 'true')
    return unreadable(`Ingress ${name}: its annotation ${prefix}/canary is not "true"`);
  if (condition) return taken({ primaryWeight: 0, canaryWeight: 100, matched: true }, problem ?? foreign);
  const weight = annotations[`${prefix}/canary-weight`] ?? '';
  const canaryWeight = Number(weight);
  if (!/^\d+$/.test(weight) || canaryWeight > 100)
    return unreadable(
      `Ingress ${name}: its annotation ${prefix}/canary-weight is not a number from 0 to 100`,
    );
  // It survives every write, too, and makes a weight another share; nothing of anything stays nothing.
  const total = annotations[`${prefix}/canary-weight-total`] ?? '100';
  if (total !== '100' && canaryWeight > 0)
    return unreadable(
      `Ingress ${name}: its annotation ${prefix}/canary-weight-total is ${total}, and weights are percent: remove it`,
    );
  return taken({ primaryWeight: 100 - canaryWeight, canaryWeight }, problem);
}

function prefixOf({ settings }: RouteContext): string {
  return settings?.ingressAnnotationsPrefix ?? defaultPrefix;
}

function check({ spec }: Canary): RouteProblem[] {
  const { match = [], iterations, mirror, sessionAffinity } = spec.analysis ?? {};
  const problems: RouteProblem[] = [];
  const report = (severity: RouteProblem['severity'], field: string, message: string): void => {
    problems.push({ severity, path: `spec.analysis.${field}`, message });
  };
  const compared = match
    .flatMap((one) => Object.entries(one.headers ?? {}))
    .filter(([name, { exact }]) => !(isCookie(name) && exact));
  match.forEach((one, index) => {
    for (const [field, message] of matchProblems(one)) report('error', `match[${index}]${field}`, message);
  });
  if (match.length > 0 && !iterations)
    report('error', 'match', 'needs iterations: ingress-nginx cannot divide requests that match by weight');
  if (compared.length > 1)
    report('warning', 'match', 'names several headers: ingress-nginx takes one, and the last one counts');
  return [...problems, ...withoutEffect({ mirror, sessionAffinity }, 'nginx')];
}

/** What of a match ingress-nginx cannot compare, by field. */
function matchProblems({
  headers = {},
  queryParams = {},
}: AnalysisMatch): Array<[field: string, message: string]> {
  const problems: Array<[string, string]> = [];
  if (Object.keys(headers).length === 0)
    problems.push(['', 'needs headers: ingress-nginx has no other A/B condition']);
  if (Object.keys(queryParams).length > 0)
    problems.push(['.queryParams', 'is not supported: ingress-nginx compares headers and cookies only']);
  for (const [name, { exact, regex }] of Object.entries(headers)) {
    if (!exact && !regex)
      problems.push([`.headers[${name}]`, 'needs exact or regex: ingress-nginx has no other comparison']);
  }
  return problems;
}

function isCookie(header: string): boolean {
  return header.toLowerCase() === 'cookie';
}
