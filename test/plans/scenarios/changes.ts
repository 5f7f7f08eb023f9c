import { onGateway } from '../../sandbox/holdfast-bed.ts';
import type { Scenario, Seen } from '../scenario.ts';
import {
  annotate,
  autoscaler,
  byIterations,
  bySteps,
  canaries,
  commitOf,
  common,
  daemonSet,
  deployments,
  follow,
  image,
  isAfter,
  isAtRest,
  isBackOn,
  isInitialized,
  isLive,
  isNothing,
  metric,
  providerOf,
  push,
  release,
  scaler,
  service,
  statefulSet,
  targetRef,
  v,
  web,
} from './parts.ts';

const native = { provider: 'native', service: undefined };
const nativeSteps = { ...bySteps, metrics: undefined };
const withService = { 'service.json': JSON.stringify(service) };
const onContour = { provider: 'contour' };
const isGone = (seen: Seen) => seen.canary === undefined && seen.image('web-primary') === undefined;
const hasShare = ({ status }: Seen) => Number(status.canaryWeight) > 0;
const onPort = (port: number) => web({ service: { port, targetPort: 8080 } });
const header = [{ headers: { 'x-canary': { exact: 'yes' } } }];

/** What becomes of a release when something else changes meanwhile, and what a change of the Canary itself does. */
export const changes: readonly Scenario[] = [
  {
    name: 'deletion during a release',
    leavesSome: true,
    commits: [v(1), v(2)],
    acts: [
      {
        when: isNothing,
        act: (world) =>
          world.send('POST', canaries, JSON.parse(web({ ...onGateway, revertOnDeletion: true }, bySteps))),
      },
      follow,
      push(1, isInitialized),
      { when: hasShare, act: (world) => world.send('DELETE', `${canaries}/web`) },
    ],
    isOver: (seen) => isGone(seen) && seen.image('web') === image(2),
  },
  release(
    'Canary on contour that leaves Git during a release',
    [
      { ...common(web({ ...onContour, revertOnDeletion: true }, bySteps)), ...v(1) },
      v(2),
      { 'canary.json': null },
    ],
    (seen) => isGone(seen) && seen.image('web') === image(2),
    { leavesSome: true, acts: [follow, push(1, isInitialized), push(2, hasShare)] },
  ),
  release(
    'move to the native provider',
    [
      { ...common(), ...v(1) },
      { ...common(web(native, nativeSteps)), ...withService },
    ],
    (seen) =>
      isAtRest(seen, 'Succeeded') && providerOf(seen) === 'native' && seen.image('web-primary') === undefined,
    { leavesSome: true },
  ),
  release(
    'move from the native provider',
    [
      { ...common(web(native, nativeSteps)), ...withService, ...v(1) },
      { ...common(web(onGateway, bySteps)), 'service.json': null },
    ],
    (seen) => isLive(1)(seen) && providerOf(seen) === onGateway.provider && seen.hasRoute,
  ),
  release(
    'change of the provider during a release',
    [{ ...common(web(onGateway, bySteps)), ...v(1) }, v(2), common(web(onContour, bySteps))],
    (seen) =>
      isLive(2)(seen) &&
      providerOf(seen) === 'contour' &&
      seen.find('projectcontour.io/httpproxies', 'web') !== undefined,
    { acts: [follow, push(1, isInitialized), push(2, hasShare)] },
  ),
  release(
    'release with a scaler by steps',
    [
      {
        ...common(web({ ...onGateway, autoscalerRef: scaler }, bySteps)),
        ...v(1),
        'scaler.json': JSON.stringify(autoscaler()),
      },
      v(2),
    ],
    isLive(2),
  ),
  release(
    'bad release with a scaler',
    [
      {
        ...common(web({ autoscalerRef: scaler, progressDeadlineSeconds: 120 })),
        ...v(1),
        'scaler.json': JSON.stringify(autoscaler()),
      },
      v(2, { PRIMARY_READY: 'false' }),
    ],
    isBackOn(1),
  ),
  release(
    'rollback that a person asks for during verification',
    [{ ...common(web({ postPromotion: { interval: '10s', successThreshold: 30 } })), ...v(1) }, v(2)],
    isBackOn(1),
    {
      acts: [
        follow,
        push(1, isInitialized),
        {
          when: isAfter('Verifying'),
          act: (world) => annotate(world, { 'holdfast.dev/rollback-to': commitOf(world, 'commit 1') }),
        },
      ],
    },
  ),
  release(
    'change of the port',
    [
      { ...common(), ...v(1) },
      { ...common(onPort(90)), ...v(2) },
    ],
    isLive(2),
    { usersMayFail: true },
  ),
  release(
    'bad release to some users',
    [
      {
        ...common(web(onGateway, { ...byIterations, metrics: metric('success'), match: header })),
        ...v(1),
      },
      v(2, { ERROR_PERCENT: '50' }),
    ],
    isBackOn(1),
    { usersMayFail: true },
  ),
  release('newer commit while the primary is written', [{ ...common(), ...v(1) }, v(2), v(3)], isLive(3), {
    historyMayDiffer: true,
    acts: [follow, push(1, isInitialized), push(2, isAfter('Converging'))],
  }),
  release(
    'git revert during the analysis',
    [{ ...common(web(onGateway, { ...bySteps, stepWeight: 4 })), ...v(1) }, v(2), v(1)],
    (seen) => isInitialized(seen) || isLive(1)(seen),
    { acts: [follow, push(1, isInitialized), push(2, hasShare)] },
  ),
  release(
    'git revert during verification',
    [{ ...common(web({ postPromotion: { interval: '10s', successThreshold: 30 } })), ...v(1) }, v(2), v(1)],
    isLive(1),
    { acts: [follow, push(1, isInitialized), push(2, isAfter('Verifying'))] },
  ),
  release(
    'release without an analysis',
    [{ ...common(web({ skipAnalysis: true })), ...v(1) }, v(2)],
    isLive(2),
  ),
  release(
    'bad release of a DaemonSet',
    [
      {
        ...common(web({ targetRef: { ...targetRef, kind: 'DaemonSet' }, progressDeadlineSeconds: 120 })),
        'web.json': daemonSet(image(1)),
      },
      { 'web.json': daemonSet(image(2), { PRIMARY_READY: 'false' }) },
    ],
    isBackOn(1),
  ),
  release(
    'bad release of a StatefulSet',
    [
      {
        ...common(
          web(
            { ...native, targetRef: { ...targetRef, kind: 'StatefulSet' }, progressDeadlineSeconds: 120 },
            nativeSteps,
          ),
        ),
        'web.json': statefulSet(image(1)),
        ...withService,
      },
      { 'web.json': statefulSet(image(2), { READY: 'false' }) },
    ],
    (seen) => isAtRest(seen, 'Failed') && seen.image('web') === image(1),
  ),
  release(
    'newer commit after a bad release of the native provider',
    [
      { ...common(web({ ...native, progressDeadlineSeconds: 120 }, nativeSteps)), ...v(1), ...withService },
      v(2, { READY: 'false' }),
      v(3),
    ],
    (seen) => isAtRest(seen, 'Succeeded') && seen.image('web') === image(3),
    {
      historyMayDiffer: true,
      acts: [follow, push(1, isInitialized), push(2, hasShare)],
    },
  ),
  release(
    'pods that somebody scales by hand during a release',
    [{ ...common(web(onGateway, bySteps)), ...v(1) }, v(2)],
    isLive(2),
    {
      usersMayFail: true,
      needsEvents: true,
      acts: [
        follow,
        push(1, isInitialized),
        {
          when: hasShare,
          act: (world) =>
            world.send(
              'PATCH',
              `${deployments}/web`,
              { spec: { replicas: 0 } },
              'application/merge-patch+json',
            ),
        },
      ],
    },
  ),
];
