/**
 * Existing routes (flagger 1715, issue 14): where `spec.routeRef` names one, a provider writes the weights of the rules that lead to the
 * Canary's Services, and nothing else. The rules are those in Git, or those of the live object when Git is unknown.
 */
import type { Canary } from '../../api/canary/canary.ts';
import { type KubernetesObject, keepFluxAway, takenOverAnnotation } from '../../api/kubernetes.ts';
import type { OtherBackends, RouteTarget } from '../../api/observed.ts';
import type { RouteContext, RouteKind, RouteProblem } from '../../contracts/routing.ts';
import {
  assertWeights,
  findObject,
  ignoredBut,
  percentOf,
  type RouteReading,
  type RoutingProvider,
  requestFields,
  unreadable,
} from './router.ts';

type Entry = Readonly<Record<string, unknown>>;

/** How a kind of route names its backends. */
interface RouteShape {
  readonly kind: RouteKind;
  /** The list in its spec, and the list in each entry of that. */
  readonly rules: string;
  readonly backends: string;
  /** The Service that a backend leads to; undefined: one of another namespace, or none. */
  serviceOf(backend: Entry, context: RouteContext): string | undefined;
  /** The port of its Service that a backend names. */
  portOf(backend: Entry): unknown;
  /** The same backend, to this port of this Service; without a port to the one that it names. */
  leadingTo(backend: Entry, service: string, port?: unknown): Entry;
  /** The part of its Service that a backend leads to, which another Service does not have. */
  subsetOf?(backend: Entry): string | undefined;
  /** Why the data plane has not taken the live object, undefined when it has. */
  refusal(live: KubernetesObject): string | undefined;
}

/** Of kinds whose backends name Service and port as their own fields. */
export const plainBackends: Pick<RouteShape, 'portOf' | 'leadingTo'> = {
  portOf: ({ port }) => port,
  leadingTo: (backend, name, port = backend.port) => ({
    ...backend,
    name,
    ...(port === undefined ? {} : { port }),
  }),
};

/** The provider, which for Canaries with a `routeRef` of this kind writes only the weights of that route. */
export function withRouteRef(provider: RoutingProvider, shape: RouteShape): RoutingProvider {
  const nameIn = (canary: Canary): string | undefined =>
    canary.spec.routeRef?.kind === shape.kind.kind ? canary.spec.routeRef.name : undefined;
  const { isSucceededBy } = provider;
  return {
    ...provider,
    references(canary, names) {
      const name = nameIn(canary);
      if (name !== undefined) return [{ ...shape.kind, name }];
      return (
        provider.references?.(canary, names) ?? provider.kinds.map((kind) => ({ ...kind, name: names.apex }))
      );
    },
    ignores: (canary) =>
      nameIn(canary) === undefined
        ? provider.ignores(canary)
        : [...ignoredBut('spec.routeRef', 'spec.analysis.mirror'), ...requestFields],
    check: (canary) => (nameIn(canary) === undefined ? provider.check(canary) : beyondWeights(canary)),
    objects(context, target, live) {
      const name = nameIn(context.canary);
      if (name === undefined) return provider.objects(context, target, live);
      assertWeights(target);
      const found = findObject(context, { ...shape.kind, name }, live);
      // The weights move also while Git's rules cannot be divided: a failing canary would keep its share.
      const source = [context.inGit, found].find((one) => one && !problemIn(context, shape, one));
      return found && source ? [divided(context, shape, { live: found, source }, target)] : [];
    },
    read(context, live) {
      const name = nameIn(context.canary);
      if (name === undefined) return provider.read(context, live);
      const found = findObject(context, { ...shape.kind, name }, live);
      const title = `${shape.kind.kind} ${name}`;
      return found
        ? reading(context, shape, found)
        : unreadable(
            `${title} does not exist; spec.routeRef names a route that you keep, for its weights alone`,
          );
    },
    ...(isSucceededBy
      ? {
          isSucceededBy: (context, object) =>
            nameIn(context.canary) === undefined && isSucceededBy(context, object),
        }
      : {}),
  };
}

