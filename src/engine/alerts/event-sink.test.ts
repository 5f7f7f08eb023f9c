import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { createVirtualClock, settle } from '../virtual-clock.test-support.ts';
import { createEventSink } from './event-sink.ts';

const canary = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'web', namespace: 'shop', uid: 'u-1', resourceVersion: '7' },
};

function sinkInto(written: KubernetesObject[], isRefused = false) {
  const logged: string[] = [];
  const say = (_: object, text: string) => void logged.push(text);
  const log = { debug: say, info: say, warn: say, error: say };
  const cluster = {
    async create(object: KubernetesObject) {
      if (isRefused) throw new Error('no right');
      written.push(object);
      return object;
    },
  };
  return { sink: createEventSink({ cluster, clock: createVirtualClock(), log, instance: 'pod-1' }), logged };
}

test('news is an Event of events.k8s.io about the object, with its own reason', async () => {
  const written: KubernetesObject[] = [];
  sinkInto(written).sink.emit(canary, { type: 'Warning', reason: 'CheckFailed', message: 'rate 90 < 99' });
  await settle();
  expect(written).toEqual([
    {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: expect.stringMatching(/^web\.[0-9a-f]{16}$/), namespace: 'shop' },
      eventTime: expect.stringMatching(/\.\d{6}Z$/),
      type: 'Warning',
      reason: 'CheckFailed',
      action: 'CheckFailed',
      note: 'rate 90 < 99',
      regarding: { apiVersion: canary.apiVersion, kind: 'Canary', ...canary.metadata },
      reportingController: 'holdfast.dev/holdfast',
      reportingInstance: 'pod-1',
    },
  ]);
});

test('the same news right after itself is no news; after other news it is', async () => {
  const written: KubernetesObject[] = [];
  const { sink } = sinkInto(written);
  for (const reason of ['Waiting', 'Waiting', 'GateOpened', 'Waiting'])
    sink.emit(canary, { type: 'Normal', reason, message: 'words' });
  await settle();
  expect(written.map(({ reason }) => reason)).toEqual(['Waiting', 'GateOpened', 'Waiting']);
});

test('a note is cut by its bytes, and never within a character', async () => {
  const written: KubernetesObject[] = [];
  sinkInto(written).sink.emit(canary, { type: 'Normal', reason: 'Held', message: 'ä€😀'.repeat(300) });
  await settle();
  const note = String((written[0] as { note?: unknown } | undefined)?.note);
  expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1_024);
  expect(Buffer.byteLength(note)).toBeGreaterThan(1_020);
  expect('ä€😀'.repeat(300).startsWith(note)).toBe(true);
});

test('long words are cut to what the API server takes', async () => {
  const written: KubernetesObject[] = [];
  const named = { ...canary, metadata: { ...canary.metadata, name: 'w'.repeat(253) } };
  sinkInto(written).sink.emit(named, { type: 'Normal', reason: 'Held', message: 'x'.repeat(5_000) });
  await settle();
  expect(written[0]?.metadata.name.length).toBeLessThanOrEqual(253);
  expect(String(written[0]?.note).length).toBeLessThanOrEqual(1_024);
});

test('a refused Event stops nobody', async () => {
  const { sink, logged } = sinkInto([], true);
  sink.emit(canary, { type: 'Normal', reason: 'Held', message: 'words' });
  await settle();
  expect(logged).toEqual(['words', 'could not write an Event']);
});

test('a flood of one namespace keeps no Event of another from being written', async () => {
  const written: KubernetesObject[] = [];
  const { sink } = sinkInto(written);
  const other = { ...canary, metadata: { ...canary.metadata, namespace: 'bank', uid: 'u-2' } };
  for (let index = 0; index < 300; index += 1)
    sink.emit(canary, { type: 'Warning', reason: 'AlertNotSent', message: `alert ${index}` });

  sink.emit(other, { type: 'Warning', reason: 'Reverted', message: 'a check failed' });
  await settle();

  expect(written.filter(({ metadata }) => metadata.namespace === 'shop')).toHaveLength(200);
  expect(written.filter(({ metadata }) => metadata.namespace === 'bank')).toHaveLength(1);
});
