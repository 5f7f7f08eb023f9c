import { expect, test } from 'vitest';
import type { Canary } from '../../../api/canary/canary.ts';
import { drill, findingOf } from './drill.ts';
import { writeDrillCondition } from './drill-schedule.ts';
import type { DrillParts } from './objects.ts';

function failure(kind: string, message: string, lacksRight = false): Error {
  return Object.assign(new Error(message), { kind, lacksRight });
}

test('quota and pod security are findings, missing rights and webhooks without dry-run are not', () => {
  const of = (...why: Parameters<typeof failure>) => findingOf('Pod shop/web', failure(...why));
  expect(of('forbidden', 'pods "web" is forbidden: exceeded quota: small').finding?.reason).toBe('Forbidden');
  expect(of('forbidden', 'User "x" cannot create resource "pods"', true).unseen?.why).toMatch(/not allowed/);
  expect(of('forbidden', "(the server's message is omitted)", true).unseen?.why).toMatch(/not allowed/);
  expect(of('invalid', 'admission webhook "w" does not support dry run').unseen?.why).toMatch(/webhook/);
  expect(of('unknownKind', 'no kind Foo').finding?.object).toBe('Pod shop/web');
});

test('a server that does not answer says nothing about the release', () => {
  for (const kind of ['timeout', 'transient', 'tooManyRequests', 'unauthorized'])
    expect(() => findingOf('Pod shop/web', failure(kind, 'later'))).toThrow('later');
});

test('a record that may not be read says nothing about the release', async () => {
  const lastKnownGood = { digest: 'v1:a', commit: '1'.repeat(40), record: 'r', promotedTime: '' };
  const canary = { metadata: { namespace: 'shop', name: 'web' }, status: { lastKnownGood } };
  const load = async () => {
    throw failure('forbidden', "get Secret shop/r: 403 (the server's message is omitted)", true);
  };
  const parts = { records: { load } } as unknown as DrillParts;
  await expect(drill(parts, canary as unknown as Canary)).rejects.toThrow('get Secret shop/r: 403');
});

test('the condition of a drill that passed names what was not tested', async () => {
  const lastKnownGood = { digest: 'v1:a', commit: '1'.repeat(40), record: 'r', promotedTime: '' };
  const canary = { metadata: { namespace: 'shop', name: 'web' }, status: { lastKnownGood } };
  const patched: object[] = [];
  const cluster = {
    get: async () => undefined,
    patch: async (_: unknown, patch: { status: { conditions: object[] } }) =>
      patched.push(...patch.status.conditions),
  } as unknown as Parameters<typeof writeDrillCondition>[0];
  const release = { digest: 'v1:a', commit: '1'.repeat(40), subject: 'Sell' };
  const report = { canary: 'shop/web', release, passed: true, findings: [], objects: 4 };
  const why = 'not allowed to dry-run it: User "holdfast" cannot create resource "pods"';
  for (const unseen of [[], [{ object: 'Pod shop/web', why }]])
    await writeDrillCondition(cluster, canary as unknown as Canary, { ...report, unseen }, 0);

  const passed = { type: 'RollbackReady', status: 'True', reason: 'DrillPassed' };
  expect(patched).toMatchObject([
    { ...passed, message: expect.stringContaining('the cluster would take all 4 objects of 1111111 "Sell"') },
    {
      ...passed,
      message: expect.stringContaining(
        `nothing of 1111111 "Sell" would be refused; images were not pulled; not tested: Pod shop/web: ${why}`,
      ),
    },
  ]);
});
