import { expect, test } from 'vitest';
import type { Source } from '../../../api/source/source.ts';
import type { SourceState } from '../context/context.ts';
import { isApproved, usedUpAt } from './approvals.ts';

function source(approve: string, status: Source['status'] = {}): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'shop', annotations: { 'holdfast.dev/approve': approve } },
    spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' } },
    status,
  };
}

const rewrite = { verb: 'rewrite', hashes: ['c1'], commit: 'c1' } as const;
const prune = { verb: 'prune', hashes: ['p1', 'p2'], commit: 'c1' } as const;
const waits = { condition: 'Ready', reason: 'HistoryRewritten', message: '' } as const;
const asks: Source['status'] = {
  conditions: [{ type: 'Pruned', status: 'False', reason: 'PruneNeedsApproval', message: '' }],
};

test.each(['prune:p1', 'prune:p2', 'prune:p1@again'])(
  '%s opens the deletions that it names alone',
  (value) => {
    expect(isApproved(source(value), {}, prune)).toBe(true);
    expect(isApproved(source(value), {}, rewrite)).toBe(false);
    expect(isApproved(source(value), {}, { ...prune, hashes: ['p3'] })).toBe(false);
  },
);

test('rewrite:COMMIT opens the history that it names alone', () => {
  expect(isApproved(source('rewrite:c1'), {}, rewrite)).toBe(true);
  expect(isApproved(source('rewrite:c1'), {}, { ...rewrite, hashes: ['c2'] })).toBe(false);
  expect(isApproved(source('rewrite:c1'), {}, prune)).toBe(false);
});

test.each(['c1', 'c1@again'])(
  'a plain commit, %s, opens the one thing that waits, and nothing else after it',
  (value) => {
    const state: Pick<SourceState, 'approval'> = {};
    expect(isApproved(source(value), state, rewrite)).toBe(true);
    expect(isApproved(source(value), state, prune)).toBe(false);
    expect(isApproved(source(value, state), {}, prune)).toBe(false);
    expect(isApproved(source(value, state), {}, rewrite)).toBe(true);
    expect(isApproved(source('c1@once more', state), {}, prune)).toBe(true);
    expect(isApproved(source('c2'), {}, rewrite)).toBe(false);
  },
);

test.each(['rewrite:c1', 'c1', 'c1@again'])(
  '%s opens a history until that is followed, and no return to it later, also after a restart',
  (value) => {
    const state: Pick<SourceState, 'approval'> = {};
    isApproved(source(value), state, rewrite);
    usedUpAt(source(value), state, 'before');
    expect(isApproved(source(value), state, rewrite)).toBe(true);
    usedUpAt(source(value), state, 'c1');
    expect(isApproved(source(value), state, rewrite)).toBe(false);
    expect(isApproved(source(value, state), {}, rewrite)).toBe(false);
    expect(isApproved(source('rewrite:c1@once more', state), {}, rewrite)).toBe(true);
  },
);

test('while a rewritten history and deletions wait, a plain commit opens neither', () => {
  expect(isApproved(source('c1', asks), {}, rewrite)).toBe(false);
  expect(isApproved(source('c1'), { problem: waits }, prune)).toBe(false);
  expect(isApproved(source('prune:p1'), { problem: waits }, prune)).toBe(true);
});
