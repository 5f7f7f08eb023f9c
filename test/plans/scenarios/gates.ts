import { onGateway } from '../../sandbox/holdfast-bed.ts';
import { hooksUrl } from '../git-front.ts';
import type { Act, Scenario, Seen } from '../scenario.ts';
import { sourceOf, type World } from '../world.ts';
import {
  annotate,
  byIterations,
  bySteps,
  common,
  follow,
  isAfter,
  isBackOn,
  isInitialized,
  isLive,
  isNothing,
  isUnderWay,
  push,
  release,
  sources,
  v,
  web,
} from './parts.ts';

const hook = (type: string, more: Record<string, unknown> = {}) => ({
  ...{ name: type, type, url: `${hooksUrl}/${type}`, timeout: '5s' },
  ...more,
});
const answers = (when: Act['when'], given: Readonly<Record<string, number>>): Act => ({
  when,
  act({ git }) {
    for (const [path, code] of Object.entries(given)) git.hooks.answer(path, code);
  },
});
const isIn =
  (phase: string) =>
  ({ status }: Seen) =>
    status.phase === phase;
const isRejected = ({ status }: Seen) => (status.rejected as unknown[]).length > 0;
const verifiedFor = (successThreshold: number, webhooks: unknown[] = []) => ({
  postPromotion: { interval: '10s', successThreshold, failureThreshold: 12, webhooks },
});

const configMaps = '/api/v1/namespaces/shop/configmaps';

/** Somebody freezes the namespace, or a calendar does. */
function freeze(world: World, data: Record<string, string> = {}): Promise<void> {
  const metadata = { name: 'frozen', namespace: 'shop', labels: { 'holdfast.dev/freeze': 'true' } };
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { reason: 'a test', ...data } };
  return world.send('POST', configMaps, object);
}
const unfreeze = (world: World) => world.send('DELETE', `${configMaps}/frozen`);
const isFrozen = ({ status }: Seen) =>
  ((status.conditions ?? []) as Array<{ type: string; status: string }>).some(
    ({ type, status: is }) => type === 'Frozen' && is === 'True',
  );

const receiver: Act = {
  when: isNothing,
  act: ({ send, git }) =>
    send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/alertproviders', {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'AlertProvider',
      metadata: { name: 'people', namespace: 'shop' },
      spec: { type: 'webhook', address: git.hooks.url('alerts') },
    }),
};
const telling = {
  alerts: [{ name: 'people', severity: 'info', providerRef: { name: 'people' } }],
  webhooks: [hook('post-rollout', { retries: 10 })],
};
/** A receiver that says no is not told again. */
const told = { tells: true, acts: [receiver, follow, push(1, isInitialized)] } as const;

const brokenPrimary = { PRIMARY_READY: 'false' };
const withFailure = (onFailure: string) =>
  web({ progressDeadlineSeconds: 120, postPromotion: { interval: '10s', successThreshold: 2, onFailure } });

/** The second release, whose rollback gate says yes from then on. */
function endedByGate(name: string, canary: string, when: Act['when']): Scenario {
  return release(name, [{ ...common(canary), ...v(1) }, v(2)], isBackOn(1), {
    asksHooks: true,
    acts: [
      answers(isNothing, { rollback: 403 }),
      follow,
      push(1, isInitialized),
      answers(when, { rollback: 200 }),
    ],
  });
}

