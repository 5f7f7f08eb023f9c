import { expect, test } from 'vitest';
import { createRoom, heldBytes } from './room.ts';

test('one namespace with many large Sources takes no more than its share, and others still find theirs', () => {
  const room = createRoom(100);
  room.take('mallory/a', 60);
  room.take('mallory/b', 30);
  expect(() => room.take('mallory/c', 30)).toThrow(
    'the objects of the Sources of namespace mallory would take 1 MiB of memory, more than its share',
  );
  room.take('shop/web', 50);
  expect(() => room.take('mallory/b', 40)).toThrow(expect.objectContaining({ reason: 'TooLarge' }));
  expect(() => room.take('shop/cart', 1)).toThrow('of namespace shop');
});

test('what a Source held before, and what one held that is gone, is no part of it', () => {
  const room = createRoom(100);
  room.take('shop/web', 90);
  room.take('shop/web', 95);
  room.forget('shop/web');
  room.take('shop/cart', 99);
});

test('many small values count as more than their text', () => {
  const small = Array.from({ length: 1_000 }, () => ({}));
  expect(heldBytes(small)).toBeGreaterThan(10 * JSON.stringify(small).length);
  expect(heldBytes({ text: 'x'.repeat(1_000) })).toBeLessThan(1_100);
});
