import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../api/limits.ts';
import { createReadingJournal, type ReadingTarget } from './reading-journal.ts';

let folder: string;
let nowMs = 0;
const timers = new Set<() => void>();
const clock = {
  nowMs: () => nowMs,
  after(_delayMs: number, callback: () => void) {
    timers.add(callback);
    return () => void timers.delete(callback);
  },
};
const commit = 'a'.repeat(40);
const target: ReadingTarget = { source: 'shop/web', stage: 'render', commit, generation: 1 };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-journal-'));
  nowMs = Date.parse('2026-01-01T00:00:00Z');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A process that dies while it reads the first ones, and before it reads those that wait for them: nothing after that is ever run. */
async function dieReading(reading: readonly ReadingTarget[], waiting: readonly ReadingTarget[] = []) {
  const journal = createReadingJournal(folder, clock);
  const begin = (one: ReadingTarget) =>
    new Promise<void>((resolve) => {
      void journal.reading(one, () => {
        resolve();
        return new Promise(() => {});
      });
    });
  await Promise.all(reading.map(begin));
  for (const one of waiting) void begin(one);
}

const read = (one: ReadingTarget) => createReadingJournal(folder, clock).reading(one, async () => 'read');

test('work that ends in any way leaves no entry', async () => {
  const journal = createReadingJournal(folder, clock);
  expect(await journal.reading(target, async () => 'read')).toBe('read');
  const failing = journal.reading(target, () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  expect(readdirSync(folder)).toEqual([]);
});

test('of many Sources of one namespace four are rendered at a time, and those of others meanwhile', async () => {
  const journal = createReadingJournal(folder, clock);
  const begun: string[] = [];
  const finish: Array<() => void> = [];
  const render = (source: string) =>
    journal.reading({ ...target, source }, async () => {
      begun.push(source);
      await new Promise<void>((resolve) => finish.push(resolve));
    });
  const many = Array.from({ length: 20 }, (_, index) => render(`shop/${index}`));
  const all = Promise.all([...many, render('cart/web')]);
  const underWay = { most: 0, ended: 0 };
  await expect.poll(() => begun.includes('cart/web') && finish.length > 4).toBe(true);
  while (underWay.ended < 21) {
    await expect.poll(() => finish.length).toBeGreaterThan(0);
    underWay.most = Math.max(underWay.most, begun.length - underWay.ended);
    finish.shift()?.();
    underWay.ended += 1;
  }
  await all;
  expect(underWay.most).toBe(5);
});

test('a Source that waits while renders of its namespace hang stops waiting when its time is over, and takes no place', async () => {
  const journal = createReadingJournal(folder, clock);
  const hung: Array<() => void> = [];
  const render = (source: string, work: () => Promise<void>, signal?: AbortSignal) =>
    journal.reading({ ...target, source }, work, signal);
  const hang = () => new Promise<void>((resolve) => void hung.push(resolve));
  const hanging = ['a', 'b', 'c', 'd'].map((name) => render(`shop/${name}`, hang));
  await expect.poll(() => hung.length).toBe(4);
  const deadline = new AbortController();
  const begun: string[] = [];
  const begin = (name: string) => async () => void begun.push(name);
  let ended = '';
  void render('shop/late', begin('late'), deadline.signal).catch((error: Error) => {
    ended = error.message;
  });
  const next = render('shop/next', begin('next'));

  deadline.abort(new Error('its time is over'));

  await expect.poll(() => ended).toBe('its time is over');
  hung.shift()?.();
  await next;
  expect(begun).toEqual(['next']);
  for (const end of hung) end();
  await Promise.all(hanging);
});

test('after one death it is read again, after the second it is left alone for two minutes, then tried again, and for longer after each death up to an hour', async () => {
  await dieReading([target]);
  await dieReading([target]);
  await expect(read(target)).rejects.toMatchObject({
    code: 'ReadingSkipped',
    message: `rendering commit aaaaaaa ended the process 2 times, so it is skipped until 2026-01-01T00:02:00.000Z; push a commit with less in it, or change the Source`,
  });
  nowMs += limits.firstSkippedReadingMs;
  await dieReading([target]);
  await expect(read(target)).rejects.toMatchObject({ message: expect.stringContaining('3 times') });
  nowMs += limits.firstSkippedReadingMs;
  await expect(read(target)).rejects.toMatchObject({ code: 'ReadingSkipped' });
  for (let deaths = 3; deaths < 20; deaths += 1) {
    nowMs += limits.skippedReadingMs;
    await dieReading([target]);
    await expect(read(target)).rejects.toMatchObject({ code: 'ReadingSkipped' });
  }
  nowMs += limits.skippedReadingMs;
  expect(await read(target)).toBe('read');
  expect(await read(target)).toBe('read');
});

test('a death that is not repeated is forgotten', async () => {
  await dieReading([target]);
  expect(await read(target)).toBe('read');
  await dieReading([target]);
  expect(await read(target)).toBe('read');
});

test('other Sources, other stages and another generation are read', async () => {
  await dieReading([target]);
  await dieReading([target]);
  expect(await read({ ...target, source: 'shop/api' })).toBe('read');
  expect(await read({ ...target, stage: 'fetch' })).toBe('read');
  expect(await read({ ...target, generation: 2 })).toBe('read');
});

test('the next commit of a Source that ended the process has one try', async () => {
  const next = { ...target, commit: 'b'.repeat(40) };
  await dieReading([target]);
  await dieReading([target]);
  await dieReading([next]);
  await expect(read(next)).rejects.toMatchObject({ code: 'ReadingSkipped' });
});

test('of several that were read at a death only the cause of it is skipped', async () => {
  const others = ['a', 'b', 'c'].map((name) => ({ ...target, source: `shop/${name}` }));
  await dieReading([...others, target]);
  // The suspects are read one at a time, so that the next death has one cause.
  await dieReading([target], others);
  await expect(read(target)).rejects.toMatchObject({ code: 'ReadingSkipped' });
  for (const other of others) expect(await read(other)).toBe('read');
});

test('a suspect that takes long, as from a slow server, keeps the others waiting for a minute only', async () => {
  const slow = ['a', 'b', 'c'].map((name) => ({ ...target, source: `tenant/${name}` }));
  await dieReading([...slow, target]);
  const journal = createReadingJournal(folder, clock);
  let answer = () => {};
  const isAnswered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const readings = slow.map((one) => journal.reading(one, () => isAnswered));

  const read = journal.reading(target, async () => 'read');
  for (let minutes = 0; minutes < 2; minutes += 1) {
    await setImmediate();
    for (const end of [...timers]) end();
  }

  expect(await read).toBe('read');
  answer();
  await Promise.all(readings);
});

test('a death in the future, by a clock that was ahead, counts from now', async () => {
  const now = nowMs;
  nowMs += 10 * 365 * 24 * 60 * 60 * 1000;
  await dieReading([target]);
  await dieReading([target]);
  await expect(read(target)).rejects.toMatchObject({ code: 'ReadingSkipped' });

  nowMs = now;
  const journal = createReadingJournal(folder, clock);
  const again = () => journal.reading(target, async () => 'read');
  await expect(again()).rejects.toMatchObject({ message: expect.stringContaining('2026-01-01T00:02:00') });
  nowMs += limits.firstSkippedReadingMs;

  expect(await again()).toBe('read');
});

test('files that are half-written, foreign or directories are removed', async () => {
  await dieReading([target]);
  const [name = ''] = readdirSync(folder);
  writeFileSync(join(folder, name), '{"target":{"source":"sh');
  writeFileSync(join(folder, `${name}.new`), '{}');
  writeFileSync(join(folder, 'x.json'), 'null');
  expect(await read(target)).toBe('read');
  expect(readdirSync(folder)).toEqual([]);
});

test('an unusable folder does not prevent reading', async () => {
  rmSync(folder, { recursive: true });
  writeFileSync(folder, '');
  expect(await read(target)).toBe('read');
});
