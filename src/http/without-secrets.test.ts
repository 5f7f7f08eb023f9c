import { expect, test } from 'vitest';
import { measureEffort } from '../../test/effort.ts';
import { withoutSecrets } from './without-secrets.ts';

test('every secret is taken out, the longer of two that overlap first', () => {
  expect(withoutSecrets('bad token s3cr3t-token, user s3cr3t', ['s3cr3t', 's3cr3t-token'])).toBe(
    'bad token ***, user ***',
  );
});

test('a secret that the end of a long answer cuts is not shown in part', () => {
  const secret = 's3cr3t'.repeat(20);
  const shown = withoutSecrets(`${secret} ${'no '.repeat(280)}${secret}`, [secret]);
  expect(shown).toMatch(/^\*\*\* no no /);
  expect(shown).not.toContain('s3cr');
});

test('a long secret that nearly fits at each place of a long answer takes no time', () => {
  const half = 'a'.repeat(100_000);
  const effort = measureEffort();
  const shown = withoutSecrets('a'.repeat(500_000), [`${half}b${half}`]);
  expect(shown.length).toBeLessThanOrEqual(1_000);
  expect(effort()).toBeLessThan(100);
});
