import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';
import { createReadingJournal } from '../../src/git/poll/reading-journal.ts';
import { type Bed, condition, createSource, eventually, startBed } from './holdfast-bed.ts';

let bed: Bed;
let dataDirectory: string;
beforeEach(async () => {
  bed = await startBed();
  dataDirectory = await mkdtemp(join(tmpdir(), 'holdfast-poison-'));
});
afterEach(async () => {
  await bed.close();
  await rm(dataDirectory, { recursive: true, force: true, maxRetries: 5 });
});

const manifest = (name: string) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' } });

/** A process that dies while it renders this commit. */
async function dieRendering(commit: string): Promise<void> {
  const journal = createReadingJournal(join(dataDirectory, 'reading'), systemClock);
  const target = { source: 'shop/shop', stage: 'render', commit, generation: 1 } as const;
  await new Promise<void>((begun) => {
    void journal.reading(target, () => {
      begun();
      return new Promise(() => {});
    });
  });
}

test('a commit at which the process died twice is left alone and told in the status, and the next one is applied', async () => {
  const poison = await bed.commit('Poison', { 'app.json': manifest('poison') });
  await createSource(bed);
  await dieRendering(poison);
  await dieRendering(poison);

  await bed.start({ dataDirectory });
  const rendered = async () => condition(await bed.source(), 'Rendered');
  await eventually('the reason', async () => (await rendered())?.reason === 'ReadingSkipped', {
    seen: rendered,
  });
  expect((await rendered())?.message).toMatch(
    new RegExp(
      `^rendering commit ${poison.slice(0, 7)} ended the process 2 times, so it is skipped until 20`,
    ),
  );
  expect(await bed.get('v1', 'ConfigMap', 'poison')).toBeUndefined();

  await bed.commit('Cure', { 'app.json': manifest('cure') });
  await eventually('the next commit', async () => (await bed.get('v1', 'ConfigMap', 'cure')) !== undefined);
  await eventually('it is said', async () => (await rendered())?.status === 'True', { seen: rendered });
});
