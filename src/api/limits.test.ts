import { expect, it } from 'vitest';
import { beginningOf, shorten } from './limits.ts';

it('texts are cut between characters, and never within one of two code units', () => {
  expect(beginningOf('ab🚀', 3)).toBe('ab');
  expect(beginningOf('ab🚀c', 4)).toBe('ab🚀');
  expect(shorten('ab🚀cd', 4)).toBe('ab…');
  expect(shorten('a🚀cd', 4)).toBe('a🚀…');
});
