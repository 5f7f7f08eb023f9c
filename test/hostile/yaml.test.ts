import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostileFiles } from '../../src/render/hostile.test-support.ts';
import { type HostileReader, MOST_BYTES, MOST_CPU_SECONDS, startHostileReader } from './reader.ts';

let reader: HostileReader;

beforeAll(async () => {
  reader = await startHostileReader();
});
afterAll(() => reader.close());

test.each(Object.keys(hostileFiles))(
  'is refused with its line, in bounded time and memory: %s',
  async (name) => {
    const { read, problems, error, cpuSeconds, growthBytes } = await reader.read({ kind: 'yaml', name });

    expect(error).toBeUndefined();
    expect(read).toEqual([]);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.filter((problem) => !/^a\.yaml:\d+: ./.test(problem))).toEqual([]);
    expect(cpuSeconds).toBeLessThan(MOST_CPU_SECONDS);
    expect(growthBytes).toBeLessThan(MOST_BYTES);
  },
);
