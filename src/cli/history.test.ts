import { expect, it } from 'vitest';
import { canaryLabel } from '../api/kubernetes.ts';
import { localError } from '../cluster/errors.ts';
import { recordAnnotations, recordName } from '../release/record.ts';
import { history } from './history.ts';
import type { RequestClient } from './requests/request.ts';

it('who may not list Secrets still sees the last known good release, which the status names', async () => {
  const [good, next] = ['a'.repeat(40), 'b'.repeat(40)];
  const status = {
    lastKnownGood: { digest: 'v1:a', commit: good, promotedTime: '2026-01-01T00:00:00.000Z' },
    run: { digest: 'v1:b', commit: next },
    incidents: [{ commit: next, subject: 'Sell more', outcome: 'Started' }],
    serving: [
      { workload: 'web-primary', digest: 'v1:a', commit: good, subject: 'Sell', weight: 100, ready: 2 },
    ],
  };
  const metadata = { namespace: 'shop', name: 'web' };
  const client = {
    get: async () => ({ apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status }),
    list: async () => {
      throw localError('forbidden', 'list secrets in shop: 403 Forbidden');
    },
  } as unknown as RequestClient;
  const screen = { columns: 100, colour: false };
  const options = { ...metadata, format: 'text', screen, nowMs: Date.parse('2026-01-02T00:00:00Z') } as const;

  const { stdout, stderr } = await history(client, options);

  expect(stdout).toMatch(/^bbbbbbb +UnderWay.* Sell more /m);
  expect(stdout).toMatch(/^aaaaaaa +LastKnownGood +1d ago +Sell +v1:a$/m);
  expect(stderr).toContain('stored releases are not shown');
});

it('a record whose release another one took the place of is not said to have failed', async () => {
  const canary = { namespace: 'shop', name: 'web' };
  const record = (digest: string) => ({
    metadata: {
      namespace: 'shop',
      name: recordName(canary, digest),
      labels: { [canaryLabel]: 'web' },
      annotations: { [recordAnnotations.digest]: digest, [recordAnnotations.parts]: '1' },
    },
  });
  const rejected = [{ digest: 'v1:c', commit: 'c'.repeat(40), reason: 'ChecksFailed', time: '' }];
  const client = {
    get: async () => ({ metadata: canary, status: { rejected } }),
    list: async () => ({ items: ['v1:b', 'v1:c'].map(record) }),
  } as unknown as RequestClient;
  const options = { ...canary, format: 'json', screen: { columns: 100, colour: false }, nowMs: 0 } as const;

  const { stdout } = await history(client, options);

  expect(JSON.parse(stdout).releases).toMatchObject([
    { digest: 'v1:b', state: 'NotProven' },
    { digest: 'v1:c', state: 'Failed', rejected: 'ChecksFailed' },
  ]);
});
