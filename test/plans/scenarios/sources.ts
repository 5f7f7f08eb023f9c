import { deployment } from '../../sandbox/holdfast-bed.ts';
import { hooksUrl } from '../git-front.ts';
import type { Act, Scenario, Seen } from '../scenario.ts';
import { sourceOf, type World } from '../world.ts';
import {
  common,
  follow,
  image,
  isAtRest,
  isInitialized,
  isLive,
  isNothing,
  isUnderWay,
  mergePatch,
  old,
  sources as path,
  push,
  release,
  v,
  web,
  withConfig,
  within,
} from './parts.ts';

const configMaps = '/api/v1/namespaces/shop/configmaps';

/** A ConfigMap that is in no repository. */
const outside = (name: string, data: Record<string, string>): Act => ({
  when: isNothing,
  act: (world) =>
    world.send('POST', configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'shop' },
      data,
    }),
});
const change = (name: string, data: Record<string, string>, when: Act['when']): Act => ({
  when,
  act: (world) => world.send('PATCH', `${configMaps}/${name}`, { data }, mergePatch),
});
const source = (name: string, spec: Record<string, unknown>): Act => ({
  when: isNothing,
  act: (world) => world.send('POST', path, sourceOf(world, name, spec)),
});

/** The Source says so in its conditions. */
const says = (reason: string) => (seen: Seen) =>
  JSON.stringify(seen.statusOf('sources', 'shop').conditions ?? []).includes(reason);

/** What waits for an approval at the Source, as its conditions say. */
const waiting = (seen: Seen) =>
  /holdfast\.dev\/approve=(prune:[0-9a-f]+)/.exec(JSON.stringify(seen.statusOf('sources', 'shop')))?.[1];

function approve(world: World, what: string): Promise<void> {
  const annotations = { 'holdfast.dev/approve': what };
  return world.send('PATCH', `${path}/shop`, { metadata: { annotations } }, mergePatch);
}

const { 'web.json': configured } = withConfig(image(1), '');
const confirmed = {
  ...old(),
  metadata: { ...old().metadata, annotations: { 'argocd.argoproj.io/sync-options': 'Prune=confirm' } },
};

const writing = (write: Record<string, unknown>) => source('shop', { write });
const broken = v(2, { PRIMARY_READY: 'false' });

const names = ['web', 'api', 'cart'] as const;
type Name = (typeof names)[number];

/** The same application under several names; each is asked for by itself after its promotion. */
function fleet(version: number): Record<string, string> {
  const checked = (name: Name) => ({
    postPromotion: {
      ...{ interval: '10s', successThreshold: 60, failureThreshold: 8 },
      webhooks: [{ name: 'after', url: `${hooksUrl}/${name}`, timeout: '5s' }],
    },
  });
  const files = names.map((name) => ({
    [`${name}.json`]: deployment(image(version), { name }),
    [`canary-${name}.json`]: web(checked(name)).replaceAll('"web"', `"${name}"`),
  }));
  return Object.assign({}, ...files);
}
const statusOf = (seen: Seen, name: Name) => seen.statusOf('canaries', name);
const rests = (name: Name, phase: string) => (seen: Seen) =>
  isAtRest({ ...seen, status: statusOf(seen, name) }, phase);
const isAfter = (name: Name, state: string) => (seen: Seen) =>
  (statusOf(seen, name).postPromotion as { state?: string } | undefined)?.state === state;
const isRejected = (name: Name) => (seen: Seen) =>
  ((statusOf(seen, name).rejected ?? []) as unknown[]).length > 0;
const all =
  (...conditions: ReadonlyArray<(seen: Seen) => boolean>) =>
  (seen: Seen) =>
    conditions.every((holds) => holds(seen));
const answers = (code: number, names: readonly Name[], when: Act['when']): Act => ({
  when,
  act({ git }) {
    for (const name of names) git.hooks.answer(name, code);
  },
});

