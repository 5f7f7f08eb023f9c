/** Checks by Jobs, whose Job and CronJob the sandbox knows as custom resources: the tests decide how they end. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import {
  type Bed,
  canary,
  deployment,
  runUntilInitialized,
  startBed,
  statusOf,
  untilAtRest,
  untilSeen,
} from './holdfast-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startBed();
  for (const [kind, plural] of [
    ['Job', 'jobs'],
    ['CronJob', 'cronjobs'],
  ] as const)
    await bed.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd(kind, plural));
});
afterEach(() => bed.close());

const batch = '/apis/batch/v1/namespaces/shop';

function crd(kind: string, plural: string): object {
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.batch` },
    spec: {
      group: 'batch',
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}

const smoke = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'smoke', namespace: 'shop' },
  spec: {
    schedule: '@yearly',
    suspend: true,
    jobTemplate: { spec: { template: { spec: { containers: [{ name: 'smoke', image: 'smoke:1' }] } } } },
  },
};
const template = JSON.stringify({
  apiVersion: 'flagger.app/v1beta1',
  kind: 'MetricTemplate',
  metadata: { name: 'smoke', namespace: 'shop' },
  spec: { provider: { type: 'job' }, query: 'cronjob/smoke' },
});

const jobs = (): KubernetesObject[] => bed.sandbox.store.list('batch/jobs', 'shop');

async function end(job: KubernetesObject, type: 'Complete' | 'Failed'): Promise<void> {
  const status = { conditions: [{ type, status: 'True' }] };
  await bed.send('PATCH', `${batch}/jobs/${job.metadata.name}`, { status });
}

async function ask(verb: string, commit: string): Promise<void> {
  const annotations = { [`holdfast.dev/${verb}`]: commit };
  const path = '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web';
  await bed.send('PATCH', path, { metadata: { annotations } });
}

test('a release that is tried again is not judged by the Job of the attempt before', async () => {
  const metrics = [{ name: 'smoke', templateRef: { name: 'smoke' }, thresholdRange: { min: 1 } }];
  const tried = canary({ analysis: { threshold: 1, metrics }, spec: { progressDeadlineSeconds: 600 } });
  await bed.send('POST', `${batch}/cronjobs`, smoke);
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'template.json': template,
    'canary.json': tried,
  });
  const app = await runUntilInitialized(bed, {}, { trustedSourceNamespaces: ['shop'] });
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  const before = await untilSeen(bed, 'a Job', async () => jobs()[0]);
  await ask('abort', v2);
  await untilAtRest(bed, 'Failed');
  // Nobody reads how that Job ends.
  await app.drain();
  await end(before, 'Failed');
  await bed.start({ trustedSourceNamespaces: ['shop'] });

  // Until Git was read after the start, a request to try again is refused.
  let times = 0;
  await untilSeen(bed, 'it is tried again', async () => {
    if (statusOf(await bed.canary()).phase !== 'Failed') return true;
    times += 1;
    await ask('retry', `${v2}@${times}`);
    return false;
  });
  const own = await untilSeen(bed, 'a Job of the second attempt', async () =>
    jobs().find(({ metadata }) => metadata.name !== before.metadata.name),
  );
  await end(own, 'Complete');

  const checks = await untilSeen(bed, 'the result', async () => {
    const { checks: results = [] } = statusOf(await bed.canary()) as { checks?: object[] };
    return results.length > 0 && results;
  });
  expect(checks).toMatchObject([
    { verdict: 'pass', value: 1, detail: `Job shop/${own.metadata.name} completed` },
  ]);
});
