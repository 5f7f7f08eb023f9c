import { type KubernetesObject, recordsOf } from '../../src/api/kubernetes.ts';
import { asNumber, asString, at, type JsonRecord } from '../api-server/json.ts';
import type { Store } from '../api-server/store.ts';
import { type Gateway, type RouteKey, routeKeys } from '../controllers/gateway.ts';

/** Share of the requests that a route sends by header or cookie match rather than by weight, 0-1. */
const MATCHED_SHARE = 0.1;

/** A Service that gets some of an apex's requests. */
interface Backend {
  readonly service: string;
  /** The port of it that the route names; undefined: requests do not come by a route. */
  readonly port?: number | undefined;
  /** 0-1. A mirrored copy has a separate share and does not count among the answers. */
  readonly share: number;
  readonly mirrored: boolean;
}

interface RuleBackend {
  readonly service: string;
  readonly port: number | undefined;
  readonly weight: number;
  readonly mirrored: boolean;
}

interface Rule {
  readonly matched: boolean;
  readonly backends: readonly RuleBackend[];
}

/** What says where requests go. */
export interface RouteParts {
  readonly store: Store;
  readonly gateway: Gateway;
}

/** Where the requests for an apex Service go now: by the HTTPRoute or HTTPProxy as the gateway took it last, else to the Service itself. */
export function backendsOf({ gateway }: RouteParts, namespace: string, apex: string): Backend[] {
  const names = [apex, `${apex}-primary`, `${apex}-canary`];
  const mentions = (rules: readonly Rule[]) =>
    rules.some((rule) => rule.backends.some((each) => names.includes(each.service)));
  const rules = servedRules(gateway, namespace).find(mentions);
  return rules ? sharesOf(rules) : [{ service: apex, share: 1, mirrored: false }];
}

/** Services that users address: without the generated copies, and including those that only routes name. */
export function apexesOf({ store, gateway }: RouteParts, namespace: string): string[] {
  const routed = servedRules(gateway, namespace).flatMap((rules) =>
    rules.flatMap((rule) => rule.backends.map((each) => each.service)),
  );
  const services = store.list('/services', namespace).map((service) => service.metadata.name);
  return [...new Set([...services, ...routed].map((name) => name.replace(/-(primary|canary)$/, '')))];
}

const rulesOf: Readonly<Record<RouteKey, (route: KubernetesObject) => Rule[]>> = {
  'gateway.networking.k8s.io/httproutes': routeRules,
  'projectcontour.io/httpproxies': proxyRules,
};

function servedRules(gateway: Gateway, namespace: string): Rule[][] {
  return routeKeys.flatMap((key) => gateway.served(key, namespace).map(rulesOf[key]));
}

function routeRules(route: KubernetesObject): Rule[] {
  return recordsOf(at(route, 'spec', 'rules')).map((rule) => ({
    matched: recordsOf(rule.matches).some(
      (match) => match.headers !== undefined || match.queryParams !== undefined,
    ),
    backends: [
      ...recordsOf(rule.backendRefs).map((each) => backend(each, false)),
      ...recordsOf(rule.filters)
        .filter((filter) => filter.type === 'RequestMirror')
        .map((filter) => ({
          service: asString(at(filter, 'requestMirror', 'backendRef', 'name')),
          port: portIn(at(filter, 'requestMirror', 'backendRef', 'port')),
          weight: 1,
          mirrored: true,
        })),
    ],
  }));
}

function proxyRules(proxy: KubernetesObject): Rule[] {
  return recordsOf(at(proxy, 'spec', 'routes')).map((route) => ({
    matched: recordsOf(route.conditions).some(
      (each) => each.header !== undefined || each.queryParameter !== undefined,
    ),
    backends: recordsOf(route.services).map((each) => backend(each, each.mirror === true)),
  }));
}

function backend(reference: JsonRecord, mirrored: boolean): RuleBackend {
  return {
    service: asString(reference.name),
    port: portIn(reference.port),
    weight: asNumber(reference.weight, 1),
    mirrored,
  };
}

function portIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function sharesOf(rules: readonly Rule[]): Backend[] {
  const matched = rules.filter((rule) => rule.matched);
  const [plain] = rules.filter((rule) => !rule.matched);
  const matchedShare = matched.length > 0 ? MATCHED_SHARE / matched.length : 0;
  return [
    ...matched.flatMap((rule) => byWeight(rule, matchedShare)),
    ...(plain ? byWeight(plain, matched.length > 0 ? 1 - MATCHED_SHARE : 1) : []),
  ];
}

function byWeight(rule: Rule, share: number): Backend[] {
  const answering = rule.backends.filter((each) => !each.mirrored);
  const sum = answering.reduce((total, each) => total + each.weight, 0);
  return rule.backends
    .filter((each) => each.mirrored || each.weight > 0)
    .map(({ service, port, weight, mirrored }) => ({
      service,
      port,
      mirrored,
      share: mirrored ? share : (share * weight) / sum,
    }));
}