/** Fields that need generated rules: the rules of an existing route are not changed. */
function beyondWeights({ spec }: Canary): RouteProblem[] {
  const { match, mirror, sessionAffinity } = spec.analysis;
  return Object.entries({ match: match?.length ? match : undefined, mirror, sessionAffinity })
    .filter(([, value]) => Boolean(value))
    .map(([field]) => ({
      severity: 'error',
      path: `spec.analysis.${field}`,
      message: 'cannot be used together with spec.routeRef: only the weights of that route are written',
    }));
}

/** The live object with the rules of the source, in which each backend of the Canary becomes both sides by weight; backends of other Canaries retain their weights. */
function divided(
  context: RouteContext,
  shape: RouteShape,
  { live, source }: { readonly live: KubernetesObject; readonly source: KubernetesObject },
  target: RouteTarget,
): KubernetesObject {
  const { metadata } = live;
  const spec = (source.spec ?? {}) as Entry;
  const others = (context.neighbours ?? []).flatMap((names) => {
    const about = { ...context, names };
    const seen = divisionIn(about, shape, live);
    const portAt = portInLive(about, shape, live);
    return seen.weights ? { about, target: { ...seen.weights, others: seen.others }, portAt } : [];
  });
  const rules = rulesOf(source, shape).map((rule) => {
    for (const one of [{ about: context, target, portAt: portOfSide(context) }, ...others]) {
      const [backend] = ownIn(one.about, shape, rule);
      if (!backend) continue;
      const { target: shares, portAt } = one;
      const to = (name: string, weight: number) => ({
        ...shape.leadingTo(backend, name, portAt(name, shape.portOf(backend))),
        weight,
      });
      return { ...rule, [shape.backends]: sides(one.about, shares, to) };
    }
    return rule;
  });
  return {
    ...shape.kind,
    metadata: {
      name: metadata.name,
      ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
      // Its Source leaves the spec alone as long as this is there, and gives it back afterwards.
      annotations: { ...keepFluxAway, [takenOverAnnotation]: 'spec' },
    },
    spec: { ...spec, [shape.rules]: rules },
  };
}

/** The port of a Service that a backend leads to in place of the one that the rule names. */
type PortAt = (service: string, named: unknown) => unknown;

/** The one by which requests reach the Service of that side, if the rule names that of either; the apex has those of the primary. */
function portOfSide({ canary, names, ports = {} }: RouteContext): PortAt {
  const reaching: unknown[] = [canary.spec.service?.port, ports.primary, ports.canary];
  return (service, named) =>
    (reaching.includes(named) && ports[service === names.canary ? 'canary' : 'primary']) || named;
}

/** The one that the other Canary has written, unless it has the one in Git as well. */
function portInLive(context: RouteContext, shape: RouteShape, live: KubernetesObject): PortAt {
  const backends = rulesOf(live, shape).flatMap((rule) => ownIn(context, shape, rule));
  return (service, named) => {
    const to = backends.filter((backend) => shape.serviceOf(backend, context) === service).map(shape.portOf);
    return to.includes(named) ? named : (to[0] ?? named);
  };
}

/**
 * The apex stays at first and at last: proxies are configured with a route and with the backends that it names separately, so each is named with
 * weight 0 before it gets requests, and still is after it had its last.
 */
function sides(
  { names }: RouteContext,
  { primaryWeight, canaryWeight, others }: Pick<RouteTarget, 'primaryWeight' | 'canaryWeight' | 'others'>,
  to: (name: string, weight: number) => Entry,
): Entry[] {
  if (others === 'alone' || others === 'serving')
    return [to(names.apex, 100), to(names.primary, 0), to(names.canary, 0)];
  const both = [to(names.primary, primaryWeight), to(names.canary, canaryWeight)];
  return others === 'idle' ? [...both, to(names.apex, 0)] : both;
}

function reading(context: RouteContext, shape: RouteShape, live: KubernetesObject): RouteReading {
  const inGit = context.inGit && problemIn(context, shape, context.inGit);
  const refusal = inGit === undefined ? shape.refusal(live) : `in Git, ${inGit}`;
  const { weights, others, problem = refusal } = divisionIn(context, shape, live);
  const also = others ? { others } : {};
  if (!weights || others === 'serving') return { ...unreadable(problem ?? ''), ...also };
  const taken = { accepted: problem === undefined, ...(problem ? { problem } : {}) };
  return { ...weights, mirrored: false, matched: false, ...taken, ...also };
}

