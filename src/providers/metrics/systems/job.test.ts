/** The outcome of a Job as a metric, against an API server that stores objects like the real one. */
import { expect, it, vi } from 'vitest';
import type { Canary } from '../../../api/canary/canary.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { MetricTemplate } from '../../../api/metric-template.ts';
import type { JobAccess } from '../provider.ts';
import { readMetric } from '../read-metric.ts';
import { nowMs } from '../testing/doubles.ts';

const canary = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'web', namespace: 'shop', uid: 'canary-uid' },
  spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, service: { port: 80 } },
} as Canary;

const container = { name: 'smoke', image: 'smoke:1', env: [{ name: 'URL', value: 'nowhere' }] };
const cronJob: KubernetesObject = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'smoke', namespace: 'shop' },
  spec: {
    schedule: '@yearly',
    suspend: true,
    jobTemplate: { spec: { backoffLimit: 0, template: { spec: { containers: [container] } } } },
  },
};
const complete = { conditions: [{ type: 'Complete', status: 'True' }] };
const failed = {
  conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'too often' }],
};

interface World {
  readonly objects: Map<string, KubernetesObject>;
  readonly made: KubernetesObject[];
  readonly cluster: JobAccess['cluster'];
}

/** `jobStatus`: what each Job has reached when it is looked at. */
function aWorld(jobStatus: () => object | undefined, refuses?: string): World {
  const objects = new Map<string, KubernetesObject>();
  const made: KubernetesObject[] = [];
  const keyOf = ({ kind, namespace, name }: { kind: string; namespace?: string | undefined; name: string }) =>
    `${kind}/${namespace}/${name}`;
  const cluster: JobAccess['cluster'] = {
    async get(reference) {
      const found = objects.get(keyOf(reference));
      return found && reference.kind === 'Job' ? { ...found, status: jobStatus() ?? {} } : found;
    },
    list: async ({ kind }) => [...objects.values()].filter((object) => object.kind === kind),
    async create(object) {
      const key = keyOf({ kind: object.kind, ...object.metadata });
      if (refuses) throw new Error(refuses);
      if (objects.has(key)) throw new Error('409 AlreadyExists');
      const created = { ...object, metadata: { ...object.metadata, uid: `uid-${made.length}` } };
      made.push(created);
      objects.set(key, created);
      return created;
    },
    async delete(reference, { uid }) {
      if (objects.get(keyOf(reference))?.metadata.uid === uid) objects.delete(keyOf(reference));
    },
  };
  objects.set(keyOf({ kind: 'CronJob', namespace: 'shop', name: 'smoke' }), cronJob);
  return { objects, made, cluster };
}

interface Given {
  readonly query?: string;
  readonly jobs?: JobAccess | 'notHere' | undefined;
  readonly release?: string;
  readonly namespace?: string;
  readonly signal?: AbortSignal;
  readonly templateVariables?: Readonly<Record<string, string>>;
}

function read({ cluster }: World, given: Given = {}) {
  const { query = 'cronjob/smoke?URL=http://{{ service }}-canary', release = 'sha256:1' } = given;
  const template = {
    metadata: { name: 'smoke', namespace: given.namespace ?? 'shop' },
    spec: { provider: { type: 'job' }, query },
  } as MetricTemplate;
  const signal = given.signal ?? new AbortController().signal;
  const jobs =
    'jobs' in given ? given.jobs : { cluster, canary, check: [release, 'canary', 'smoke'], signal };
  const { templateVariables = {} } = given;
  const metric = { name: 'smoke', templateRef: { name: 'smoke' }, templateVariables };
  const source = { canary, metric, role: 'canary', provider: 'contour', metricsServer: '', nowMs } as const;
  const send = async () => expect.fail('nobody is asked over HTTP');
  return readMetric({ ...source, template }, { send, jobs });
}

it('is 1 where the Job completed, and nothing of it is left', async () => {
  const world = aWorld(() => complete);
  const reading = await read(world);
  expect(reading).toMatchObject({
    kind: 'value',
    value: 1,
    detail: expect.stringMatching(/^Job shop\/smoke-\w{10} completed$/),
  });
  const [made] = world.made;
  expect(made).toMatchObject({
    metadata: { namespace: 'shop', ownerReferences: [{ kind: 'Canary', name: 'web', uid: 'canary-uid' }] },
    spec: { backoffLimit: 0, activeDeadlineSeconds: 600, ttlSecondsAfterFinished: 3600 },
  });
  expect(JSON.stringify(made?.spec)).toContain('"env":[{"name":"URL","value":"http://web-canary"}]');
  expect([...world.objects.values()].map(({ kind }) => kind)).toEqual(['CronJob']);
});

it('gives the Job no variable but those of the template, whatever the Canary puts into one', async () => {
  const world = aWorld(() => complete);
  const path = 'a b+c?d&NODE_OPTIONS=--import=data:text/javascript,0#%41';
  const query = 'cronjob/smoke?URL=http://{{ service }}/{{ variables.path }}&MODE=fast\n';
  await read(world, { query, templateVariables: { path } });
  expect(JSON.stringify(world.made[0]?.spec)).toContain(
    JSON.stringify([
      { name: 'URL', value: `http://web/${path}` },
      { name: 'MODE', value: 'fast' },
    ]).slice(1, -1),
  );
  expect(JSON.stringify(world.made[0]?.spec)).not.toContain('"name":"NODE_OPTIONS"');
});

