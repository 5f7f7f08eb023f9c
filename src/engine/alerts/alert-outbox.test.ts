import { afterEach, expect, test } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { AlertState, Incident } from '../../api/incident.ts';
import type { AlertAnswer, AlertNews } from '../../contracts/notifications.ts';
import { createVirtualClock, settle } from '../virtual-clock.test-support.ts';
import { type AlertOutbox, createAlertOutbox } from './alert-outbox.ts';

const sent: AlertAnswer = { kind: 'sent' };
const later: AlertAnswer = { kind: 'failed', detail: 'chat.example.com answered 503', final: false };
const never: AlertAnswer = { kind: 'failed', detail: 'chat.example.com answered 404', final: true };
const outboxes: AlertOutbox[] = [];

afterEach(async () => {
  await Promise.all(outboxes.splice(0).map((outbox) => outbox.stop()));
});

function incident(alerts: AlertState[], key = 'one'): Incident {
  return {
    key,
    time: '2026-01-01T00:00:00.000Z',
    outcome: 'Reverted',
    severity: 'error',
    reason: 'ChecksFailed',
    message: 'it was reverted',
    commit: '',
    serving: [],
    alerts,
  };
}

function canaryWith(...incidents: Incident[]): Canary & { status: CanaryStatus } {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
    spec: {
      targetRef: { kind: 'Deployment', name: 'web' },
      service: { port: 80 },
      analysis: {
        interval: '1m',
        threshold: 1,
        iterations: 1,
        alerts: ['chat', 'pager'].map((name) => ({ name, providerRef: { name } })),
      },
    } as Canary['spec'],
    status: { incidents },
  };
}

/** An outbox over receivers that give these answers in turn, and then take everything, or what `take` says. */
function world(
  answers: AlertAnswer[] = [],
  { take, random = () => 1 }: { take?: (nowMs: number) => AlertAnswer; random?: () => number } = {},
) {
  const clock = createVirtualClock();
  const got: string[] = [];
  const receivers: Array<string | undefined> = [];
  const woken: string[] = [];
  const events: string[] = [];
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const outbox = createAlertOutbox({
    clock,
    random,
    log: quiet,
    events: { emit: (_, { reason, message }) => events.push(`${reason}: ${message}`) },
    alerts: {
      async send({ alert, incident: { key }, later = [], endsOnly }: AlertNews) {
        const after = later.map((one) => ` after ${one.key}`).join('');
        receivers.push(alert?.providerRef.name);
        got.push(`${alert?.name ?? 'by default'} ${key}${after}${endsOnly ? ' (ends only)' : ''}`);
        return answers.shift() ?? take?.(clock.nowMs()) ?? sent;
      },
    },
    onAnswer: (key) => woken.push(key),
  });
  outboxes.push(outbox);
  return { clock, got, receivers, woken, events, outbox };
}

function statesAfter(outbox: AlertOutbox, canary: Canary & { status: CanaryStatus }): AlertState[] {
  return outbox.answered(canary, canary.status).incidents?.[0]?.alerts ?? [];
}

test('what waits in the status is sent once to each alert, however often the status is looked at', async () => {
  const { got, woken, outbox } = world();
  const canary = canaryWith(incident(['chat', 'pager'].map((name) => ({ name, state: 'waiting' }))));
  outbox.send(canary);
  outbox.send(canary);
  await settle();
  outbox.send(canary);
  await settle();
  expect(got).toEqual(['chat one', 'pager one']);
  expect(woken).toContain('shop/web');
  expect(statesAfter(outbox, canary)).toEqual([
    { name: 'chat', state: 'sent' },
    { name: 'pager', state: 'sent' },
  ]);
});

test('what the status says was answered is never sent again, by another process either', async () => {
  const { got, outbox } = world();
  outbox.send(
    canaryWith(
      incident([
        { name: 'chat', state: 'sent' },
        { name: 'pager', state: 'failed' },
      ]),
    ),
  );
  await settle();
  expect(got).toEqual([]);
});

