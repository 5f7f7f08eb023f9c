/** The table of routing providers: a further one is one more file and one more line here. */
import { contour } from './contour.ts';
import { gatewayApi } from './gateway-api.ts';
import { knative } from './knative.ts';
import { kubernetes } from './kubernetes.ts';
import type { RoutingProvider } from './router.ts';

/** How a provider's name is compared with the Canary's, which is Flagger's way (flagger-behaviour.md 3). */
interface Entry {
  name: string;
  match: 'exact' | 'prefix';
  /** Undefined: known, but this version does not route with it. */
  router: RoutingProvider | undefined;
}

/** In this order: `gatewayapi:v1beta1` begins with `gatewayapi:v1` too. */
const providers: readonly Entry[] = [
  { name: 'kubernetes', match: 'exact', router: kubernetes },
  { name: 'contour', match: 'exact', router: contour },
  { name: 'knative', match: 'exact', router: knative },
  { name: 'gatewayapi:v1beta1', match: 'prefix', router: undefined },
  { name: 'gatewayapi:v1', match: 'prefix', router: gatewayApi },
];

/** Every router once, for watches and for tests that hold for all of them. */
export const routers: readonly RoutingProvider[] = providers.flatMap(({ router }) => router ?? []);

/** The router of a provider, undefined when this version has none; an unknown provider is never taken for another one. */
export function routerFor(provider: string): RoutingProvider | undefined {
  return providers.find(({ name, match }) =>
    match === 'exact' ? provider === name : provider.startsWith(name),
  )?.router;
}

/** Providers that route to workloads; the other ones belong to a kind of target that its Canary names with its provider. */
export function workloadProviders(): string[] {
  return routers.flatMap(({ name, isTarget }) => (isTarget ? [] : [name]));
}

/** Names a Canary may use as provider today, for messages. */
export function supportedProviders(): string[] {
  return routers.map(({ name }) => name);
}
