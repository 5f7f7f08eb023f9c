import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

const folder = resolve(import.meta.dirname, '../../docs/adr');

it('decisions are numbered once each, without a gap', () => {
  const numbers = readdirSync(folder).map((name) => Number(name.slice(0, 4)));

  expect(numbers.sort((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1));
});