test('a receiver that is down is asked again with growing pauses until it takes the alert', async () => {
  const { clock, got, outbox, events } = world([later, later, later]);
  const canary = canaryWith(incident([{ name: 'chat', state: 'waiting' }]));
  outbox.send(canary);
  await clock.advance(0);
  expect(got).toHaveLength(1);
  await clock.advance(1_000);
  expect(got).toHaveLength(2);
  await clock.advance(1_999);
  expect(got).toHaveLength(2);
  await clock.advance(4_001);
  expect(got).toHaveLength(4);
  expect(statesAfter(outbox, canary)).toEqual([{ name: 'chat', state: 'sent' }]);
  expect(events).toEqual([]);
});

test('an alert that comes late knows what was reported meanwhile', async () => {
  const { clock, got, outbox } = world([later]);
  const waiting: AlertState[] = [{ name: 'chat', state: 'waiting' }];
  outbox.send(canaryWith(incident(waiting)));
  await clock.advance(0);
  outbox.send(canaryWith(incident(waiting, 'two'), incident(waiting)));
  await clock.advance(1_000);
  expect(got).toEqual(['chat one', 'chat two', 'chat one after two']);
});

test('an alert that waits goes to the receiver that the Canary names by then', async () => {
  const { clock, receivers, outbox } = world([later]);
  const waiting = incident([{ name: 'chat', state: 'waiting' }]);
  const canary = canaryWith(waiting);
  outbox.send(canary);
  await clock.advance(0);
  const corrected = canaryWith(waiting);
  corrected.spec.analysis.alerts = [{ name: 'chat', providerRef: { name: 'new-chat' } }];
  outbox.send(corrected);
  await clock.advance(1_000);
  expect(receivers).toEqual(['chat', 'new-chat']);
});

test('an alert that cannot be sent ends with an event that says why', async () => {
  const { got, outbox, events } = world([never]);
  const canary = canaryWith(incident([{ name: 'chat', state: 'waiting' }]));
  outbox.send(canary);
  await settle();
  expect(got).toHaveLength(1);
  expect(statesAfter(outbox, canary)).toEqual([
    { name: 'chat', state: 'failed', detail: 'chat.example.com answered 404' },
  ]);
  expect(events).toEqual([
    'AlertNotSent: alert chat (ChecksFailed) could not be sent: chat.example.com answered 404',
  ]);
});

test('a receiver that takes one alert a second gets all of many that come at once', async () => {
  let takesFromMs = 0;
  const take = (nowMs: number): AlertAnswer => {
    if (nowMs < takesFromMs)
      return { kind: 'failed', detail: 'answered 429', final: false, retryAfterMs: 1_000 };
    takesFromMs = nowMs + 1_000;
    return sent;
  };
  let seed = 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const { clock, outbox } = world([], { take, random });
  const many = Array.from({ length: 100 }, (_, index) =>
    incident([{ name: 'chat', state: 'waiting' }], `incident-${index}`),
  );
  const canary = canaryWith(...many);
  outbox.send(canary);
  await clock.advance(900_000);
  const states = outbox.answered(canary, canary.status).incidents?.flatMap(({ alerts = [] }) => alerts) ?? [];
  expect(states.filter(({ state }) => state !== 'sent')).toEqual([]);
});

test('what a receiver asks to wait is waited for', async () => {
  const { clock, got, outbox } = world([{ ...later, retryAfterMs: 30_000 }]);
  outbox.send(canaryWith(incident([{ name: 'chat', state: 'waiting' }])));
  await clock.advance(30_999);
  expect(got).toHaveLength(1);
  await clock.advance(1);
  expect(got).toHaveLength(2);
});

test('trying has an end', async () => {
  const { clock, got, outbox } = world(Array.from({ length: 20 }, () => later));
  const canary = canaryWith(incident([{ name: 'chat', state: 'waiting' }]));
  outbox.send(canary);
  await clock.advance(3_600_000);
  expect(got).toHaveLength(10);
  expect(statesAfter(outbox, canary)).toMatchObject([{ state: 'failed' }]);
});

