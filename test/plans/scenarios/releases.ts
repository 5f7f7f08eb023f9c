import { deployment, onGateway } from '../../sandbox/holdfast-bed.ts';
import type { Scenario } from '../scenario.ts';
import { sourceOf } from '../world.ts';
import {
  adopted,
  annotate,
  autoscaler,
  byIterations,
  bySteps,
  canaries,
  commitOf,
  common,
  daemonSet,
  follow,
  image,
  isAtRest,
  isBackOn,
  isInitialized,
  isLive,
  isNothing,
  isUnderWay,
  metric,
  old,
  providerOf,
  push,
  release,
  releaseOfAnotherTool,
  scaler,
  service,
  sources,
  statefulSet,
  targetRef,
  v,
  web,
  withConfig,
  withImage,
  within,
} from './parts.ts';

/** Releases, and what people do to them. */
export const releases: readonly Scenario[] = [
  {
    name: 'first rollout',
    commits: [{ ...common(), ...v(1) }],
    acts: [follow],
    isOver: isInitialized,
  },
  release('healthy release', [{ ...common(), ...v(1) }, v(2)], isLive(2)),
  release('healthy release by steps', [{ ...common(web(onGateway, bySteps)), ...v(1) }, v(2)], isLive(2)),
  release(
    'healthy release of the native provider',
    [
      {
        ...common(web({ provider: 'native', service: undefined }, { ...bySteps, metrics: undefined })),
        ...v(1),
        'service.json': JSON.stringify(service),
      },
      v(2),
    ],
    (seen) => isAtRest(seen, 'Succeeded') && seen.image('web') === image(2),
  ),
  release(
    'bad release stopped',
    [{ ...common(web(onGateway, bySteps)), ...v(1) }, v(2, { ERROR_PERCENT: '50' })],
    isBackOn(1),
    { usersMayFail: true },
  ),
  release(
    'primary that does not come up',
    [{ ...common(web({ progressDeadlineSeconds: 120 })), ...v(1) }, v(2, { PRIMARY_READY: 'false' })],
    isBackOn(1),
  ),
  release(
    'checks that fail after the promotion',
    [
      {
        ...common(
          web({ ...onGateway, postPromotion: { interval: '10s', metrics: metric('success') } }, bySteps),
        ),
        ...v(1),
      },
      v(2, { PRIMARY_ERROR_PERCENT: '50' }),
    ],
    isBackOn(1),
    { usersMayFail: true },
  ),
  release(
    'release that is held',
    [
      {
        ...common(
          web({ progressDeadlineSeconds: 120, postPromotion: { interval: '10s', onFailure: 'hold' } }),
        ),
        ...v(1),
      },
      v(2, { PRIMARY_READY: 'false' }),
    ],
    ({ status }) => (status.postPromotion as { state?: string } | undefined)?.state === 'Held',
    { leavesSome: true },
  ),
  release(
    'git revert',
    [
      { ...common(web({ progressDeadlineSeconds: 120 })), ...v(1) },
      v(2, { PRIMARY_READY: 'false' }),
      v(1),
      v(3),
    ],
    isLive(3),
    {
      acts: [
        follow,
        push(1, isInitialized),
        push(2, isBackOn(1)),
        push(3, ({ status }) => status.phase === 'Succeeded' && status.run === undefined),
      ],
    },
  ),
  release(
    'config change',
    [{ ...common(), ...withConfig(image(1), 'blue') }, withConfig(image(1), 'green')],
    isLive(1),
  ),
  release('two releases in a row', [{ ...common(), ...v(1) }, v(2), v(3)], isLive(3), {
    historyMayDiffer: true,
    acts: [follow, push(1, isInitialized), push(2, isUnderWay)],
  }),
  {
    name: 'deletion',
    leavesSome: true,
    // Git holds no Canary, so that nobody creates it again.
    commits: [v(1)],
    acts: [
      {
        when: isNothing,
        act: (world) => world.send('POST', canaries, JSON.parse(web({ revertOnDeletion: true }))),
      },
      follow,
      { when: isInitialized, act: (world) => world.send('DELETE', `${canaries}/web`) },
    ],
    isOver: (seen) => seen.canary === undefined && seen.image('web-primary') === undefined,
  },
  release(
    'takeover of what runs, and pruning',
    [
      { ...common(), ...withConfig(image(1), 'blue'), 'old.json': JSON.stringify(old()) },
      { 'old.json': null, ...v(2) },
    ],
    isLive(2),
    {
      acts: [
        {
          when: isNothing,
          act: (world) =>
            world.send('POST', '/apis/apps/v1/namespaces/shop/deployments', JSON.parse(deployment(image(1)))),
        },
        { ...follow, when: () => true },
        push(1, isInitialized),
      ],
    },
  ),
  release(
    'bad release of the native provider',
    [
      {
        ...common(
          web(
            { provider: 'native', service: undefined, progressDeadlineSeconds: 120 },
            { ...bySteps, metrics: undefined },
          ),
        ),
        ...v(1),
        'service.json': JSON.stringify(service),
      },
      v(2, { READY: 'false' }),
    ],
    (seen) => isAtRest(seen, 'Failed') && seen.image('web') === image(1),
  ),
  release(
    'release with a scaler',
    [
      { ...common(web({ autoscalerRef: scaler })), ...v(1), 'scaler.json': JSON.stringify(autoscaler()) },
      v(2),
    ],
    isLive(2),
  ),
  release(
    'release of a DaemonSet',
    [
      { ...common(web({ targetRef: { ...targetRef, kind: 'DaemonSet' } })), 'web.json': daemonSet(image(1)) },
      { 'web.json': daemonSet(image(2)) },
    ],
    isLive(2),
  ),
  release(
    'release to some users by a header',
    [
      {
        ...common(
          web(onGateway, {
            ...byIterations,
            match: [{ headers: { 'x-canary': { exact: 'yes' } } }],
          }),
        ),
        ...v(1),
      },
      v(2),
    ],
    isLive(2),
  ),
  release(
    'change of the provider',
    [{ ...common(), ...v(1) }, common(web(onGateway))],
    (seen) => isInitialized(seen) && providerOf(seen) === onGateway.provider && seen.hasRoute,
  ),
  release(
    'Canary that leaves Git',
    [{ ...common(web({ revertOnDeletion: true })), ...v(1) }, { 'canary.json': null }],
    (seen) => seen.canary === undefined && seen.image('web-primary') === undefined,
    { leavesSome: true },
  ),
  releaseOfAnotherTool('release of a target that another tool applies', web(), withImage(2), isLive(2)),
  releaseOfAnotherTool(
    'bad release of a target that another tool applies',
    web({ progressDeadlineSeconds: 120 }),
    withImage(2, { PRIMARY_READY: 'false' }),
    isBackOn(1),
  ),
  release('rollback that a person asks for', [{ ...common(), ...v(1) }, v(2)], isBackOn(1), {
    acts: [
      follow,
      push(1, isInitialized),
      {
        when: isLive(2),
        act: (world) => annotate(world, { 'holdfast.dev/rollback-to': commitOf(world, 'commit 1') }),
      },
    ],
  }),
  {
    name: 'Canary that moves to another Source',
    memberMayDiffer: true,
    commits: [
      { ...within('a', { ...common(), ...v(1) }), ...within('b', { 'old.json': JSON.stringify(old()) }) },
      {
        ...within('a', { 'canary.json': null, 'web.json': null, 'old.json': JSON.stringify(old('new')) }),
        ...within('b', { 'canary.json': adopted(web()), 'web.json': adopted(deployment(image(1))) }),
      },
      within('b', { 'web.json': adopted(deployment(image(2))) }),
    ],
    acts: [
      {
        when: isNothing,
        act: (world) => world.send('POST', sources, sourceOf(world, 'shop', { path: 'a' })),
      },
      {
        when: isNothing,
        act: (world) => world.send('POST', sources, sourceOf(world, 'other', { path: 'b' })),
      },
      push(1, isInitialized),
      push(2, ({ canary: found }) => found?.metadata.annotations?.['holdfast.dev/adopt'] === 'true'),
    ],
    isOver: isLive(2),
  },
  release(
    'Canary that is invalid for a while during a release',
    [{ ...common(), ...v(1) }, v(2), common(web({ provider: 'unheard-of' })), common()],
    isLive(2),
    {
      acts: [
        follow,
        push(1, isInitialized),
        push(2, isUnderWay),
        push(3, ({ status }) => JSON.stringify(status.conditions).includes('unheard-of')),
      ],
    },
  ),
  release('release that a person pauses', [{ ...common(), ...v(1) }, v(2)], isLive(2), {
    acts: [
      follow,
      push(1, isInitialized),
      { when: isUnderWay, act: (world) => annotate(world, { 'holdfast.dev/pause': 'true' }) },
      {
        when: ({ status }) =>
          (status.run as { paused?: unknown } | undefined)?.paused !== undefined ||
          String(status.message).includes('paused'),
        act: (world) => annotate(world, { 'holdfast.dev/pause': null }),
      },
    ],
  }),
  release(
    'release of a StatefulSet',
    [
      {
        ...common(
          web(
            { provider: 'native', service: undefined, targetRef: { ...targetRef, kind: 'StatefulSet' } },
            { ...bySteps, metrics: undefined },
          ),
        ),
        'web.json': statefulSet(image(1)),
        'service.json': JSON.stringify(service),
      },
      { 'web.json': statefulSet(image(2)) },
    ],
    (seen) => isAtRest(seen, 'Succeeded') && seen.image('web') === image(2),
  ),
];
