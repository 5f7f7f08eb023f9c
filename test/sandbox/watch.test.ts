import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { waitFor } from '../../src/cli/requests/wait.ts';
import { watchStatus } from '../../src/cli/status/watch.ts';
import { createWatchTimeline } from '../../src/cli/watch.ts';
import { type WatchEvent, watchOne } from '../../src/cli/watch-canary.ts';
import type { Connection } from '../../src/server/connection.ts';
import { glyphsFor } from '../../src/terminal/timeline/rows.ts';
import { connectTo } from './connect-to.ts';
import { canary, deployment, eventually, runUntilInitialized, waitForPhase } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

const one = { namespace: 'shop', name: 'web' };
let bed: QuickBed;
let connection: Connection;
let stopping: AbortController;

beforeEach(async () => {
  bed = await startQuickBed();
  connection = await connectTo(bed);
  stopping = new AbortController();
  await bed.commit('Open the shop', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
});
afterEach(async () => {
  stopping.abort();
  await connection.close();
  await bed.close();
});

function ofType<Type extends WatchEvent['type']>(events: readonly WatchEvent[], type: Type) {
  return events.filter((event): event is Extract<WatchEvent, { type: Type }> => event.type === type);
}

test('watch tells of a release from its start to its end, and of the deletion of its Canary', async () => {
  const events: WatchEvent[] = [];
  const over = watchOne(connection, systemClock, { ...one, signal: stopping.signal }, (event) =>
    events.push(event),
  );
  await eventually('the first event', async () => events.length > 0);
  const commit = await bed.commit('Add gift cards', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  await eventually('the end', async () => ofType(events, 'state').at(-1)?.phase === 'Succeeded');

  expect(ofType(events, 'release').map(({ commit: seen }) => seen)).toContain(commit);
  expect(ofType(events, 'state').map(({ phase }) => phase)).toEqual(
    expect.arrayContaining(['Initialized', 'Progressing', 'Promoting', 'Succeeded']),
  );
  const look = { screen: { columns: 80, colour: false }, glyphs: glyphsFor({}), timeColumns: 9 };
  const timeline = createWatchTimeline(look);
  const text = events.flatMap((event) => timeline.lines(event)).join('\n');
  expect(text).toMatch(/● {2}shop\/web {2}.* {2}[0-9a-f]{7}\n/);
  expect(text).toMatch(/│\d\d:\d\d:\d\dZ {2}Succeeded/);

  await connection.client.delete(
    { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', ...one },
    { propagation: 'Background' },
  );
  await over;
  expect(events.at(-1)).toMatchObject({ type: 'deleted', canary: 'shop/web' });
});

test('watch of a Canary that is not there says so at once', async () => {
  const options = { namespace: 'shop', name: 'wep', signal: stopping.signal };
  await expect(watchOne(connection, systemClock, options, () => {})).rejects.toThrow(
    'Canary shop/wep not found',
  );
});

/** What is written to it is kept. */
function screenOf(isTTY: boolean): { readonly stream: NodeJS.WriteStream; text(): string } {
  let shown = '';
  const write = (text: string) => {
    shown += text;
  };
  const stream = { write, ...(isTTY ? { isTTY, columns: 100, rows: 30 } : {}) };
  return { stream: stream as unknown as NodeJS.WriteStream, text: () => shown };
}

test('status -w draws the page of a terminal anew, and prints a line a change elsewhere', async () => {
  const [page, lines] = [screenOf(true), screenOf(false)];
  const options = {
    namespace: 'shop',
    format: 'table' as const,
    screen: { columns: 100, colour: false },
    env: {},
    signal: stopping.signal,
    onSilence: () => undefined,
  };
  const views = [
    watchStatus(connection, { ...options, stream: page.stream }),
    watchStatus(connection, { ...options, stream: lines.stream }),
  ];
  const ends = Promise.allSettled(views);
  await bed.commit('Add gift cards', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  const lastPage = () => page.text().split('\u001b[H').at(-1) ?? '';
  await eventually(
    'both show the end',
    async () => lastPage().includes('Succeeded') && lines.text().includes('Canary shop/web Succeeded'),
  );
  expect(lastPage()).toMatch(/CANARY +PHASE +WEIGHT +SERVING/);
  expect(lastPage()).toMatch(/SOURCE +READY/);
  expect(lines.text()).toMatch(/Canary shop\/web Progressing \(weight \d+, step \d+\/\d+/);
  expect(lines.text()).toMatch(/Source shop\/\S+ ready True/);

  stopping.abort(new Error('interrupted'));
  expect(await ends).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  // The screen from before comes back.
  expect(page.text().endsWith('\u001b[?1049l')).toBe(true);
});

test('status -w says that Sources are not shown to whoever may not list them, as status does', async () => {
  const [page, lines] = [screenOf(true), screenOf(false)];
  const said: string[] = [];
  const options = {
    ...{ namespace: 'shop', format: 'table' as const, env: {}, signal: stopping.signal },
    ...{ screen: { columns: 100, colour: false }, onSilence: (line: string) => void said.push(line) },
  };
  const allow = bed.sandbox.fault(({ path }) => (path.endsWith('/sources') ? { code: 403 } : undefined));
  const views = [
    watchStatus(connection, { ...options, stream: page.stream }),
    watchStatus(connection, { ...options, stream: lines.stream }),
  ];
  const ends = Promise.allSettled(views);

  await eventually(
    'both say so',
    async () => page.text().includes('no Sources are shown') && said.length > 0,
  );
  expect(said[0]).toMatch(/^no Sources are shown: .*403/);
  expect(page.text()).toMatch(/CANARY +PHASE/);

  allow();
  stopping.abort(new Error('interrupted'));
  await ends;
});

test('status -w of one object goes on when that is deleted and made anew, and refuses one that is not there', async () => {
  const [page, lines] = [screenOf(true), screenOf(false)];
  const silence: string[] = [];
  const options = {
    ...{ namespace: 'shop', kind: 'Canary' as const, name: 'web', env: {}, signal: stopping.signal },
    ...{ screen: { columns: 100, colour: false }, onSilence: (line: string) => void silence.push(line) },
  };
  const views = [
    watchStatus(connection, { ...options, format: 'table', stream: page.stream }),
    watchStatus(connection, { ...options, format: 'json', stream: lines.stream }),
  ];
  const ends = Promise.allSettled(views);
  const lastPage = () => page.text().split('\u001b[H').at(-1) ?? '';
  await eventually('it is shown', async () => lastPage().includes('Initialized') && lines.text() !== '');
  const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';
  const allow = bed.sandbox.fault(({ method, path }) =>
    method === 'PATCH' && path === `${canaries}/web` ? { code: 503 } : undefined,
  );
  await bed.send('DELETE', `${canaries}/web`);
  await eventually('it is gone', async () => lastPage().includes('Canary shop/web not found'));
  allow();
  await eventually('it is back', async () => lastPage().includes('Canary shop/web  '));
  const documents = lines
    .text()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as KubernetesObject);
  const deleted = documents.findIndex(({ kind }) => kind === 'DeletedObject');
  expect(documents[deleted]).toMatchObject({ object: { kind: 'Canary', namespace: 'shop', name: 'web' } });
  expect(documents.at(-1)?.kind).toBe('Canary');

  const restore = bed.sandbox.fault(({ path }) => (path.includes('/canaries') ? { code: 503 } : undefined));
  bed.sandbox.cutWatches('reset');
  await eventually('no change arrives', async () => silence.at(-1)?.startsWith('no changes arrive: '));
  restore();
  await eventually('changes arrive', async () => silence.at(-1) === 'changes arrive again');

  await expect(
    watchStatus(connection, { ...options, name: 'wep', format: 'json', stream: lines.stream }),
  ).rejects.toThrow('Canary shop/wep not found');
  stopping.abort(new Error('interrupted'));
  await ends;
});

test('wait says what it waits for as that changes', async () => {
  const said: string[] = [];
  const commit = await bed.commit('Add gift cards', { 'web.json': deployment('shop/web:2') });
  const progress = (line: string) => void said.push(line);
  const options = { ...one, commit, timeoutMs: 120_000, format: 'text' as const, progress };
  expect((await waitFor(connection.client, bed.clock, options)).exitCode).toBe(0);
  expect(said[0]).toMatch(/^waiting for Canary shop\/web: /);
  expect(said.join('')).toMatch(/Progressing, weight \d+, step \d+\/\d+: /);
  expect(new Set(said).size).toBe(said.length);

  const late = { ...options, commit: 'c'.repeat(40), timeoutMs: 1 };
  expect(await waitFor(connection.client, systemClock, late)).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining('commit ccccccc is not rolled out yet; the Canary is at'),
  });
});
