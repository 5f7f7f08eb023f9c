import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runDemo } from '../../sandbox/demo/demo.ts';
import type { DemoEvent, Ended } from '../../sandbox/demo/events.ts';
import type { DemoOptions } from '../../sandbox/demo/options.ts';
import { createTimeline } from '../../sandbox/demo/timeline.ts';
import { formatOutputLine } from '../../src/terminal/output.ts';
import { glyphsFor } from '../../src/terminal/timeline/rows.ts';
import { outputKindsIn } from '../output-documents.ts';

const options: DemoOptions = {
  version: '0.0.0',
  kubeconfig: undefined,
  namespace: 'holdfast-demo',
  provider: undefined,
  gateway: undefined,
  image: 'busybox:1.37',
  trafficUrl: undefined,
  trafficHost: undefined,
  besideOthers: false,
  keep: false,
};

/** It takes some 45 s on an idle machine and a little more on a busy one; nothing in it waits for minutes. */
const storyMs = 300_000;

const { PATH } = process.env;

// It needs nothing but Node.
beforeAll(() => {
  process.env.PATH = '';
});
afterAll(() => {
  process.env.PATH = PATH;
});

async function told(more: Partial<DemoOptions> = {}): Promise<DemoEvent[]> {
  const events: DemoEvent[] = [];
  await runDemo(
    { ...options, ...more },
    {
      tell: (event) => {
        expect(outputKindsIn(formatOutputLine('DemoEvent', event))).toEqual(['DemoEvent']);
        events.push(event);
      },
      signal: new AbortController().signal,
    },
  );
  return events;
}

function ofType<Type extends DemoEvent['type']>(events: readonly DemoEvent[], type: Type) {
  return events.filter((event): event is Extract<DemoEvent, { type: Type }> => event.type === type);
}

/** What is told between a chapter's commit and the next one. */
function chapter(events: readonly DemoEvent[], name: string): DemoEvent[] {
  const start = events.findIndex((event) => event.type === 'commit' && event.name === name);
  const rest = events.slice(start + 1);
  const end = rest.findIndex((event) => event.type === 'commit' || event.type === 'ended');
  return rest.slice(0, end);
}

function statesOf(events: readonly DemoEvent[]): string[] {
  const states = ofType(events, 'state').map(({ phase, state }) => state || phase);
  return states.filter((state, index) => state !== states[index - 1]);
}

test.concurrent('by weights: v2 is promoted, v3 held and reverted, git revert needs no analysis', async () => {
  const events = await told();
  const ended = events.at(-1) as Ended & DemoEvent;
  expect(ended).toMatchObject({
    type: 'ended',
    ok: true,
    differences: [],
    promoted: ['v1', 'v2'],
    reverted: 'v3',
  });
  expect(ended.elapsedMs).toBeLessThan(storyMs);
  expect(ended.requests).toBeGreaterThan(500);
  expect(ended.failedRequests).toBe(0);
  expect(ended.heldMs).toBeGreaterThan(1_000);
  expect(statesOf(chapter(events, 'v2'))).toEqual(['Progressing', 'Converging', 'Verifying', 'Succeeded']);
  expect(ofType(chapter(events, 'v2'), 'traffic').map(({ canaryWeight }) => canaryWeight)).toEqual([
    20, 40, 60, 0,
  ]);
  const bad = chapter(events, 'v3');
  expect(statesOf(bad)).toEqual(['Progressing', 'Converging', 'Held', 'Reverting', 'Failed']);
  expect(ofType(bad, 'traffic').map(({ canaryWeight }) => canaryWeight)).toEqual([20, 40, 60, 100, 0]);
  expect(ofType(bad, 'checks').flatMap(({ results }) => results.map(({ verdict }) => verdict))).not.toContain(
    'fail',
  );
  expect(ofType(bad, 'quiet')).toMatchObject([{ written: [] }]);
  expect(ofType(chapter(events, 'revert'), 'checks')).toEqual([]);
  expect(ofType(chapter(events, 'revert'), 'traffic')).toEqual([]);
  await expectExcerpt(events);
});

/** The excerpt in the README is printed by the demo, line after line; commits, times and measured values differ from run to run. */
async function expectExcerpt(events: readonly DemoEvent[]): Promise<void> {
  const alike = (line: string) =>
    line
      .replace(/\b[0-9a-f]{7}$/, 'COMMIT')
      .replaceAll(/\b\d+(\.\d+)?(?= [≤≥]|s\b)/g, 'N')
      .replaceAll(/\s+/g, ' ');
  const readme = await readFile('README.md', 'utf8');
  const [, excerpt = ''] = /An excerpt:\n\n```text\n([\s\S]*?)```/.exec(readme) ?? [];
  const wanted = excerpt.split('\n').filter((line) => !['', '...'].includes(line.trim()));
  const look = {
    screen: { columns: 80, colour: false },
    glyphs: glyphsFor({ LANG: 'C.UTF-8' }),
    timeColumns: 7,
  };
  const timeline = createTimeline(look, []);
  const printed = events.flatMap((event) => timeline.lines(event)).map(alike);
  expect(wanted.length).toBeGreaterThan(8);
  for (const line of wanted) expect(printed).toContain(alike(line));
}

test.concurrent('without a router the same story runs by iterations', async () => {
  const events = await told({ provider: 'kubernetes' });
  expect(events.at(-1)).toMatchObject({ ok: true, reverted: 'v3', failedRequests: 0 });
  expect(ofType(chapter(events, 'v2'), 'iteration').map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
});

test('an interrupted demo leaves nothing behind', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'demo-test-'));
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder;
  const stopping = new AbortController();
  const reason = new Error('interrupted');
  let address = '';
  try {
    const tell = async (event: DemoEvent) => {
      if (event.type === 'commit' && event.name === 'v1') address = await sandboxAddress(folder);
      if (event.type === 'commit' && event.name === 'v2') stopping.abort(reason);
    };
    const playing = runDemo(options, { tell: (event) => void tell(event), signal: stopping.signal });
    await expect(playing).rejects.toBe(reason);
    expect(await readdir(folder)).toEqual([]);
    await expect(fetch(address)).rejects.toThrow();
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    await rm(folder, { recursive: true, force: true });
  }
});

async function sandboxAddress(folder: string): Promise<string> {
  const [name = ''] = await readdir(folder);
  const kubeconfig = JSON.parse(await readFile(join(folder, name, 'kubeconfig'), 'utf8'));
  return kubeconfig.clusters[0].cluster.server;
}
