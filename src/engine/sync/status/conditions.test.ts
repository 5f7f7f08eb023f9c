import { expect, it } from 'vitest';
import { healthyNews } from './conditions.ts';

it.each([
  [0, '0 Canaries'],
  [1, '1 Canary'],
  [2, '2 Canaries'],
])('the health of a Source with %d Canaries counts them', (count, words) => {
  const canaries = new Set(Array.from({ length: count }, (_, index) => `shop/web-${index}`));

  const news = healthyNews({ snapshot: {} as never, health: undefined, canaries }, []);

  expect(news.message).toBe(`${words}, none rejected or held`);
});
