import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { abortEffect, confirmOn } from './effect.ts';

/** A person at a terminal, who types this as soon as a question is there; how often that was so. */
function person(...keys: string[]) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  let questions = 0;
  stderr.on('data', (chunk: Buffer) => {
    if (!chunk.toString().includes('Go on? [y/N]')) return;
    questions += 1;
    setImmediate(() => stdin.write(keys.shift() ?? ''));
  });
  const streams = { stdin, stderr } as unknown as Parameters<typeof confirmOn>[0];
  return { streams, asked: () => questions };
}

it.each([
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
])('%s at one question is the answer to those that would follow, too', async (_, key) => {
  const { streams, asked } = person('y\r', key, 'y\r');
  const confirm = confirmOn(streams, { isYes: false, isQuiet: false });

  const answers = [await confirm(['api']), await confirm(['shop']), await confirm(['web'])];

  expect(answers).toEqual([true, false, false]);
  expect(asked()).toBe(2);
});

it('no at one question leaves the others open', async () => {
  const { streams } = person('n\r', 'y\r');
  const confirm = confirmOn(streams, { isYes: false, isQuiet: false });

  expect([await confirm(['api']), await confirm(['web'])]).toEqual([false, true]);
});

const good = { digest: 'v1:1', commit: 'a'.repeat(40) };
const newer = { digest: 'v1:2', commit: 'b'.repeat(40) };

it.each([
  [
    'is reverted',
    { run: newer, lastKnownGood: good, postPromotion: { state: 'Reverting' } },
    'bbbbbbb is being taken back already, or was',
  ],
  [
    'ends',
    { run: { ...newer, ending: { phase: 'Failed' } }, lastKnownGood: good },
    'bbbbbbb is being taken back already, or was',
  ],
  [
    'proved good a moment ago',
    { run: newer, lastKnownGood: newer, postPromotion: { state: 'Verifying' } },
    'bbbbbbb is promoted and counts as good already; to go back to an earlier release: holdfast rollback -n shop canary/web',
  ],
])('nobody is asked whether to abort a release that %s', (_name, status, message) => {
  const metadata = { name: 'web', namespace: 'shop' };
  const canary = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status };
  expect(() => abortEffect(canary)).toThrow(message);
});
