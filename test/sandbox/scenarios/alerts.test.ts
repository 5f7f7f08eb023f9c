import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Incident } from '../../../src/api/incident.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf } from '../../objects.ts';
import { type Shop, useShops } from './shop.ts';

const shops = useShops();
let receiver: HookServer;

beforeAll(async () => {
  receiver = await startHookServer();
});
afterAll(() => receiver.close());

/** Alerts by name with the lowest severity they get; Flagger sends nothing for the empty one. */
const severities = { nothing: '', infos: 'info', warnings: 'warn', errors: 'error' } as const;
const names = Object.keys(severities) as Array<keyof typeof severities>;

function providers(): Record<string, unknown> {
  const objects = names.map((name) => ({
    apiVersion: 'flagger.app/v1beta1',
    kind: 'AlertProvider',
    metadata: { name },
    spec: { type: 'webhook', address: receiver.url(name) },
  }));
  return Object.fromEntries(objects.map((object) => [`alert-${object.metadata.name}`, object]));
}

/** What one alert was told, oldest first. */
function told(name: string): string[] {
  return receiver
    .seen<Incident>(name)
    .map(({ outcome, severity, reason }) => `${severity} ${outcome} ${reason}`);
}

/** Until the newest news is this one and every alert of it was answered. */
async function untilTold(shop: Shop, news: string): Promise<void> {
  await shop.until(`${news} is told`, ({ incidents: [latest] = [], run }) => {
    const isThis = latest && `${latest.outcome} ${latest.reason}` === news;
    return isThis === true && !run && (latest.alerts ?? []).every(({ state }) => state === 'sent');
  });
}

test('10: every end of a release is told once to whom its severity concerns; an alert without a severity gets all', async () => {
  const shop = await shops.openRunning('alerts', {
    analysis: {
      interval: '1s',
      threshold: 2,
      stepWeights: [50],
      metrics: [],
      alerts: names.map((name) => ({ name, severity: severities[name], providerRef: { name } })),
    },
    postPromotion: { metrics: [], interval: '1s', successThreshold: 1 },
    files: providers(),
  });
  const load = shop.startLoad();
  await shop.release('v2');
  await untilTold(shop, 'Succeeded Succeeded');
  const bad = await shop.release('v3', { READY: 'false' }, { canaryDeadlineSeconds: 8 });
  await untilTold(shop, 'Failed ProgressDeadlineExceeded');
  await shop.release('v2');
  await untilTold(shop, 'Succeeded Succeeded');
  await shop.release('v3', { READY: 'false' });
  await untilTold(shop, 'Failed Rejected');
  const worse = await shop.release('v4', { PRIMARY_READY: 'false' }, { primaryDeadlineSeconds: 10 });
  await untilTold(shop, 'Reverted PrimaryNotReady');
  expect(load.stop().failures).toEqual([]);
  expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');

  const all = [
    'info Initialized Initialized',
    'info Started NewRevision',
    'info Succeeded Succeeded',
    'info Started NewRevision',
    'error Failed ProgressDeadlineExceeded',
    'info Succeeded Succeeded',
    'warn Failed Rejected',
    'info Started NewRevision',
    'error Held PrimaryNotReady',
    'error Reverted PrimaryNotReady',
  ];
  expect(told('nothing')).toEqual(all);
  expect(told('infos')).toEqual(all);
  expect(told('warnings')).toEqual(all.filter((news) => !news.startsWith('info')));
  expect(told('errors')).toEqual(all.filter((news) => news.startsWith('error')));
  for (const name of names) {
    const keys = receiver.seen<Incident>(name).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  }
  const errors = receiver.seen<Incident>('errors').map(({ commit }) => commit);
  expect(errors).toEqual([bad, worse, worse]);
});