/** How a route divides the requests of one Canary. */
interface Division {
  /** Undefined: it does not, or they cannot be read. */
  readonly weights?: Pick<RouteTarget, 'primaryWeight' | 'canaryWeight'>;
  readonly others?: OtherBackends | undefined;
  readonly problem?: string;
}

function divisionIn(context: RouteContext, shape: RouteShape, live: KubernetesObject): Division {
  const title = `${shape.kind.kind} ${live.metadata.name}`;
  const { apex, primary, canary } = context.names;
  const problem = problemIn(context, shape, live);
  if (problem) return { problem };
  const rules = rulesOf(live, shape)
    .map((rule) => ownIn(context, shape, rule))
    .filter((own) => own.length > 0)
    .map((own) => {
      const weightOf = (name: string): number | undefined => {
        const found = own.find((backend) => shape.serviceOf(backend, context) === name);
        // What a backend without a weight has: alone it gets everything.
        return found && Number(found.weight ?? (own.length === 1 ? 100 : 1));
      };
      const both = [weightOf(primary), weightOf(canary)] as const;
      return { apex: weightOf(apex), hasBoth: !both.includes(undefined), split: percentOf(...both) };
    });
  const others = othersIn(rules);
  const notYet = `${title}: requests go to ${apex}, and not yet to ${primary}`;
  if (others === 'alone') return { others, problem: notYet };
  // Both sides are named with weight 0.
  if (others === 'serving')
    return { weights: { primaryWeight: 100, canaryWeight: 0 }, others, problem: notYet };
  const [first] = rules;
  if (!first?.split) return { problem: `${title}: no rule has weights for ${primary} and ${canary}` };
  const { split } = first;
  if (rules.some((rule) => rule.split?.canaryWeight !== split.canaryWeight))
    return {
      problem: `${title}: its rules divide the requests between ${primary} and ${canary} differently`,
    };
  return { weights: split, others };
}

/** Where the apex has the requests, as it has in Git, and how far both sides are in its place. */
function othersIn(
  rules: ReadonlyArray<{ readonly apex: number | undefined; readonly hasBoth: boolean }>,
): OtherBackends | undefined {
  if (rules.every(({ apex }) => apex === undefined)) return undefined;
  if (rules.some(({ apex = 0, hasBoth }) => apex > 0 && !hasBoth)) return 'alone';
  return rules.some(({ apex = 0 }) => apex > 0) ? 'serving' : 'idle';
}

function problemIn(context: RouteContext, shape: RouteShape, object: KubernetesObject): string | undefined {
  const { apex, primary, canary } = context.names;
  const title = `${shape.kind.kind} ${object.metadata.name}`;
  const rules = rulesOf(object, shape);
  const ours = rules.filter((rule) => ownIn(context, shape, rule).length > 0);
  if (ours.length === 0)
    return `${title} leads to none of the Services ${apex}, ${primary} and ${canary}; let a rule lead to ${apex}`;
  const mixed = ours.find((rule) => listed(rule, shape).length !== ownIn(context, shape, rule).length);
  if (mixed)
    return `${title}: rule ${rules.indexOf(mixed) + 1} leads to ${apex} and to others; weights are written where all backends of a rule are the Canary's`;
  const subsetIn = (rule: Entry) =>
    ownIn(context, shape, rule).flatMap((backend) => shape.subsetOf?.(backend) ?? [])[0];
  const partial = ours.find((rule) => subsetIn(rule) !== undefined);
  return partial
    ? `${title}: rule ${rules.indexOf(partial) + 1} leads to subset ${subsetIn(partial)} of ${apex}, and a subset is of one Service alone; let it lead to ${apex} without a subset`
    : undefined;
}

function ownIn(context: RouteContext, shape: RouteShape, rule: Entry): Entry[] {
  const { apex, primary, canary } = context.names;
  const names = [apex, primary, canary];
  return listed(rule, shape).filter((backend) => names.includes(shape.serviceOf(backend, context) ?? ''));
}

function rulesOf({ spec }: KubernetesObject, { rules }: RouteShape): readonly Entry[] {
  const found = ((spec ?? {}) as Entry)[rules];
  return Array.isArray(found) ? found : [];
}

function listed(rule: Entry, { backends }: RouteShape): readonly Entry[] {
  const found = rule[backends];
  return Array.isArray(found) ? found : [];
}
