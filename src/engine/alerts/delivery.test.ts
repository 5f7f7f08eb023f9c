import { expect, test } from 'vitest';
import type { Incident } from '../../api/incident.ts';
import type { Source } from '../../api/source/source.ts';
import { createVirtualClock } from '../virtual-clock.test-support.ts';
import { createSourceAlerts } from './delivery.ts';

const incident: Incident = {
  key: 'one',
  time: '2026-01-01T00:00:00.000Z',
  outcome: 'Failed',
  severity: 'error',
  reason: 'GitUnreachable',
  message: 'Git cannot be reached',
  commit: '',
  serving: [],
};

function sourceIn(namespace: string, name: string): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name, namespace },
    spec: {
      url: 'https://git.example.com/acme/shop.git',
      ref: { branch: 'main' },
      alerts: Array.from({ length: 20 }, (_, index) => ({
        name: `chat-${index}`,
        providerRef: { name: 'chat' },
      })),
    },
  };
}

type Parts = Parameters<typeof createSourceAlerts>[0];

/** A sender that says nothing but by `alerts`, unless a test gives more. */
function startAlerts(parts: Pick<Parts, 'clock' | 'alerts'> & Partial<Parts>) {
  const say = () => undefined;
  return createSourceAlerts({
    random: () => 1,
    log: { debug: say, info: say, warn: say, error: say },
    sourceOf: () => undefined,
    events: { emit() {} },
    ...parts,
  });
}

test('the recovery of a Source is news for receivers of errors alone, too: it ends what they were told', async () => {
  const clock = createVirtualClock();
  const got: string[] = [];
  const sources = startAlerts({
    clock,
    alerts: {
      async send({ incident: { outcome } }) {
        got.push(outcome);
        return { kind: 'sent' };
      },
    },
  });
  const source = sourceIn('shop', 'one');
  const alert = { name: 'pager', severity: 'error' as const, providerRef: { name: 'pager' } };
  const pager = { ...source, spec: { ...source.spec, alerts: [alert] } };
  sources.tell(pager, { ...incident, severity: 'warn' });
  sources.tell(pager, incident);
  sources.tell(pager, { ...incident, outcome: 'Succeeded', severity: 'info' });
  await clock.advance(0);

  expect(got).toEqual(['Failed', 'Succeeded']);
  await sources.stop();
});

test('an alert of a Source that its receiver takes late is told what was reported since', async () => {
  const clock = createVirtualClock();
  const got: string[] = [];
  let isDown = true;
  const sources = startAlerts({
    clock,
    alerts: {
      async send({ incident: { outcome }, later = [] }) {
        if (isDown) return { kind: 'failed', detail: 'pager answered 503', final: false };
        got.push([outcome, ...later.map((one) => `before ${one.outcome}`)].join(' '));
        return { kind: 'sent' };
      },
    },
  });
  const alerts = [{ name: 'pager', providerRef: { name: 'pager' } }];
  const [one, other] = ['one', 'other'].map((name) => sourceIn('shop', name)) as [Source, Source];
  sources.tell({ ...one, spec: { ...one.spec, alerts } }, incident);
  await clock.advance(0);
  isDown = false;
  const end = { ...incident, outcome: 'Succeeded', severity: 'info' } as const;
  sources.tell({ ...other, spec: { ...other.spec, alerts } }, end);
  sources.tell({ ...one, spec: { ...one.spec, alerts } }, end);
  await clock.advance(60_000);

  expect(got).toEqual(['Succeeded', 'Succeeded', 'Failed before Succeeded']);
  await sources.stop();
});

test('an alert of a Source that waits goes to the receiver that the Source names by then', async () => {
  const clock = createVirtualClock();
  const receivers: string[] = [];
  const naming = (receiver: string): Source => {
    const source = sourceIn('shop', 'one');
    // Both have one name.
    const alerts = ['chat', 'pager'].map((to) => ({
      name: 'on-call',
      providerRef: { name: `${receiver}-${to}` },
    }));
    return { ...source, spec: { ...source.spec, alerts } };
  };
  let now = naming('old');
  const sources = startAlerts({
    clock,
    sourceOf: () => now,
    alerts: {
      async send({ alert }) {
        const { name = '' } = alert?.providerRef ?? {};
        receivers.push(name);
        if (name !== 'old-pager') return { kind: 'sent' };
        return { kind: 'failed', detail: 'AlertProvider shop/old-pager does not exist', final: false };
      },
    },
  });
  sources.tell(now, incident);
  await clock.advance(0);
  now = naming('new');
  await clock.advance(1_000);

  expect(receivers).toEqual(['old-chat', 'old-pager', 'new-pager']);
  await sources.stop();
});

test('receivers of one namespace that are down take no alert of a Source in another, and what finds no place is told at its Source', async () => {
  const clock = createVirtualClock();
  const got: string[] = [];
  const told: string[] = [];
  const sources = startAlerts({
    clock,
    events: { emit: ({ metadata }, { message }) => void told.push(`${metadata.name}: ${message}`) },
    alerts: {
      async send({ about }) {
        got.push(about.metadata.namespace ?? '');
        return { kind: 'failed', detail: 'chat.example.com answered 503', final: false };
      },
    },
  });
  for (let index = 0; index < 6; index += 1) sources.tell(sourceIn('shop', `source-${index}`), incident);
  await clock.advance(0);

  sources.tell(sourceIn('bank', 'one'), incident);
  await clock.advance(0);

  expect(got.filter((namespace) => namespace === 'shop')).toHaveLength(100);
  expect(got.filter((namespace) => namespace === 'bank')).toHaveLength(20);
  expect(told).toHaveLength(20);
  expect(told[0]).toBe(
    'source-5: alert chat-0 (GitUnreachable) could not be sent: too many alerts of its namespace are being sent',
  );
  await sources.stop();
});
