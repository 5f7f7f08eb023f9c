/** The guide for a cluster with many Canaries of Flagger, played from its first block to its last. */
import { afterAll, beforeAll, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { leaveBehind } from '../flagger/left-behind.ts';
import { type BuiltProgram, buildProgram } from '../sandbox/built-program.ts';
import { scene, version } from '../sandbox/flagger-scenes.ts';
import { type Bed, startBed } from '../sandbox/holdfast-bed.ts';
import { make, playGuide } from './guide-stage.ts';

let built: BuiltProgram;
let bed: Bed;
beforeAll(async () => {
  built = await buildProgram();
  bed = await startBed();
});
afterAll(async () => {
  await bed.close();
  await built.remove();
});

test('from-flagger-in-bulk', async () => {
  for (let number = 1; number <= 40; number += 1) {
    const namespace = `team-${String(number).padStart(2, '0')}`;
    await make(bed, '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    });
    const target = number === 7 ? { target: version(2) } : {};
    const left = scene({ ...target, status: { phase: 'Succeeded' } });
    const place = (object: KubernetesObject) => ({ ...object, metadata: { ...object.metadata, namespace } });
    const placed = { canary: place(left.canary), target: place(left.target), promoted: place(left.promoted) };
    await leaveBehind(bed.send, { ...left, ...placed, configs: [], promotedConfigs: [] });
  }
  await installed('flagger', 'flagger-system', []);
  await installed('holdfast', 'holdfast-system', [
    'run',
    '--selector-labels=app',
    '--min-analysis-interval=1s',
  ]);
  await bed.start();
  await playGuide({ bed, built }, 'from-flagger-in-bulk');
});

/** A Deployment whose pods do nothing: what Flagger's or Holdfast's stands for while the program itself runs in this process. */
async function installed(name: string, namespace: string, args: readonly string[]): Promise<void> {
  const labels = { 'app.kubernetes.io/name': name };
  const containers = [{ name, image: `${name}:1`, args }];
  const spec = {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers } },
  };
  await make(bed, '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec,
  };
  await make(bed, `/apis/apps/v1/namespaces/${namespace}/deployments`, deployment);
}