test('stopping ends the attempts and leaves the alert waiting', async () => {
  const { clock, outbox } = world([later]);
  const canary = canaryWith(incident([{ name: 'chat', state: 'waiting' }]));
  outbox.send(canary);
  await clock.advance(0);
  await outbox.stop();
  expect(statesAfter(outbox, canary)).toEqual([{ name: 'chat', state: 'waiting' }]);
});

test('a flood is bounded, and nothing of it is lost', async () => {
  const { got, outbox, woken } = world();
  const many = Array.from({ length: 250 }, (_, index) =>
    incident([{ name: 'chat', state: 'waiting' }], `incident-${index}`),
  );
  const canary = canaryWith(...many);
  outbox.send(canary);
  await settle();
  expect(got).toHaveLength(200);
  expect(woken).toContain('shop/web');
  outbox.send(canary);
  await settle();
  expect(new Set(got).size).toBe(250);
});

test('receivers of one namespace that are down keep back no alert of another', async () => {
  const { clock, got, outbox } = world(Array.from({ length: 200 }, () => later));
  const many = Array.from({ length: 200 }, (_, index) =>
    incident([{ name: 'chat', state: 'waiting' }], `incident-${index}`),
  );
  const other = canaryWith(incident([{ name: 'pager', state: 'waiting' }]));
  other.metadata.namespace = 'bank';
  outbox.send(canaryWith(...many));
  await clock.advance(0);

  outbox.send(other);
  await clock.advance(0);

  expect(got.at(-1)).toBe('pager one');
  expect(statesAfter(outbox, other)).toEqual([{ name: 'pager', state: 'sent' }]);
});

test('an alert to the receiver of the flags needs no alert in the spec', async () => {
  const { got, outbox } = world();
  const canary = canaryWith(incident([{ name: '(default)', state: 'waiting' }]));
  outbox.send(canary);
  await settle();
  expect(got).toEqual(['by default one']);
  expect(statesAfter(outbox, canary)).toEqual([{ name: '(default)', state: 'sent' }]);
});

test('a Canary that is gone ends what was told of it, also what is still being sent', async () => {
  const { clock, got, outbox } = world([later]);
  outbox.send(canaryWith(incident([{ name: 'chat', state: 'waiting' }])));
  await settle();
  outbox.forget('shop/web');
  outbox.forget('shop/web');
  await settle();
  await clock.advance(60_000);
  expect(got).toEqual(['chat one', 'chat deleted/u1 (ends only)', 'chat one after deleted/u1']);
});

test('a Canary that is gone ends nothing where a success did, or nothing bad was told', async () => {
  const { got, outbox } = world();
  const told = incident([{ name: 'chat', state: 'sent' }]);
  const success: Incident = { ...told, key: 'two', outcome: 'Succeeded', severity: 'info' };
  for (const incidents of [[success, told], [success], []]) {
    outbox.send(canaryWith(...incidents));
    outbox.forget('shop/web');
  }
  await settle();
  expect(got).toEqual([]);
});

test('an alert for which there was no place waits no longer than the ends of deleted Canaries that took it', async () => {
  const { got, outbox, woken } = world();
  for (let index = 0; index < 200; index += 1) {
    const canary = canaryWith(incident([{ name: 'chat', state: 'sent' }]));
    canary.metadata.name = `gone-${index}`;
    outbox.send(canary);
    outbox.forget(`shop/gone-${index}`);
  }
  const canary = canaryWith(incident([{ name: 'pager', state: 'waiting' }]));
  outbox.send(canary);

  await settle();

  expect(woken).toEqual(['shop/web']);
  outbox.send(canary);
  await settle();
  expect(got.at(-1)).toBe('pager one');
});

test('an end for which there is no place is named, since nothing is left to send it from', async () => {
  const { events, outbox } = world([], { take: () => later });
  for (let index = 0; index < 201; index += 1) {
    const canary = canaryWith(incident([{ name: 'chat', state: 'sent' }]));
    canary.metadata.name = `gone-${index}`;
    outbox.send(canary);
    outbox.forget(`shop/gone-${index}`);
  }

  await settle();

  expect(events).toEqual([expect.stringContaining('too many alerts of its namespace are being sent')]);
});