/** Releases that somebody or something else holds up, lets through or ends. */
export const gates: readonly Scenario[] = [
  release(
    'release that waits at every gate',
    [
      {
        ...common(
          web(
            { ...onGateway, ...verifiedFor(2, [hook('post-promotion')]) },
            {
              ...bySteps,
              webhooks: [
                'confirm-rollout',
                'pre-rollout',
                'rollout',
                'confirm-traffic-increase',
                'confirm-promotion',
                'post-rollout',
                'event',
                'rollback',
              ].map((type) => hook(type)),
            },
          ),
        ),
        ...v(1),
      },
      v(2),
    ],
    isLive(2),
    {
      asksHooks: true,
      acts: [
        answers(isNothing, { 'confirm-rollout': 403, 'confirm-promotion': 403, rollback: 403 }),
        follow,
        push(1, isInitialized),
        answers(isIn('Waiting'), { 'confirm-rollout': 200 }),
        answers(isIn('WaitingPromotion'), { 'confirm-promotion': 200 }),
      ],
    },
  ),
  endedByGate(
    'release that the rollback gate ends',
    web(onGateway, { ...bySteps, webhooks: [hook('rollback'), hook('pre-rollout')] }),
    ({ status }) => Number(status.canaryWeight) > 0,
  ),
  endedByGate(
    'release that the rollback gate ends after its promotion',
    web(verifiedFor(20), { ...byIterations, webhooks: [hook('rollback')] }),
    isAfter('Verifying'),
  ),
  release(
    'gate that nobody opens before its deadline',
    [
      {
        ...common(web({}, { ...byIterations, webhooks: [hook('confirm-promotion', { deadline: '3m' })] })),
        ...v(1),
      },
      v(2),
    ],
    isBackOn(1),
    {
      asksHooks: true,
      acts: [answers(isNothing, { 'confirm-promotion': 403 }), follow, push(1, isInitialized)],
    },
  ),
  release(
    'webhook that says no after the promotion',
    [
      {
        ...common(web(verifiedFor(20, [hook('post-promotion')]))),
        ...v(1),
      },
      v(2),
    ],
    isBackOn(1),
    {
      asksHooks: true,
      acts: [
        follow,
        push(1, isInitialized),
        answers(isAfter('Verifying'), { 'post-promotion': 500 }),
        answers(isRejected, { 'post-promotion': 200 }),
      ],
    },
  ),
  release('release that waits for its window', [{ ...common(), ...v(1) }, v(2)], isLive(2), {
    acts: [
      {
        when: isNothing,
        act: (world) =>
          world.send(
            'POST',
            sources,
            // Clocks that are off by whole hours see the same windows.
            sourceOf(world, 'shop', {
              windows: [{ kind: 'allow', schedule: '0 */5 * * * *', duration: '30s' }],
            }),
          ),
      },
      push(1, isInitialized),
    ],
  }),
  release('release that is frozen by a calendar', [{ ...common(), ...v(1) }, v(2)], isLive(2), {
    acts: [
      follow,
      {
        when: isInitialized,
        act: (world) => freeze(world, { windows: '[{kind: deny, schedule: "30 * * * * *", duration: 20s}]' }),
      },
      push(1, isNothing),
      { when: isLive(2), act: unfreeze },
    ],
  }),
  release('release that is frozen on its way', [{ ...common(), ...v(1) }, v(2)], isLive(2), {
    acts: [
      follow,
      push(1, isInitialized),
      { when: isUnderWay, act: (world) => freeze(world) },
      { when: isFrozen, act: unfreeze },
    ],
  }),
  release(
    'release that is suspended on its way',
    [{ ...common(), ...v(1) }, v(2), common(web({ suspend: true })), common()],
    isLive(2),
    {
      acts: [
        follow,
        push(1, isInitialized),
        push(2, isUnderWay),
        push(3, ({ canary: found }) => (found?.spec as { suspend?: boolean } | undefined)?.suspend === true),
      ],
    },
  ),
  release(
    'release that goes back in a freeze',
    [{ ...common(web(verifiedFor(20, [hook('post-promotion')]))), ...v(1) }, v(2)],
    isBackOn(1),
    {
      asksHooks: true,
      acts: [
        follow,
        push(1, isInitialized),
        { when: isAfter('Verifying'), act: (world) => freeze(world) },
        answers(isAfter('Verifying'), { 'post-promotion': 500 }),
        answers(isRejected, { 'post-promotion': 200 }),
      ],
    },
  ),
  release(
    'newer commit while a gate is closed',
    [{ ...common(web({}, { ...byIterations, webhooks: [hook('confirm-rollout')] })), ...v(1) }, v(2), v(3)],
    isLive(3),
    {
      asksHooks: true,
      historyMayDiffer: true,
      acts: [
        answers(isNothing, { 'confirm-rollout': 403 }),
        follow,
        push(1, isInitialized),
        push(2, isIn('Waiting')),
        answers(({ status }) => String(status.message).includes('commit 3'), { 'confirm-rollout': 200 }),
      ],
    },
  ),
  release(
    'release that people are told of',
    [{ ...common(web({}, { ...byIterations, ...telling })), ...v(1) }, v(2)],
    isLive(2),
    told,
  ),
  release(
    'bad release that people are told of',
    [
      { ...common(web({ progressDeadlineSeconds: 120 }, { ...byIterations, ...telling })), ...v(1) },
      v(2, brokenPrimary),
    ],
    isBackOn(1),
    told,
  ),
  release(
    'newer commit after a release that is held',
    [{ ...common(withFailure('hold')), ...v(1) }, v(2, brokenPrimary), v(3)],
    isLive(3),
    { acts: [follow, push(1, isInitialized), push(2, isAfter('Held'))] },
  ),
  release(
    'newer commit after a release that is left to people',
    [{ ...common(withFailure('manual')), ...v(1) }, v(2, brokenPrimary), v(3)],
    isLive(3),
    { acts: [follow, push(1, isInitialized), push(2, isAfter('Held'))] },
  ),
  release(
    'release that is held and given up',
    [{ ...common(withFailure('hold')), ...v(1) }, v(2, brokenPrimary)],
    isBackOn(1),
    {
      acts: [
        follow,
        push(1, isInitialized),
        {
          when: isAfter('Held'),
          act: (world) => annotate(world, { 'holdfast.dev/abort': world.commits[1] ?? '' }),
        },
      ],
    },
  ),
  release(
    'rejected release that a person tries again',
    [{ ...common(web(onGateway, bySteps)), ...v(1) }, v(2, { ERROR_PERCENT: '50' })],
    isBackOn(1),
    {
      usersMayFail: true,
      historyMayDiffer: true,
      acts: [
        follow,
        push(1, isInitialized),
        {
          when: isBackOn(1),
          act: (world) => annotate(world, { 'holdfast.dev/retry': world.commits[1] ?? '' }),
        },
        { when: isIn('Progressing'), act: () => undefined },
      ],
    },
  ),
  release(
    'release that a person promotes',
    [{ ...common(web({}, { ...byIterations, iterations: 100 })), ...v(1) }, v(2)],
    isLive(2),
    {
      acts: [
        follow,
        push(1, isInitialized),
        {
          when: isUnderWay,
          act: (world) => annotate(world, { 'holdfast.dev/promote': world.commits[1] ?? '' }),
        },
      ],
    },
  ),
];
