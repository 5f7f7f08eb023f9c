import { expect, test } from 'vitest';
import { measureEffort } from '../../../test/effort.ts';
import { slack } from './slack.ts';

test('an answer on which a pattern would backtrack is read quickly', () => {
  const effort = measureEffort();
  expect(slack.refusal?.('"ok":false'.repeat(90_000))).toMatchObject({ code: 'ok: false' });
  expect(effort()).toBeLessThan(100);
});
