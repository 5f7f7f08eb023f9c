import { useEffect, useRef, useState } from 'preact/hooks';
import { narrowed, sorted } from './fleet-list.ts';
import { Commit, Sign, toneWord, When } from './parts.tsx';
import { type Filter, hashOf, noFilter } from './routing.ts';
import { fleet, go } from './state.ts';
import type { CanaryRow } from './views.ts';

const shownTones = ['bad', 'busy', 'good', 'none'] as const;

/** All Canaries, those that need attention first. */
export function FleetPage({ filter }: { filter: Filter }) {
  const lists = fleet.value;
  if (!lists) return <p class="quiet">The list is read…</p>;
  const all = [...lists.canaries.values()];
  const found = narrowed(all, filter);
  const rows = sorted(filter.tone ? found.filter(({ tone }) => tone === filter.tone) : found);
  return (
    <>
      <h1>Canaries</h1>
      <Filters filter={filter} all={all} found={found} />
      <p role="status" class="quiet">
        {rows.length < all.length && `${rows.length} of `}
        {all.length === 1 ? '1 Canary' : `${all.length} Canaries`}
      </p>
      {rows.length > 0 ? <RowList rows={rows} /> : <Empty isFiltered={all.length > 0} />}
    </>
  );
}

function Empty({ isFiltered }: { isFiltered: boolean }) {
  if (!isFiltered)
    return (
      <p>There is no Canary, or none that you may read: listing them needs the role view in a namespace.</p>
    );
  return (
    <p>
      No Canary fits.{' '}
      <button type="button" onClick={() => go({ view: 'canaries', filter: noFilter })}>
        Show all
      </button>
    </p>
  );
}

function Filters({
  filter,
  all,
  found,
}: {
  filter: Filter;
  all: readonly CanaryRow[];
  found: readonly CanaryRow[];
}) {
  const set = (more: Partial<Filter>) => go({ view: 'canaries', filter: { ...filter, ...more } }, true);
  const count = (tone: string) => found.filter((row) => row.tone === tone).length;
  return (
    <search class="filters">
      <div class="tones">
        <button type="button" aria-pressed={filter.tone === ''} onClick={() => set({ tone: '' })}>
          All {found.length}
        </button>
        {shownTones.map((tone) => (
          <button
            key={tone}
            type="button"
            aria-pressed={filter.tone === tone}
            onClick={() => set({ tone: filter.tone === tone ? '' : tone })}
          >
            <Sign tone={tone} />
            {toneWord(tone)} {count(tone)}
          </button>
        ))}
      </div>
      <label>
        Search
        <input
          id="search"
          type="search"
          value={filter.text}
          placeholder="name, commit, subject ( / )"
          onInput={({ currentTarget }) => set({ text: currentTarget.value })}
        />
      </label>
      <Choice
        label="Namespace"
        value={filter.namespace}
        values={all.map(({ namespace }) => namespace)}
        onChange={(namespace) => set({ namespace })}
      />
      <Choice
        label="Owner"
        value={filter.owner}
        values={all.map(({ owner }) => owner)}
        onChange={(owner) => set({ owner })}
      />
    </search>
  );
}

function Choice({
  label,
  value,
  values,
  onChange,
}: {
  label: string;
  value: string;
  values: readonly string[];
  onChange: (value: string) => void;
}) {
  const known = [...new Set([...values, value])].filter(Boolean).sort();
  return (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">all</option>
        {known.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

/** More rows than these are drawn only where they can be seen. */
const extraRows = 12;

/** Rows have one height, so that a thousand cost what a screen full of them does. */
function RowList({ rows }: { rows: readonly CanaryRow[] }) {
  const list = useRef<HTMLUListElement>(null);
  const [range, setRange] = useState({ first: 0, last: 40, height: 48 });
  useEffect(() => {
    const look = () => {
      const height = list.current?.querySelector('li')?.getBoundingClientRect().height || 48;
      const top = list.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / height) - extraRows);
      const last = Math.ceil((innerHeight - top) / height) + extraRows;
      setRange((now) =>
        now.first === first && now.last === last && now.height === height ? now : { first, last, height },
      );
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [rows.length]);
  const first = Math.min(range.first, Math.max(0, rows.length - 1));
  const last = Math.min(range.last, rows.length);
  return (
    <>
      <div class="row titles" aria-hidden="true">
        {['', 'Canary', 'Phase', 'Weight', 'Serving', 'Head', 'Reason', 'Next'].map((title) => (
          <span key={title}>{title}</span>
        ))}
      </div>
      <ul
        ref={list}
        class="rows"
        aria-label="Canaries"
        style={{
          paddingTop: `${first * range.height}px`,
          paddingBottom: `${Math.max(0, rows.length - last) * range.height}px`,
        }}
        onKeyDown={moveFocus}
      >
        {rows.slice(first, last).map((row) => (
          <Row key={`${row.namespace}/${row.name}`} row={row} />
        ))}
      </ul>
    </>
  );
}

/** The arrow keys and j, k go from row to row. */
function moveFocus(event: KeyboardEvent): void {
  const isDown = event.key === 'ArrowDown' || event.key === 'j';
  if ((!isDown && event.key !== 'ArrowUp' && event.key !== 'k') || event.ctrlKey || event.metaKey) return;
  const item = (event.target as HTMLElement).closest('li');
  const next = isDown ? item?.nextElementSibling : item?.previousElementSibling;
  const link = next?.querySelector('a');
  if (!link) return;
  event.preventDefault();
  link.focus();
}

function Row({ row }: { row: CanaryRow }) {
  const { namespace, name, tone, phase, weightPercent, share, serving, headCommit, reason, next, isPaused } =
    row;
  return (
    <li>
      <a class="row" href={hashOf({ view: 'canary', namespace, name })}>
        <Sign tone={tone} />
        <span class="name">
          <span class="quiet">{namespace}/</span>
          <b>{name}</b>
        </span>
        <span class="phase">
          {phase}
          {isPaused && ' · paused'}
        </span>
        <span class="weight">{weightPercent === undefined ? '–' : `${weightPercent}${share || ' %'}`}</span>
        <span class="serving">{serving || '–'}</span>
        <span class="head">
          <Commit commit={headCommit} />
        </span>
        <span class="reason">{reason}</span>
        <span class="next">
          {next?.action} <When time={next?.time} />
        </span>
      </a>
    </li>
  );
}
