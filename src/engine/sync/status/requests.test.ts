import { expect, test } from 'vitest';
import type { Source } from '../../../api/source/source.ts';
import { isApproved } from '../poll/approvals.ts';
import { answered } from './requests.ts';

const approve = `rewrite:${'c'.repeat(40)}`;
const source: Source = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'shop', annotations: { 'holdfast.dev/approve': approve } },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' } },
};

test('an approval of what does not wait yet, as Git cannot be read, says that it counts later', () => {
  const head = { commit: 'b'.repeat(40), subject: 's', author: 'a', time: '2026-03-01T12:00:00Z' };
  const problem = { condition: 'Fetched', reason: 'Unreachable', message: 'connection refused' } as const;

  const { answers } = answered(source, { head, problem, requests: { sync: undefined, approve } }, 0);

  expect(answers?.approve).toMatchObject({ result: 'Refused', reason: 'Stale' });
  expect(answers?.approve?.message).toMatch(
    /Git cannot be read at the moment; should it come to wait, it counts as approved as long as the annotation stays$/,
  );
  const waiting = { verb: 'rewrite', hashes: ['c'.repeat(40)], commit: 'c'.repeat(40) } as const;
  expect(isApproved({ ...source, status: { answers } }, {}, waiting)).toBe(true);
});
