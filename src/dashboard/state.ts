import { computed, effect, type Signal, signal } from '@preact/signals';
import { clockAheadMs, follow, login } from './connection.ts';
import { changed, type FleetLists, listsOf } from './fleet-list.ts';
import { hashOf, type Route, routeOf } from './routing.ts';
import type { CanaryView, Fleet, FleetChange, Freshness, SourceView } from './views.ts';

/** What is looked at. */
export const route: Signal<Route> = signal(routeOf(location.hash));

/** The list; undefined until it came. */
export const fleet: Signal<FleetLists | undefined> = signal(undefined);

/** The Canary or Source that is looked at; undefined until it came. */
export const detail: Signal<
  | { readonly kind: 'canary'; readonly view: CanaryView }
  | { readonly kind: 'source'; readonly view: SourceView }
  | { readonly kind: 'missing'; readonly message: string }
  | undefined
> = signal(undefined);

/** How fresh what is shown is; undefined until the server has said. */
export const freshness: Signal<Freshness | undefined> = signal(undefined);

const ownTimeMs = signal(Date.now());

/** The time by Holdfast's clock, updated once a second while the page is visible. */
export const nowMs = computed(() => ownTimeMs.value + clockAheadMs.value);

/** Goes to a view; `replace`: without an entry in the history, for instance while typing. */
export function go(next: Route, replace = false): void {
  if (replace) history.replaceState(null, '', hashOf(next));
  else history.pushState(null, '', hashOf(next));
  route.value = next;
}

/** Whether the page is visible. */
const isSeen = signal(!document.hidden);

/** What the server is asked for: the same for every filter of a list. */
const query = computed(() => {
  if (login.value.kind !== 'loggedIn') return '';
  const at = route.value;
  if (!('name' in at)) return 'view=fleet';
  return new URLSearchParams({ view: at.view, namespace: at.namespace, name: at.name }).toString();
});

/** Starts all updates. */
export function start(): void {
  for (const event of ['hashchange', 'popstate'])
    addEventListener(event, () => {
      route.value = routeOf(location.hash);
    });
  setInterval(() => {
    if (!document.hidden) ownTimeMs.value = Date.now();
  }, 1_000);
  document.addEventListener('visibilitychange', () => {
    isSeen.value = !document.hidden;
  });
  effect(() => {
    // Of another object.
    if (query.value !== undefined) detail.value = undefined;
  });
  effect(() => {
    // The next person may read less.
    if (login.value.kind === 'loggedOut') fleet.value = undefined;
  });
  // Browsers have few connections for one server, and the server has few places: a page in the background takes none.
  effect(() => (query.value && isSeen.value ? follow(query.value, take) : undefined));
}

function take(event: string, data: unknown): void {
  if (event === 'fresh') freshness.value = data as Freshness;
  else if (event === 'fleet') fleet.value = listsOf(data as Fleet);
  else if (event === 'change' && fleet.value) fleet.value = changed(fleet.value, data as FleetChange);
  else if (event === 'canary') detail.value = { kind: 'canary', view: data as CanaryView };
  else if (event === 'source') detail.value = { kind: 'source', view: data as SourceView };
  else if (event === 'missing') detail.value = { kind: 'missing', ...(data as { message: string }) };
}
