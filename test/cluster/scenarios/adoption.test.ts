import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { runJson } from './command.ts';
import { type Adopted, type Left, leaveUnderLoad } from './left-by-flagger.ts';
import { createProgram, type Program } from './program.ts';
import { createSignal } from './signal.ts';

const bed: BedClient = useBed();

const primaryPods = /^podinfo-primary-/;
const comesUp = createSignal('adopt-stalled');
const canaryPods = /^podinfo-(?!primary-)/;

/**
 * What Flagger left in some of its phases (flagger-behaviour 2.15, 2.16); all of them are taken over in the sandbox
 * (test/sandbox/adoption.test.ts), Initialized also from Flagger itself (flagger.test.ts). v1 is what it had promoted, unless v2 is on the
 * primary.
 */
const scenes = {
  succeeded: { status: { phase: 'Succeeded' } },
  progressing: {
    ...{ version: 'v2', targetReplicas: 2, canaryWeight: 40 },
    status: { phase: 'Progressing', canaryWeight: 40 },
  },
  promoting: {
    ...{ version: 'v2', promotedVersion: 'v2', targetReplicas: 2, canaryWeight: 60 },
    status: { phase: 'Promoting', canaryWeight: 60 },
  },
  stalled: {
    ...{ version: 'v2', promotedVersion: 'v2', targetReplicas: 2, canaryWeight: 100 },
    env: { PRIMARY_READY_FILE: comesUp.path },
    status: { phase: 'Failed', canaryWeight: 100 },
  },
  terminating: { targetReplicas: 1, status: { phase: 'Terminating' }, isDeleted: true },
} satisfies Readonly<Record<string, Left>>;

type Name = keyof typeof scenes;
const names = Object.keys(scenes) as Name[];
const left = new Map<string, Adopted>();
/** Their releases wait before their promotion until the test has looked. */
const gated: readonly Name[] = ['progressing'];
let hooks: HookServer;
let program: Program;
/** What `holdfast migrate plan` said of each before the program started. */
let foretold: ReadonlyMap<string, string>;

/** Everything stands and has its traffic before Holdfast starts: one program for all, as in a cluster. */
beforeAll(async () => {
  hooks = await startHookServer();
  await Promise.all(
    names.map(async (name) => left.set(name, await leaveUnderLoad(bed, `adopt-${name}`, sceneOf(name)))),
  );
  const namespaces = [...left.values()].map(({ namespace }) => namespace);
  const place = ['--watch-namespaces', namespaces.join(','), '--holdfast-namespace', namespaces[0] ?? ''];
  const { canaries } = await runJson<Foretold>(bed, 'migrate', 'plan', ...place);
  foretold = new Map(canaries.map(({ canary, outcome }) => [canary.split('/')[0] ?? '', outcome]));
  program = createProgram(bed, namespaces, undefined);
  program.start();
});

afterAll(async () => {
  await Promise.all([...left.values()].map(({ load }) => load.stop()));
  await program?.stop();
  await hooks.close();
  for (const { close } of left.values()) close();
  comesUp.remove();
});

function sceneOf(name: Name): Left {
  if (!gated.includes(name)) return scenes[name];
  hooks.answer(name, 403);
  return { ...scenes[name], webhooks: [{ name: 'gate', type: 'confirm-promotion', url: hooks.url(name) }] };
}

interface Foretold {
  readonly canaries: ReadonlyArray<{ readonly canary: string; readonly outcome: string }>;
}

function leftIn(name: Name): Adopted {
  const found = left.get(name);
  if (!found) throw new Error(`${name} was not left behind`);
  return found;
}

/** No request failed, and no pod that was there has restarted; those named must still be there. */
async function nothingBroke(
  { namespace, load, pods, before }: Adopted,
  stay: readonly RegExp[],
): Promise<void> {
  for (const name of stay) expect(await pods(name)).toEqual(before.filter((pod) => name.test(pod)));
  expect(await pods(/ [1-9]\d*$/)).toEqual([]);
  const { failed, requests } = await load.stop();
  expect(failed).toBe(0);
  expect(requests).toBeGreaterThan(50);
  await bed.clearNamespace(namespace);
}

function templateOf(object: KubernetesObject | undefined): unknown {
  return (object?.spec as { template?: unknown } | undefined)?.template;
}

describe.concurrent('a cluster where Flagger ran is taken over without a restart and without a failed request', () => {
  test('after a failed promotion: the canary serves until the primary is up', async () => {
    const seen = leftIn('stalled');
    await seen.until('the canary serves', ({ canaryWeight, lastAppliedSpec = '' }) => {
      return lastAppliedSpec.startsWith('v1:') && canaryWeight === 100;
    });
    comesUp.give();
    const status = await seen.until('at rest', (now) => condition(now, 'Ready') === 'True');
    expect(status).toMatchObject({ phase: 'Initialized', canaryWeight: 0 });
    await nothingBroke(seen, [primaryPods]);
  });

  test('in phase succeeded: nothing is rolled out', async () => {
    const seen = leftIn('succeeded');
    const status = await seen.until('at rest', (now) => condition(now, 'Ready') === 'True');
    expect(status).toMatchObject({ phase: 'Succeeded', lastAppliedSpec: expect.stringMatching(/^v1:/) });
    expect(status.history).toBeUndefined();
    expect(condition(status, 'Drifted')).toBe('False');
    expect(templateOf(await seen.primary())).toEqual(seen.template);
    expect(await seen.pods(canaryPods)).toEqual([]);
    await nothingBroke(seen, [primaryPods]);
  });

  test('in phase progressing: the release is tried from the first step, with its pods', async () => {
    const seen = leftIn('progressing');
    await seen.until('the first step', ({ lastKnownGood, canaryWeight }) => {
      return lastKnownGood !== undefined && canaryWeight === 10;
    });
    await seen.until('its gate is asked', ({ phase }) => phase === 'WaitingPromotion');
    expect(await seen.pods(/^podinfo-/)).toEqual(seen.before);
    hooks.answer('progressing', 200);
    await seen.until('v2 is promoted', ({ phase }) => phase === 'Succeeded');
    expect(imageOf(await seen.primary())).toBe('app:v2');
    await nothingBroke(seen, []);
  });

  test('in phase promoting: the promotion is brought to its end', async () => {
    const seen = leftIn('promoting');
    const status = await seen.until('at rest', (now) => condition(now, 'Ready') === 'True');
    expect(status).toMatchObject({ canaryWeight: 0, lastKnownGood: { digest: status.lastAppliedSpec } });
    await nothingBroke(seen, [primaryPods]);
  });

  test('as migrate plan had said of each', () => {
    const rests = ['succeeded'];
    const wanted = names.map((name) => [`adopt-${name}`, rests.includes(name) ? 'takenOver' : 'carriedOn']);
    expect(Object.fromEntries(foretold)).toEqual(Object.fromEntries(wanted));
  });

  test('in phase terminating: the target takes the traffic back, and the Canary goes', async () => {
    const seen = leftIn('terminating');
    await seen.untilGone();
    // The garbage collector takes the primary now: whoever still asked it would fail.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(imageOf(await bed.readObject('Deployment', seen.namespace, 'podinfo'))).toBe('app:v1');
    expect(await seen.pods(canaryPods)).toHaveLength(2);
    await nothingBroke(seen, []);
  });
});