it.each([
  [0, 3_600],
  [7_200, 7_200],
])(
  'keeps a Job whose template says %i s for %i s: its outcome may be read an interval later',
  async (given, kept) => {
    const world = aWorld(() => complete);
    const { jobTemplate } = cronJob.spec as { jobTemplate: { spec: object } };
    const spec = { jobTemplate: { spec: { ...jobTemplate.spec, ttlSecondsAfterFinished: given } } };
    world.objects.set('CronJob/shop/smoke', { ...cronJob, spec });
    await read(world);
    expect(world.made).toMatchObject([{ spec: { ttlSecondsAfterFinished: kept } }]);
  },
);

it('is 0 where it failed, with the last words of its pod', async () => {
  const world = aWorld(() => failed);
  const end = { exitCode: 3, message: 'login\n page\u0000 is gone' };
  world.objects.set('Pod/shop/smoke-pod', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'smoke-pod', namespace: 'shop' },
    status: { phase: 'Failed', containerStatuses: [{ name: 'smoke', state: { terminated: end } }] },
  } as KubernetesObject);
  expect(await read(world)).toMatchObject({
    kind: 'value',
    value: 0,
    detail: expect.stringMatching(
      /^Job shop\/smoke-\w+ failed: BackoffLimitExceeded: too often; container smoke ended with 3 \(login page is gone\)$/,
    ),
  });
  expect([...world.objects.keys()].filter((key) => key.startsWith('Job/'))).toEqual([]);
});

it('is still to come while the Job runs; the check after it reads the same one', async () => {
  let status: object | undefined;
  const world = aWorld(() => status);
  const stopped = AbortSignal.abort();
  expect(await read(world, { signal: stopped })).toMatchObject({
    kind: 'noData',
    isPending: true,
    detail: expect.stringContaining(
      'runs: it has no pod; see its Events (kubectl -n shop describe job smoke-',
    ),
  });
  status = complete;
  expect(await read(world)).toMatchObject({ value: 1 });
  expect(world.made).toHaveLength(1);
});

it('says what a pod waits for', async () => {
  const world = aWorld(() => undefined);
  const waiting = { reason: 'ImagePullBackOff', message: 'no such image' };
  world.objects.set('Pod/shop/smoke-pod', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'smoke-pod', namespace: 'shop' },
    status: { phase: 'Pending', containerStatuses: [{ name: 'smoke', state: { waiting } }] },
  } as KubernetesObject);
  const reading = await read(world, { signal: AbortSignal.abort() });
  expect(reading).toMatchObject({
    detail: expect.stringContaining('container smoke waits: ImagePullBackOff: no such image'),
  });
});

it('is one Job for two leaders, and another for the next release', async () => {
  const world = aWorld(() => undefined);
  const signal = AbortSignal.abort();
  await Promise.all([read(world, { signal }), read(world, { signal })]);
  expect(world.made).toHaveLength(1);
  await read(world, { signal, release: 'sha256:2' });
  expect(world.made).toHaveLength(2);
});

it('runs again after the Job was deleted', async () => {
  const world = aWorld(() => undefined);
  const reading = read(world);
  await vi.waitFor(() => expect(world.made).toHaveLength(1));
  for (const key of world.objects.keys()) if (key.startsWith('Job/')) world.objects.delete(key);
  expect(await reading).toMatchObject({
    isPending: true,
    detail: expect.stringContaining('was deleted before its end; the next check runs it again'),
  });
});

it('does not touch a Job of that name with another owner', async () => {
  const world = aWorld(() => complete);
  await read(world);
  const [made] = world.made;
  if (!made) expect.fail('no Job was made');
  const foreign = { ...made, metadata: { ...made.metadata, ownerReferences: [] } };
  world.objects.set(`Job/shop/${made.metadata.name}`, foreign);
  expect(await read(world)).toMatchObject({
    kind: 'error',
    detail: expect.stringContaining('has another owner'),
  });
  expect(world.objects.get(`Job/shop/${made.metadata.name}`)).toBe(foreign);
});

it('is an error where the API server refuses it, in its words', async () => {
  const world = aWorld(() => complete, 'jobs.batch is forbidden: exceeded quota: jobs');
  expect(await read(world)).toEqual({
    kind: 'error',
    detail: 'jobs.batch is forbidden: exceeded quota: jobs',
  });
});

it.each<[string, Given, object]>([
  [
    'another shape of query',
    { query: 'job/smoke' },
    { kind: 'error', detail: expect.stringContaining('cronjob/NAME') },
  ],
  [
    'a CronJob that is not there',
    { query: 'cronjob/other' },
    { kind: 'error', detail: 'CronJob shop/other does not exist' },
  ],
  [
    'a Canary without a Source',
    { jobs: undefined },
    { kind: 'error', detail: expect.stringContaining('no Source holds it') },
  ],
  [
    'a template of another namespace',
    { namespace: 'other' },
    { kind: 'error', detail: expect.stringContaining('namespace of the Canary') },
  ],
  ['the command line', { jobs: 'notHere' }, { kind: 'noData', isPending: true }],
])('runs nothing for %s', async (_, given, reading) => {
  const world = aWorld(() => complete);
  expect(await read(world, given)).toMatchObject(reading);
  expect(world.made).toEqual([]);
});
