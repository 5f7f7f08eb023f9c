import { expect, test } from 'vitest';
import { createRecords } from './records.ts';

const canary = { namespace: 'shop', name: 'web' };

test('a record that cannot be read now is no reason to stop, and is asked again each time until it can be', async () => {
  let answer: Error | undefined = Object.assign(new Error('secrets is forbidden'), { kind: 'forbidden' });
  let asked = 0;
  const cluster = {
    get: async () => {
      asked += 1;
      if (answer) throw answer;
      return undefined;
    },
  };
  const records = createRecords(cluster as unknown as Parameters<typeof createRecords>[0], undefined);
  for (let time = 1; time <= 2; time += 1) {
    const problem = await records.problemOf(canary, 'v1:a', 'uid 1');
    expect(problem).toMatchObject({
      isUnread: true,
      message: expect.stringContaining('cannot be read: secrets is forbidden'),
    });
    expect(asked).toBe(time);
  }
  answer = undefined;
  expect(await records.problemOf(canary, 'v1:a', 'uid 1')).toEqual({
    message: expect.stringContaining('is gone'),
  });
  await records.problemOf(canary, 'v1:a', 'uid 1');
  expect(asked).toBe(3);
});
