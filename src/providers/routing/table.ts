/** The table of routing providers: a further one is one more file and one more line here. */
import { apisix } from './apisix.ts';
import { appMeshProviders } from './appmesh.ts';
import { contour } from './contour.ts';
import { gatewayApi, gatewayApiBeta } from './gateway-api.ts';
import { gloo } from './gloo.ts';
import { istio } from './istio.ts';
import { knative } from './knative.ts';
import { kubernetes } from './kubernetes.ts';
import { kuma } from './kuma.ts';
import { nginx } from './nginx.ts';
import { type RoutingProvider, unreadable } from './router.ts';
import { skipper } from './skipper.ts';
import { smiProviders } from './smi.ts';
import { traefik } from './traefik.ts';

/** Every routing provider of this version. */
export const routers: readonly RoutingProvider[] = [
  kubernetes,
  gatewayApi,
  gatewayApiBeta,
  contour,
  knative,
  nginx,
  skipper,
  traefik,
  apisix,
  istio,
  ...smiProviders,
  ...appMeshProviders,
  gloo,
  kuma,
].map(tellingOtherTypes);

/** Schemas of some CRDs let another writer put anything anywhere: that is a problem of the route, and no failure of the whole Canary. */
function tellingOtherTypes(provider: RoutingProvider): RoutingProvider {
  return {
    ...provider,
    read(context, live) {
      try {
        return provider.read(context, live);
      } catch {
        const kinds = provider.kinds.map(({ kind }) => kind).join(' or ');
        return unreadable(
          `${kinds} of ${context.names.apex}: a field has another type than provider ${provider.name} knows`,
        );
      }
    },
  };
}

/** The router of a provider, undefined when this version has none; an unknown provider is never taken for another one. */
export function routerFor(provider: string): RoutingProvider | undefined {
  return routers.find(
    ({ name, variants }) => provider === name || (variants && provider.startsWith(variants)),
  );
}

/** Providers that route to workloads; the other ones belong to a kind of target that its Canary names with its provider. */
export function workloadProviders(): string[] {
  return routers.flatMap(({ name, isTarget }) => (isTarget ? [] : [name]));
}

/** Names a Canary may use as provider today, for messages. */
export function supportedProviders(): string[] {
  return routers.map(({ name }) => name);
}
