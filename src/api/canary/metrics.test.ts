import { expect, test } from 'vitest';
import { metricsById, nameOfMetric } from './metrics.ts';

test('metrics of one name are told apart by their place in the list', () => {
  const metrics = ['latency', 'errors', 'latency', 'latency (2)', 'latency'].map((name, place) => ({
    name,
    query: `${place}`,
  }));
  const found = metricsById(metrics);
  expect([...found].map(([id, { query }]) => `${id} is ${query}`)).toEqual([
    'latency is 0',
    'errors is 1',
    'latency (2) is 2',
    'latency (2) (2) is 3',
    'latency (3) is 4',
  ]);
  expect(metricsById(undefined).size).toBe(0);
  expect([...found.keys()].slice(0, 3).map(nameOfMetric)).toEqual(['latency', 'errors', 'latency']);
});
