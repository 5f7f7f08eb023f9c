/**
 * Foreign backends in a Canary's route: in a route that existed before, and in a route in Git that succeeds it. Proxies are configured with a
 * route and with the clusters that it names separately, so a backend is named with weight 0 before it gets requests, and still is
 * after it had its last.
 */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { OtherBackends, RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import { type RouteReading, unreadable } from './router.ts';

/** How a kind of routing object names its backends. */
export interface BackendFields {
  /** The list in its spec. */
  readonly rules: 'rules' | 'routes';
  /** The list in each entry of that. */
  readonly backends: 'backendRefs' | 'services';
  /** What a backend without a weight has. */
  readonly unweighted: 0 | 1;
}

interface Backend {
  readonly name: string;
  readonly namespace?: string;
  readonly port?: number;
  readonly weight?: number;
}

type Rule = Readonly<Record<string, unknown>>;

/**
 * The wanted routing object with the foreign backends that the target asks for. If these serve, their rules stay and name both sides with
 * weight 0; otherwise the wanted rules name them with weight 0.
 */
export function withForeignBackends(
  context: RouteContext,
  { wanted, live }: { wanted: KubernetesObject; live: KubernetesObject | undefined },
  { others }: RouteTarget,
  fields: BackendFields,
): KubernetesObject {
  const holder = context.successor ?? live;
  if (!others || !holder) return wanted;
  if (others === 'idle') return { ...wanted, spec: joined(wanted, foreign(context, holder, fields), fields) };
  return { ...wanted, spec: joined(holder, backendsOf(wanted, fields), fields) };
}

/** Where the live object sends the requests; undefined when it names only the two sides. */
export function foreignTraffic(
  context: RouteContext,
  live: KubernetesObject,
  fields: BackendFields,
): OtherBackends | undefined {
  const found = new Set(foreign(context, live, fields).map(backendKey));
  const wanted = context.successor ? foreign(context, context.successor, fields) : [];
  if (found.size === 0 || wanted.some((backend) => !found.has(backendKey(backend)))) return undefined;
  const own = backendsOf(live, fields).filter(({ name }) => isOwn(context, name));
  if (own.some(({ weight = fields.unweighted }) => weight > 0)) return 'idle';
  const names = new Set(own.map(({ name }) => name));
  return names.size === 2 ? 'serving' : 'alone';
}

/** Requests go elsewhere than to the two sides once this object is in the route's place. */
export function hasOnlyForeignBackends(
  context: RouteContext,
  object: KubernetesObject,
  fields: BackendFields,
): boolean {
  const all = backendsOf(object, fields);
  return all.length > 0 && all.every(({ name }) => !isOwn(context, name));
}

/** The reading where the requests go to backends of others: those of the successor lead to the target. */
export function foreignReading(
  context: RouteContext,
  title: string,
  problem: string | undefined,
): RouteReading {
  const all = { mirrored: false, matched: false, others: 'serving' as const };
  if (context.successor)
    return { ...all, ...canaryHasAll, accepted: problem === undefined, ...(problem ? { problem } : {}) };
  const { primary, canary } = context.names;
  return { ...unreadable(`${title}: requests go to other backends than ${primary} and ${canary}`), ...all };
}

const canaryHasAll = { primaryWeight: 0, canaryWeight: 100 };

function joined(object: KubernetesObject, more: readonly Backend[], fields: BackendFields): object {
  const spec = (object.spec ?? {}) as Readonly<Record<string, unknown>>;
  const rules = rulesOf(object, fields);
  const first = rules.findIndex((rule) => listed(rule, fields).length > 0);
  const present = new Set(listed(rules[first], fields).map(backendKey));
  const added = more.filter((backend) => !present.has(backendKey(backend)));
  if (first < 0 || added.length === 0) return spec;
  const backends = listed(rules[first], fields);
  // Without weights all get the same share, which must be written explicitly next to a weight of 0.
  const isWeighted = fields.unweighted > 0 || backends.some(({ weight = 0 }) => weight > 0);
  const widened = {
    ...rules[first],
    [fields.backends]: [
      ...backends.map((backend) => (isWeighted ? backend : { ...backend, weight: 1 })),
      ...added.map((backend) => ({ ...backend, weight: 0 })),
    ],
  };
  return { ...spec, [fields.rules]: rules.with(first, widened) };
}

function foreign(context: RouteContext, object: KubernetesObject, fields: BackendFields): Backend[] {
  return backendsOf(object, fields).filter(({ name }) => !isOwn(context, name));
}

function backendsOf(object: KubernetesObject, fields: BackendFields): Backend[] {
  const all = rulesOf(object, fields).flatMap((rule) => listed(rule, fields));
  const each = new Set(all.map(backendKey));
  return [...each].flatMap((key) => all.find((backend) => backendKey(backend) === key) ?? []);
}

function rulesOf({ spec }: KubernetesObject, { rules }: BackendFields): readonly Rule[] {
  return ((spec ?? {}) as Readonly<Record<string, readonly Rule[] | undefined>>)[rules] ?? [];
}

function listed(rule: Rule | undefined, { backends }: BackendFields): readonly Backend[] {
  return (rule?.[backends] as readonly Backend[] | undefined) ?? [];
}

function isOwn({ names }: RouteContext, name: string): boolean {
  return name === names.primary || name === names.canary;
}

function backendKey({ namespace = '', name, port }: Backend): string {
  return `${namespace}/${name}:${port}`;
}
