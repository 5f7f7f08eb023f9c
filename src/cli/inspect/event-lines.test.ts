import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { concernOf, eventLine, inOrder } from './event-lines.ts';

const web = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    provider: 'gatewayapi:v1',
    targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    autoscalerRef: { kind: 'HorizontalPodAutoscaler', name: 'web' },
    service: { port: 80 },
    analysis: {},
  },
} as unknown as KubernetesObject;

function event(about: string, more: object = {}): KubernetesObject {
  const [kind = '', path = ''] = about.split(' ');
  const [namespace, name] = path.split('/');
  const metadata = { name: 'e', namespace: namespace ?? '', creationTimestamp: '2030-01-01T00:00:09Z' };
  return { apiVersion: 'v1', kind: 'Event', metadata, involvedObject: { kind, namespace, name }, ...more };
}

describe('the Events of a Canary', () => {
  const concerns = concernOf([web]);

  it.each([
    'Canary shop/web',
    'Deployment shop/web',
    'Deployment shop/web-primary',
    'Service shop/web-canary',
    'HTTPRoute shop/web',
    'HorizontalPodAutoscaler shop/web-primary',
    'ReplicaSet shop/web-6d5b2448f9',
    'Pod shop/web-6d5b2448f9-x7k2p',
    'Pod shop/web-primary-5c9f7bd9dc-zzzzz',
    'Pod shop/web-4796854479-x7k2p',
  ])('include that of %s', (about) => {
    expect(concerns(event(about))).toBe(true);
  });

  it.each([
    'Job shop/web-29654852',
    'Pod shop/web-29654852-x7k2p',
    'Pod shop/web-primary-29654852-x7k2p',
    'Pod shop/web-x7k2p',
    'Pod shop/web-0',
    'Pod shop/web-10-x7k2p',
    'Canary other/web',
    'Canary shop/web-shop',
    'Deployment shop/web-shop',
    'Pod shop/web',
    'Source shop/web',
    'Pod shop/web-shop-6d5b2448f9-x7k2p',
    'Pod shop/web-db-x7k2p',
    'Pod other/web-0',
    'Job shop/web-x7k2p',
    'Node web',
  ])('leave out that of %s', (about) => {
    expect(concerns(event(about))).toBe(false);
  });
});

it.each([
  ['Deployment', 40, 'primary-5c9f7bd9dc-'],
  ['Deployment', 55, '5c9f7bd9dc-'],
  ['DaemonSet', 60, ''],
])(
  'Events of pods of a %s of %i characters, whose names Kubernetes cuts, are included',
  (kind, length, rest) => {
    const name = 'b'.repeat(length);
    const targetRef = { apiVersion: 'apps/v1', kind, name };
    const canary = { ...web, spec: { ...(web.spec as object), targetRef } };
    const pod = `${`${name}-${rest}`.slice(0, 58)}x7k2p`;

    expect(concernOf([canary])(event(`Pod shop/${pod}`))).toBe(true);
    expect(concernOf([canary])(event(`Pod shop/${pod.slice(0, 50)}other-x7k2p`))).toBe(false);
  },
);

it('a Canary without a spec, which the CRD lets in, hides no Events of others', () => {
  const { apiVersion, kind } = web;
  const empty = { apiVersion, kind, metadata: { name: 'empty', namespace: 'shop' } };
  const concerns = concernOf([empty, web]);
  expect(['Canary shop/empty', 'Deployment shop/web'].map((about) => concerns(event(about)))).toEqual([
    true,
    true,
  ]);
});

it.each([
  ['apps/v1', 'StatefulSet', 'Pod shop/web-0', 'Pod shop/web-primary-6d5b2448f9-x7k2p'],
  ['apps/v1', 'DaemonSet', 'Pod shop/web-x7k2p', 'Pod shop/web-6d5b2448f9-x7k2p'],
  ['serving.knative.dev/v1', 'Service', 'Revision shop/web-00001', 'Pod shop/web-0'],
])('pods are of a Canary only as the controller of its %s %s names them', (apiVersion, kind, own, other) => {
  const targetRef = { apiVersion, kind, name: 'web' };
  const provider = kind === 'Service' ? 'knative' : 'native';
  const canary = { ...web, spec: { ...(web.spec as object), provider, targetRef } };
  const concerns = concernOf([canary]);
  expect([concerns(event(own)), concerns(event(other))]).toEqual([true, false]);
});

it('a Canary whose target cannot be rolled out has its own Events all the same', () => {
  const odd = { ...web, spec: { targetRef: { kind: 'Job', name: 'web' } } };
  const concerns = concernOf([odd]);
  expect([concerns(event('Canary shop/web')), concerns(event('Job shop/web'))]).toEqual([true, false]);
});

describe('Events as lines', () => {
  it.each([
    [
      'of a kubelet',
      {
        firstTimestamp: '2030-01-01T00:00:01Z',
        lastTimestamp: '2030-01-01T00:00:05Z',
        count: 4,
        eventTime: null,
      },
      4,
      1,
      5,
    ],
    [
      'with one time',
      { eventTime: '2030-01-01T00:00:03.000000Z', firstTimestamp: null, lastTimestamp: null },
      1,
      3,
      3,
    ],
    [
      'in a series',
      { eventTime: '2030-01-01T00:00:03Z', series: { count: 7, lastObservedTime: '2030-01-01T00:00:08Z' } },
      7,
      3,
      8,
    ],
    ['without any time', {}, 1, 9, 9],
  ])('%s have their number and times', (_, more, count, first, last) => {
    const line = eventLine(event('Pod shop/web-0', more));
    const seconds = (time: string) => new Date(time).getUTCSeconds();
    expect([line.count, seconds(line.firstTime), seconds(line.lastTime)]).toEqual([count, first, last]);
  });

  it('the same words about the same object are one line, where it was seen last', () => {
    const at = (second: number, message: string) =>
      eventLine(event('Pod shop/web-0', { message, lastTimestamp: `2030-01-01T00:00:0${second}Z` }));
    const lines = inOrder([at(5, 'a'), at(1, 'a'), at(3, 'b')]);
    expect(lines.map(({ message, count }) => `${message}${count}`)).toEqual(['b1', 'a2']);
    expect(lines[1]).toMatchObject({ lastTime: '2030-01-01T00:00:05Z' });
  });
});
