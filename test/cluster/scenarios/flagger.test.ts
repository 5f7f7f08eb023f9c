import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { imageOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { prepareFlagger } from '../bed/flagger.ts';
import { runJson } from './command.ts';
import { canaryIn, looksAt, settings, workload } from './left-by-flagger.ts';
import { createProgram } from './program.ts';
import { untilAnswered } from './shop.ts';

const bed: BedClient = useBed();
const namespace = 'there-and-back';
const inNamespace = ['--watch-namespaces', namespace, '--holdfast-namespace', namespace];

async function apply(...objects: readonly KubernetesObject[]): Promise<void> {
  const flux = ['--server-side', '--force-conflicts', '--field-manager=kustomize-controller'];
  for (const object of objects)
    await bed.kubectl(['-n', namespace, 'apply', ...flux, '-f', '-'], JSON.stringify(object));
}

/** The target as people write it beside Flagger: how many pods there are is not theirs to say. */
function target(version: string): KubernetesObject {
  const object = workload(namespace, version);
  const { replicas: _, ...spec } = object.spec as { replicas?: number };
  return { ...object, spec };
}

async function routeGeneration(): Promise<unknown> {
  return (await bed.readObject('HTTPRoute', namespace, 'podinfo'))?.metadata.generation;
}

/** Texts of Flagger's events that tell of an analysis. */
async function analysesOfFlagger(): Promise<string[]> {
  const events = (await bed.listObjects('Event', namespace)) as ReadonlyArray<
    KubernetesObject & { readonly message?: string; readonly reason?: string }
  >;
  const told = events.filter(
    ({ reason, message = '' }) => reason === 'Synced' && message.startsWith('New revision'),
  );
  return told.map(({ message = '' }) => message);
}

test('Flagger initializes, Holdfast takes over and promotes, and Flagger goes on: no pod restarts, no request fails, nothing is analysed twice', async () => {
  await bed.createNamespace(namespace);
  const flagger = await prepareFlagger(bed, namespace);
  const holdfast = createProgram(bed, namespace, undefined);
  const look = looksAt(bed, namespace);
  const startLoad = () => bed.startLoad({ hostHeader: `${namespace}.example.com`, requestsPerSecond: 50 });
  // Flagger raises the interval to 10 s.
  const analysis = { interval: '1s', threshold: 2, stepWeights: [50] };
  await apply(settings('one'), target('v1'), canaryIn(namespace, { analysis }));

  await flagger.start();
  await look.until('initialized by Flagger', ({ phase }) => phase === 'Initialized');
  await flagger.stop();
  await untilAnswered(namespace, startLoad);
  const load = startLoad();
  const first = await look.pods(/./);

  expect(await runJson(bed, 'migrate', 'plan', ...inNamespace)).toMatchObject({
    canaries: [{ canary: `${namespace}/podinfo`, outcome: 'takenOver' }],
  });
  holdfast.start();
  await look.until('taken over', (status) => condition(status, 'Ready') === 'True');
  expect(await look.pods(/./)).toEqual(first);
  await apply(settings('two'), target('v2'));
  await look.until('v2 is promoted', ({ phase, history }) => phase === 'Succeeded' && history?.length === 1);
  await holdfast.stop();
  const second = await look.pods(/primary/);

  expect(await runJson(bed, 'handback', '--to', 'flagger', ...inNamespace)).toMatchObject({
    canaries: [{ canary: `${namespace}/podinfo`, outcome: 'handedBack' }],
  });
  await flagger.start();
  await look.until('Flagger’s again', ({ phase, lastAppliedSpec = '' }) => {
    return phase === 'Initialized' && !lastAppliedSpec.startsWith('v1:');
  });
  expect(await analysesOfFlagger()).toEqual([]);
  expect(await look.pods(/./)).toEqual(second);

  // A route that Flagger finds otherwise than it reads the Canary would be written anew, with weights 100 and 0, at each of its looks.
  const route = await routeGeneration();
  await apply(target('v3'));
  await look.until('v3 is analysed by Flagger', ({ phase }) => phase === 'Progressing');
  // Two intervals later it would promote.
  await flagger.stop();
  expect(await routeGeneration()).toBe(route);
  expect(await analysesOfFlagger()).toHaveLength(1);
  expect(imageOf(await look.primary())).toBe('app:v2');
  expect(await look.pods(/primary/)).toEqual(second);

  holdfast.start();
  await look.until('v3 is promoted by Holdfast', ({ phase }) => phase === 'Succeeded');
  expect(imageOf(await look.primary())).toBe('app:v3');
  await holdfast.stop();
  look.close();
  expect((await load.stop()).failures).toEqual([]);
});
