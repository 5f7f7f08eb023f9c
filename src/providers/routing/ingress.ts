/** Common parts of providers that generate a second Ingress, for the canary, from that of the users (flagger-behaviour.md 3.7, 3.8). */
import type { Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteContext, RouteReference } from '../../contracts/routing.ts';
import { type Derivation, derivationOf } from './router.ts';

/** The kind of both. */
export const ingressKind = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' };

/** Names of both: that of `spec.ingressRef`, and the same with `-canary`. */
export function ingressNames({ spec }: Canary): { readonly source: string; readonly own: string } {
  const source = spec.ingressRef?.name ?? spec.targetRef.name;
  return { source, own: `${source}-canary` };
}

/** Both, for `references` of a router. */
export function ingressReferences(canary: Canary): RouteReference[] {
  const { source, own } = ingressNames(canary);
  return [source, own].map((name) => ({ ...ingressKind, name }));
}

/** Both as they are, and why the second cannot be made: also where the first leads nowhere near the apex Service. */
export function ingressesOf(context: RouteContext, live: readonly KubernetesObject[]): Derivation {
  const found = derivationOf(context, ingressKind, ingressNames(context.canary), live);
  const { apex } = context.names;
  const { source } = found;
  if (found.problem || !source || serviceNamesIn(source.spec).includes(apex)) return found;
  return {
    ...found,
    source: undefined,
    problem: `Ingress ${source.metadata.name} has no backend that is Service ${apex}`,
  };
}

interface Backend {
  readonly service?: { readonly name: string };
}

/** An HTTP path of an Ingress. */
interface IngressPath {
  readonly backend?: Backend;
}

interface IngressSpec {
  readonly defaultBackend?: Backend;
  readonly rules?: ReadonlyArray<{ readonly http?: { readonly paths?: readonly IngressPath[] } }>;
}

/** Names of the Services that an Ingress leads to. */
export function serviceNamesIn(spec: unknown): string[] {
  const { defaultBackend, rules = [] } = (spec ?? {}) as IngressSpec;
  const paths = rules.flatMap(({ http }) => http?.paths ?? []);
  return [defaultBackend, ...paths.map(({ backend }) => backend)].flatMap((one) => one?.service?.name ?? []);
}

/** The spec with each path as this function makes it, and with another name of the default backend's Service. */
export function mapPaths(
  spec: unknown,
  pathsOf: (path: IngressPath) => readonly IngressPath[],
  nameOf: (service: string) => string = (service) => service,
): Record<string, unknown> {
  const { defaultBackend, rules, ...rest } = (spec ?? {}) as IngressSpec;
  return {
    ...rest,
    ...(defaultBackend ? { defaultBackend: withService(defaultBackend, nameOf) } : {}),
    ...(rules
      ? {
          rules: rules.map((rule) =>
            rule.http?.paths
              ? { ...rule, http: { ...rule.http, paths: rule.http.paths.flatMap(pathsOf) } }
              : rule,
          ),
        }
      : {}),
  };
}

/** The backend with another name of its Service. */
export function withService(backend: Backend, nameOf: (service: string) => string): Backend {
  const { service } = backend;
  return service ? { ...backend, service: { ...service, name: nameOf(service.name) } } : backend;
}
