import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { CanaryPage } from './canary-page.tsx';
import { askSession, logIn, login, logOut, lost, takeTokenFromAddress, upgradedTo } from './connection.ts';
import { FleetPage } from './fleet-page.tsx';
import { When } from './parts.tsx';
import { noFilter } from './routing.ts';
import { SourcePage, SourcesPage } from './source-pages.tsx';
import { detail, freshness, go, route, start } from './state.ts';
import { nextTheme, showTheme, theme } from './theme.ts';

const retryMs = 5_000;

function App() {
  const who = login.value;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <header class="top">
        <span class="brand">Holdfast</span>
        <Links />
        <span class="space" />
        {who.kind === 'loggedIn' && (
          <span class="who">
            {who.session.clusterName} · {who.session.user}
          </span>
        )}
        <button type="button" onClick={nextTheme}>
          Theme: {theme.value}
        </button>
        {who.kind === 'loggedIn' && (
          <button type="button" onClick={logOut}>
            Log out
          </button>
        )}
      </header>
      <Notices />
      <main id="main" tabIndex={-1}>
        {who.kind === 'loggedIn' ? <View /> : <LogIn />}
      </main>
      <footer class="quiet">
        Keys: <kbd>/</kbd> search, <kbd>j</kbd> <kbd>k</kbd> or arrows go through the list, <kbd>Enter</kbd>{' '}
        opens, <kbd>g</kbd> back to the list, <kbd>s</kbd> Sources
        {who.kind === 'loggedIn' && ` · version ${who.session.version}`}
      </footer>
    </>
  );
}

function Links() {
  const { view } = route.value;
  const current = (views: readonly string[]) => (views.includes(view) ? ('page' as const) : undefined);
  return (
    <nav aria-label="Views">
      <a href="#/canaries" aria-current={current(['canaries', 'canary'])}>
        Canaries
      </a>
      <a href="#/sources" aria-current={current(['sources', 'source'])}>
        Sources
      </a>
    </nav>
  );
}

/** What is shown may be old: said, and since when. */
function Notices() {
  const { staleSince, problem, isLeader } = freshness.value ?? {};
  return (
    <div role="status" class="notices">
      {lost.value && <p class="notice">{lost.value} What is shown may be old; trying again…</p>}
      {staleSince && (
        <p class="notice">
          No contact with the API server since {staleSince} (<When time={staleSince} />
          ): what is shown may be old, and nothing can be asked for.
        </p>
      )}
      {problem && <p class="notice">{problem}</p>}
      {upgradedTo.value && (
        <p class="notice">
          Holdfast is version {upgradedTo.value} now, and this page is of another one: reload it.
        </p>
      )}
      {isLeader === false && (
        <p class="quiet">
          Served by a replica of Holdfast that is not the leader: plots begin when it started.
        </p>
      )}
    </div>
  );
}

function View() {
  const at = route.value;
  if (!('name' in at)) return at.view === 'canaries' ? <FleetPage filter={at.filter} /> : <SourcesPage />;
  const shown = detail.value;
  if (!shown)
    return (
      <p class="quiet">
        {at.namespace}/{at.name} is read…
      </p>
    );
  if (shown.kind === 'missing') return <p>{shown.message}</p>;
  return shown.kind === 'canary' ? <CanaryPage view={shown.view} /> : <SourcePage view={shown.view} />;
}

function LogIn() {
  const field = useRef<HTMLInputElement>(null);
  const who = login.value;
  useEffect(() => field.current?.focus(), []);
  if (who.kind === 'unknown') return <p class="quiet">{who.problem || 'Asking who you are…'}</p>;
  return (
    <form
      class="login"
      onSubmit={(event) => {
        event.preventDefault();
        void logIn(field.current?.value ?? '');
      }}
    >
      <h1>Log in</h1>
      <label>
        Token
        <input ref={field} type="password" autocomplete="off" required />
      </label>
      <p>{who.kind === 'loggedOut' && who.message}</p>
      <button type="submit">Log in</button>
    </form>
  );
}

/** Letters are shortcuts, except in input fields. */
function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
    return;
  if (event.key === '/') document.getElementById('search')?.focus();
  else if (event.key === 'g') go({ view: 'canaries', filter: noFilter });
  else if (event.key === 's') go({ view: 'sources', filter: noFilter });
  else if (event.key === 'j' || event.key === 'ArrowDown') {
    if (target.closest('ul.rows')) return;
    const first = document.querySelector<HTMLElement>('ul.rows a');
    if (!first) return;
    first.focus();
  } else return;
  event.preventDefault();
}

function show(): void {
  takeTokenFromAddress();
  showTheme();
  addEventListener('keydown', onKey);
  start();
  void askSession();
  setInterval(() => {
    if (login.value.kind === 'unknown') void askSession();
  }, retryMs);
  const root = document.getElementById('app');
  if (root) render(<App />, root);
}

// Addresses are relative to the folder of the page: behind the path of a proxy without a slash at its end, that
// would be the one above, and nothing may be asked before the page is loaded again.
if (location.pathname.endsWith('/')) show();
else location.replace(`${location.pathname}/${location.search}${location.hash}`);
