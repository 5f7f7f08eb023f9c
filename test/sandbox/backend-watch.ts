import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { QuickBed } from './quick-bed.ts';

interface Backend {
  readonly name: string;
  readonly weight?: number;
}

interface RouteSpec {
  readonly rules?: ReadonlyArray<{ backendRefs: readonly Backend[] }>;
  readonly routes?: ReadonlyArray<{ services: readonly Backend[] }>;
}

interface State {
  readonly atMs: number;
  /** Weights by name. */
  readonly weights: ReadonlyMap<string, number>;
}

/** What a route names at every event. */
export interface BackendWatch {
  /** `name=weight` of each, one line for each change. */
  lines(): readonly string[];
  /** Backends that got requests before they were named for two seconds, or were named no more less than two seconds after their last ones. */
  overtaken(): readonly string[];
}

const heardOfAfterMs = 2000;

/** Follows the route `web` of namespace `shop`, of the kind with this key of the store. */
export function watchBackends({ sandbox, clock }: QuickBed, key: string): BackendWatch {
  const { store } = sandbox;
  const states: State[] = [];
  const look = () => {
    const weights = weightsOf(store.get(key, 'shop', 'web'));
    if (weights.size === 0 || lineOf(weights) === lineOf(states.at(-1)?.weights ?? new Map())) return;
    states.push({ atMs: clock.nowMs(), weights });
  };
  look();
  store.subscribe(look);
  return {
    lines: () => states.map(({ weights }) => lineOf(weights)),
    overtaken: () => states.slice(1).flatMap((_, index) => overtakenAt(states.slice(0, index + 2))),
  };
}

/** Judges the last of these states by those before it. */
function overtakenAt(states: readonly State[]): string[] {
  const now = states.at(-1) as State;
  const before = states.slice(0, -1);
  const names = new Set(states.flatMap(({ weights }) => [...weights.keys()]));
  return [...names].flatMap((name) => {
    const isUsed = (now.weights.get(name) ?? 0) > 0;
    const isGone = !now.weights.has(name) && (before.at(-1)?.weights.has(name) ?? false);
    const isHeard = lasted(before, now, ({ weights }) => weights.has(name));
    const isLeft = lasted(before, now, ({ weights }) => weights.get(name) === 0);
    return (isUsed && !isHeard) || (isGone && !isLeft) ? [`${name} at ${lineOf(now.weights)}`] : [];
  });
}

/** It held for long enough until now, or from the beginning on. */
function lasted(before: readonly State[], { atMs }: State, holds: (state: State) => boolean): boolean {
  const broken = before.findLastIndex((state) => !holds(state));
  const since = before[broken + 1];
  return broken === -1 || (since !== undefined && atMs - since.atMs >= heardOfAfterMs);
}

function weightsOf(route: KubernetesObject | undefined): Map<string, number> {
  const { rules = [], routes = [] } = (route?.spec ?? {}) as RouteSpec;
  const lists = [...rules.map(({ backendRefs }) => backendRefs), ...routes.map(({ services }) => services)];
  return new Map(
    lists.flatMap((list) =>
      list.map(({ name, weight }) => [name, list.length === 1 ? 1 : (weight ?? 0)] as const),
    ),
  );
}

function lineOf(weights: ReadonlyMap<string, number>): string {
  return [...weights].map(([name, weight]) => `${name}=${weight}`).join(' ');
}