/** What Sources do around releases. */
export const sources: readonly Scenario[] = [
  release(
    'Source that depends on another one',
    [
      {
        ...within('base', { 'config.json': withConfig(image(1), 'blue')['config.json'] ?? null }),
        ...within('app', { ...common(), 'web.json': configured ?? null }),
      },
      {
        ...within('base', {
          'config.json': withConfig(image(1), 'green')['config.json'] ?? null,
          'old.json': JSON.stringify(old()),
        }),
        ...within('app', { 'web.json': withConfig(image(2), '')['web.json'] ?? null }),
      },
    ],
    isLive(2),
    {
      acts: [
        source('base', { path: 'base' }),
        source('shop', { path: 'app', dependsOn: [{ name: 'base' }] }),
        push(1, isInitialized),
      ],
    },
  ),
  release('commit that is not signed', [{ ...common(), ...v(1) }, v(2), v(3)], isLive(3), {
    signed: [0, 2],
    acts: [
      {
        when: isNothing,
        act: ({ send, signer }) =>
          send('POST', '/api/v1/namespaces/shop/secrets', {
            apiVersion: 'v1',
            kind: 'Secret',
            metadata: { name: 'signers', namespace: 'shop' },
            data: { allowed_signers: Buffer.from(signer).toString('base64') },
          }),
      },
      source('shop', { verify: { mode: 'HEAD', secretRef: { name: 'signers' } } }),
      push(1, isInitialized),
      push(2, says('NotVerified')),
    ],
  }),
  release('history that is rewritten', [{ ...common(), ...v(1) }, v(2)], isLive(1), {
    historyMayDiffer: true,
    acts: [
      follow,
      push(1, isInitialized),
      push(0, isLive(2)),
      {
        when: says('HistoryRewritten'),
        act: (world) => approve(world, `rewrite:${world.commits[0]}`),
      },
    ],
  }),
  release('release in the ledger', [{ ...common(), ...v(1) }, v(2)], isLive(2), {
    writesGit: 'branch',
    acts: [writing({ ledger: true }), push(1, isInitialized)],
  }),
  release(
    'release that Holdfast takes back in Git',
    [{ ...common(web({ progressDeadlineSeconds: 120 })), ...v(1) }, broken],
    isLive(1),
    { writesGit: 'branch', acts: [writing({ ledger: true, revert: 'commit' }), push(1, isInitialized)] },
  ),
  release(
    'commit on top of a release that Holdfast takes back in Git',
    [{ ...common(web({ progressDeadlineSeconds: 120 })), ...v(1) }, broken, v(3)],
    isLive(3),
    {
      writesGit: 'branch',
      acts: [writing({ ledger: true, revert: 'commit' }), push(1, isInitialized), push(2, isLive(1))],
    },
  ),
  release(
    'pruning that a person approves',
    [
      { ...common(), ...v(1), 'old.json': JSON.stringify(confirmed) },
      { 'old.json': null, ...v(2) },
    ],
    (seen) => isLive(2)(seen) && seen.find('/configmaps', 'old') === undefined,
    {
      acts: [
        follow,
        push(1, isInitialized),
        {
          when: (seen) => waiting(seen) !== undefined,
          act: (world, seen) => approve(world, waiting(seen) ?? ''),
        },
      ],
    },
  ),
  release(
    'version that comes from a ConfigMap',
    [{ ...common(), 'web.json': deployment('shop/web:${version}') }],
    isLive(2),
    {
      acts: [
        outside('versions', { version: '1' }),
        source('shop', { substitute: { from: [{ kind: 'ConfigMap', name: 'versions' }] } }),
        change('versions', { version: '2' }, isInitialized),
      ],
    },
  ),
  release(
    'config outside Git that changes during a release',
    [
      { ...common(), 'web.json': configured ?? null },
      { 'web.json': withConfig(image(2), '')['web.json'] ?? null },
    ],
    isLive(2),
    {
      historyMayDiffer: true,
      acts: [
        outside('settings', { colour: 'blue' }),
        follow,
        push(1, isInitialized),
        change('settings', { colour: 'green' }, isUnderWay),
      ],
    },
  ),
  release(
    'Canaries that fail together',
    [fleet(1), fleet(2)],
    all(rests('web', 'Failed'), rests('api', 'Failed'), rests('cart', 'Succeeded')),
    {
      asksHooks: true,
      needsClock: true,
      needsEvents: true,
      acts: [
        follow,
        push(1, all(...names.map((name) => rests(name, 'Initialized')))),
        answers(500, ['web', 'api'], all(...names.map((name) => isAfter(name, 'Verifying')))),
        answers(200, ['web', 'api'], all(isRejected('web'), isRejected('api'))),
        answers(500, ['cart'], isNothing),
        answers(200, ['cart'], isAfter('cart', 'Held')),
      ],
    },
  ),
];
