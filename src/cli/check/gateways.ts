import type { Canary, CanarySpec } from '../../api/canary/canary.ts';
import { describe, type KubernetesObject, keyOf, type NamespacedName } from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { onApiError } from '../../cluster/errors.ts';
import { routerFor } from '../../providers/routing/table.ts';
import { bad, type CheckLine } from '../../terminal/check-report.ts';

/** What the Gateway API leaves to each implementation: the field that asks for it, and its name among the features of a GatewayClass. */
const features: ReadonlyArray<
  readonly [path: string, feature: string, value: (spec: CanarySpec) => unknown]
> = [
  ['spec.analysis.mirror', 'HTTPRouteRequestMirror', ({ analysis }) => analysis?.mirror],
  ['spec.service.mirror', 'HTTPRouteRequestMirror', ({ service }) => service?.mirror?.length],
  ['spec.service.corsPolicy', 'HTTPRouteCORS', ({ service }) => service?.corsPolicy],
  ['spec.service.timeout', 'HTTPRouteRequestTimeout', ({ service }) => service?.timeout],
  ['spec.service.backendTimeout', 'HTTPRouteBackendTimeout', ({ service }) => service?.backendTimeout],
  ['spec.service.rewrite.uri', 'HTTPRoutePathRewrite', ({ service }) => service?.rewrite?.uri],
  ['spec.service.rewrite.authority', 'HTTPRouteHostRewrite', ({ service }) => service?.rewrite?.authority],
  [
    'spec.service.headers.response',
    'HTTPRouteResponseHeaderModification',
    ({ service }) => service?.headers?.response,
  ],
];

/**
 * A line for each field of a Canary that its Gateway's class does not name among its features: some implementations answer every request with
 * 500 then, and report the route as accepted. Classes that name none, and what this user may not read, say nothing.
 */
export async function checkGatewayFeatures(
  client: Pick<ClusterClient, 'get'>,
  canaries: readonly Canary[],
  defaultProvider: string,
): Promise<CheckLine[]> {
  // Many Canaries share a Gateway.
  const known = new Map<string, Promise<Features | undefined>>();
  const featuresAt = (gateway: NamespacedName) => {
    const read = known.get(keyOf(gateway)) ?? featuresOf(client, gateway);
    known.set(keyOf(gateway), read);
    return read;
  };
  const lines = canaries.flatMap((canary) => {
    const { provider = defaultProvider, routeRef, service } = canary.spec;
    if (!provider.startsWith('gatewayapi:') || routeRef) return [];
    const ignored = routerFor(provider)?.ignores(canary) ?? [];
    const asked = features.filter(([path, , value]) => value(canary.spec) && !ignored.includes(path));
    if (asked.length === 0) return [];
    return (service?.gatewayRefs ?? [])
      .filter(({ kind = 'Gateway' }) => kind === 'Gateway')
      .map(async ({ name, namespace = canary.metadata.namespace ?? 'default' }) => {
        const found = await featuresAt({ namespace, name });
        const missing = asked.filter(([, feature]) => found && !found.names.has(feature));
        return missing.map(([path, feature]) =>
          bad(
            'warning',
            describe(canary),
            `${path}: GatewayClass ${found?.className} of Gateway ${namespace}/${name} does not name the feature ${feature}; requests may fail, or the field has no effect`,
            { actor: 'author', act: 'try it apart from users, or take the field out' },
          ),
        );
      });
  });
  return (await Promise.all(lines)).flat();
}

interface Features {
  readonly className: string;
  readonly names: ReadonlySet<string>;
}

async function featuresOf(
  client: Pick<ClusterClient, 'get'>,
  gateway: NamespacedName,
): Promise<Features | undefined> {
  const apiVersion = 'gateway.networking.k8s.io/v1';
  const read = async (kind: string, where: { readonly name: string; readonly namespace?: string }) =>
    client
      .get({ apiVersion, kind, ...where })
      .catch(onApiError(['forbidden', 'unknownKind'], () => undefined));
  const found = await read('Gateway', gateway);
  const { gatewayClassName: name } = (found?.spec ?? {}) as { readonly gatewayClassName?: string };
  if (name === undefined) return undefined;
  const { status } = ((await read('GatewayClass', { name })) ?? {}) as Partial<KubernetesObject> & {
    readonly status?: { readonly supportedFeatures?: ReadonlyArray<string | { readonly name: string }> };
  };
  // Before Gateway API 1.2 they were texts.
  const names = (status?.supportedFeatures ?? []).map((one) => (typeof one === 'string' ? one : one.name));
  return names.length > 0 ? { className: name, names: new Set(names) } : undefined;
}
