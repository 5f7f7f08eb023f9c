import { expect, test } from 'vitest';
import { slack } from './slack.ts';

test('an answer on which a pattern would backtrack is read quickly', () => {
  const started = process.cpuUsage();
  expect(slack.refusal?.('"ok":false'.repeat(90_000))).toMatchObject({ code: 'ok: false' });
  expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
});
