import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { limits } from '../limits.ts';
import { packStatus, unpackStatus } from './bookkeeping.ts';
import type { CanaryStatus } from './status.ts';

const started = '2026-01-01T00:00:00.000Z';
const commit = '0123456789abcdef0123456789abcdef01234567';

function incident(outcome: 'Started' | 'Held' | 'Reverted', minute: number, more: object = {}) {
  const time = `2026-01-01T00:0${minute}:00.000Z`;
  const about = { key: `v1:1/${outcome}`, time, outcome, reason: 'NewRevision', commit };
  return { ...about, severity: 'info' as const, message: 'New revision', ...more };
}

const run = {
  digest: 'v1:1',
  commit,
  subject: 'prices',
  startTime: started,
  restartKey: '1',
  checkNumber: 3,
  weight: 20,
  stepTime: started,
  progressKey: 'a',
  standing: { route: { key: '20', since: started } },
};
const status: CanaryStatus = {
  phase: 'Progressing',
  observedGeneration: 2,
  lastAppliedCommit: commit,
  run,
  specInForce: { generation: 2, spec: { targetRef: { kind: 'Deployment', name: 'web' } } },
  incidents: [incident('Reverted', 3), incident('Held', 2), incident('Started', 1)],
};
const { shortCommit: _, ...packed } = packStatus(status);

describe('a status', () => {
  test('is read back as it was before it was packed', () => {
    expect(unpackStatus(packStatus(status))).toEqual({ ...status, shortCommit: '0123456' });
    expect(unpackStatus(packStatus({ phase: 'Initialized' }))).toMatchObject({ phase: 'Initialized' });
  });

  test('shows what people need, and packs the rest into one line', () => {
    const { progressKey: __, standing: ___, ...readable } = run;
    expect(JSON.parse(JSON.stringify(packed))).toEqual({
      phase: 'Progressing',
      observedGeneration: 2,
      lastAppliedCommit: commit,
      run: readable,
      incidents: [incident('Reverted', 3)],
      bookkeeping: expect.stringMatching(/^[A-Za-z0-9+/=]+$/),
    });
  });

  test('of a version that packs nothing is read as it is', () => {
    expect(unpackStatus(status)).toEqual(status);
  });

  test('shows the spec that is in force in place of an invalid one', () => {
    const invalid = { ...status, observedGeneration: 3 };
    expect(packStatus(invalid).specInForce).toEqual(status.specInForce);
  });

  test('shows every report whose alerts are still to be sent', () => {
    const alerts = [{ name: 'on-call', state: 'waiting' }];
    const incidents = [incident('Reverted', 3), incident('Held', 2, { alerts }), incident('Started', 1)];
    const stored = packStatus({ ...status, incidents } as CanaryStatus);
    expect(stored.incidents?.map(({ outcome }) => outcome)).toEqual(['Reverted', 'Held']);
    expect(unpackStatus(stored).incidents).toEqual(incidents);
  });

  test('that is too large to be packed is stored whole', () => {
    const spec = { text: Array.from({ length: limits.bookkeepingBytes / 8 }, (_, index) => String(index)) };
    const large = { ...status, specInForce: { generation: 2, spec } };
    expect(packStatus(large)).toEqual({ ...large, shortCommit: '0123456' });
  });
});

describe('after a downgrade and a new upgrade', () => {
  test('timers that the older version wrote are used, and none of the packed ones', () => {
    const stored = { ...packed, run: { ...packed.run, progressKey: 'b' } } as CanaryStatus;
    expect(unpackStatus(stored).run).toEqual(stored.run);
  });

  test('timers of an earlier release are not used', () => {
    const later = { ...packed.run, startTime: '2026-01-02T00:00:00.000Z' };
    expect(unpackStatus({ ...packed, run: later } as CanaryStatus).run).toEqual(later);
    expect(unpackStatus({ ...packed, run: undefined }).run).toBeUndefined();
  });

  test('the newer spec and the newer reports come first', () => {
    const specInForce = { generation: 4, spec: { targetRef: { kind: 'Deployment', name: 'api' } } };
    const newest = incident('Started', 5, { key: 'v1:2/Started' });
    const found = unpackStatus({
      ...{ ...packed, specInForce },
      incidents: [newest, ...(packed.incidents ?? [])],
    });
    expect(found.specInForce).toEqual(specInForce);
    expect(found.incidents).toEqual([newest, ...(status.incidents ?? [])]);
  });
});

test.each([
  ['no base64', '%%%'],
  ['no gzip', 'aGVsbG8='],
  ['no JSON', gzipSync('{').toString('base64')],
  ['other types', gzipSync('{"run":"none"}').toString('base64')],
  [
    'larger than any spec',
    gzipSync(JSON.stringify(' '.repeat(limits.bookkeepingBytes + 1))).toString('base64'),
  ],
])('bookkeeping that cannot be read (%s) costs what it held, and nothing else', (_name, bookkeeping) => {
  const { bookkeeping: __, ...readable } = packed;
  expect(unpackStatus({ ...packed, bookkeeping })).toEqual(readable);
});
