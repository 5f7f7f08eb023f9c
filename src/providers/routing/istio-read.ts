/** Reads traffic, and the problems that Istio reports, from a VirtualService. */
import type { CanaryService } from '../../api/canary/service.ts';
import {
  isGenerated,
  type KubernetesObject,
  originalAnnotation,
  takenOverAnnotation,
} from '../../api/kubernetes.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import { findObject, findRoute, percentOf, type RouteReading, taken, unreadable } from './router.ts';

/** Where the requests go. */
export const virtualService = { apiVersion: 'networking.istio.io/v1beta1', kind: 'VirtualService' };
/** How each side is connected to. */
export const destinationRule = { apiVersion: 'networking.istio.io/v1beta1', kind: 'DestinationRule' };

/** Annotations of an object may have 256 KiB together. */
const mostOriginalCharacters = 100_000;

interface Route {
  readonly route?: ReadonlyArray<{
    readonly destination?: { readonly host?: string };
    readonly weight?: number;
    readonly headers?: unknown;
  }>;
  readonly mirror?: { readonly host?: string };
}

interface VirtualService extends KubernetesObject {
  readonly spec?: { readonly http?: readonly Route[]; readonly tcp?: readonly Route[] };
  readonly status?: {
    readonly observedGeneration?: number | string;
    readonly validationMessages?: ReadonlyArray<{
      readonly level?: string;
      readonly type?: { readonly name?: string; readonly code?: string };
    }>;
  };
}

/** Routes TCP connections, regardless of requests. */
export function isTcp(service: CanaryService | undefined): boolean {
  return service?.appProtocol?.toLowerCase() === 'tcp';
}

/** Weights of the route with both sides. Without a DestinationRule the policy of its side is missing, and nothing is accepted. */
export function readVirtualService(
  context: RouteContext,
  live: readonly KubernetesObject[],
): RouteReading | undefined {
  const found = findRoute(context, virtualService, live) as VirtualService | undefined;
  if (!found) return undefined;
  const { apex, primary, canary } = context.names;
  const splits = bothSides(context, found);
  // Users that stay where they are have routes of their own; the one by weight gives out their cookies.
  const split =
    splits.find(({ route = [] }) => route.some(({ headers }) => headers !== undefined)) ?? splits[0];
  const weightOf = (name: string) => split && (destinationIn(context, split, name)?.weight ?? 0);
  const weights = percentOf(weightOf(primary), weightOf(canary));
  if (!split || !weights)
    return unreadable(`VirtualService ${apex}: no route has weights for ${primary} and ${canary}`);
  const matched = (found.spec?.http ?? []).some(
    (route) => route.route?.length === 1 && destinationIn(context, route, primary) !== undefined,
  );
  const mirrored = isHost(context, split.mirror?.host, canary);
  return { ...taken(weights, missing(context, live) ?? refusal(found)), mirrored, matched };
}

/**
 * The spec of a foreign VirtualService before it was taken over, as annotation. One that has both sides already was Flagger's, which
 * leaves that to kubectl where it can.
 */
export function originalOf(
  context: RouteContext,
  live: KubernetesObject | undefined,
): Readonly<Record<string, string>> {
  if (!live || isGenerated(live, context.canary)) return {};
  const { annotations = {} } = live.metadata;
  const isTaken = annotations[takenOverAnnotation] !== undefined || bothSides(context, live).length > 0;
  const applied = annotations['kubectl.kubernetes.io/last-applied-configuration'];
  const spec = isTaken ? specIn(applied) : JSON.stringify(live.spec);
  const original = annotations[originalAnnotation] ?? spec;
  return original === undefined || original.length > mostOriginalCharacters
    ? {}
    : { [originalAnnotation]: original };
}

function specIn(applied: string | undefined): string | undefined {
  try {
    const object = JSON.parse(applied ?? 'null') as KubernetesObject | null;
    return object?.spec ? JSON.stringify(object.spec) : undefined;
  } catch {
    return undefined;
  }
}

function bothSides(context: RouteContext, { spec }: VirtualService): Route[] {
  const { http = [], tcp = [] } = spec ?? {};
  const { primary, canary } = context.names;
  return (isTcp(context.canary.spec.service) ? tcp : http).filter((route) =>
    [primary, canary].every((name) => destinationIn(context, route, name)),
  );
}

function destinationIn(context: RouteContext, { route = [] }: Route, name: string) {
  return route.find(({ destination }) => isHost(context, destination?.host, name));
}

function isHost(context: RouteContext, host: string | undefined, name: string): boolean {
  return serviceAt(context, host) === name;
}

/** The Service of the Canary's namespace at a host, which may be its short name or with its namespace. */
export function serviceAt({ canary }: RouteContext, host: string | undefined): string | undefined {
  const own = canary.metadata.namespace ?? 'default';
  const [service, namespace = own] = host?.split('.') ?? [];
  return namespace === own ? service : undefined;
}

function missing(context: RouteContext, live: readonly KubernetesObject[]): string | undefined {
  const { primary, canary } = context.names;
  const gone = [primary, canary].find((name) => !findObject(context, { ...destinationRule, name }, live));
  return gone && `DestinationRule ${gone} does not exist yet`;
}

/** Istio writes a status only where its analysis is turned on; without it the route counts as taken. */
export function refusal({ metadata, status }: VirtualService): string | undefined {
  const { observedGeneration, validationMessages = [] } = status ?? {};
  if (Number(observedGeneration) !== metadata.generation) return undefined;
  const found = validationMessages.find(({ level }) => level === 'ERROR' || level === '3');
  const { code = '', name = '' } = found?.type ?? {};
  return found && `VirtualService ${metadata.name}: Istio reports ${[code, name].filter(Boolean).join(' ')}`;
}
