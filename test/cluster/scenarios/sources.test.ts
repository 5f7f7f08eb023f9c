import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Condition, KubernetesObject } from '../../../src/api/kubernetes.ts';
import { createTestKeys } from '../../../src/git/testing/signing.ts';
import type { PlanReport } from '../../../src/review/plan/report.ts';
import { imageOf } from '../../objects.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { deployment } from '../bed/manifests.ts';
import { runJson } from './command.ts';
import { createProgram, source as sourceOf } from './program.ts';
import { shareHoldfast, suspendAll } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, [
  ...['src-prune', 'src-hand-back', 'src-drift', 'src-health', 'src-account', 'src-signed'],
  ...['src-window', 'src-freeze', 'src-plan'],
]);

function configMap(name: string, level = 'info'): KubernetesObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { level } };
}

function levelOf(object: KubernetesObject | undefined): string | undefined {
  return (object?.data as { level?: string } | undefined)?.level;
}

/** A repository, and a Source that follows it into a namespace. */
async function open(
  namespace: string,
  files: Record<string, KubernetesObject>,
  spec: Record<string, unknown>,
) {
  const repository = await bed.createGitRepo(namespace);
  const commit = (subject: string, changes: Record<string, KubernetesObject | null>) => {
    const texts = Object.entries(changes).map(
      ([path, object]) => [path, object && JSON.stringify(object)] as const,
    );
    return repository.commit(Object.fromEntries(texts), subject);
  };
  const commitSigned = async (subject: string, changes: Record<string, KubernetesObject>, key: string) => {
    const { git, folder } = repository;
    for (const [path, object] of Object.entries(changes))
      writeFileSync(join(folder, path), JSON.stringify(object));
    await git('add', '--all');
    const signing = ['-c', 'gpg.format=ssh', '-c', `user.signingkey=${key}`];
    await git(...signing, 'commit', '--quiet', '--allow-empty', '-S', '-m', subject);
  };
  await commit('first', files);
  await bed.apply([sourceOf(namespace, repository.url, spec)], namespace);
  const source = () => bed.readObject('Source', namespace, 'shop');
  const condition = async (type: string): Promise<Condition | undefined> => {
    const { conditions } = ((await source())?.status ?? {}) as { conditions?: Condition[] };
    return conditions?.find((one) => one.type === type);
  };
  const until = (what: string, look: () => Promise<boolean>) =>
    waitFor(look, { timeoutMs: 120_000, intervalMs: 100, what: `${namespace}: ${what}`, describe: source });
  return {
    ...{ commit, commitSigned, repository },
    condition,
    until,
    untilSays: (type: string, reason: string) =>
      until(`${type} says ${reason}`, async () => (await condition(type))?.reason === reason),
    read: (kind: string, name: string) => bed.readObject(kind, namespace, name),
    suspend: () => suspendAll(bed, namespace),
    close: async () => {
      await suspendAll(bed, namespace);
      await bed.clearNamespace(namespace);
    },
  };
}

describe.concurrent('Sources on a real API server', () => {
  test('what left Git is pruned, and an empty commit waits for a person', async () => {
    const namespace = 'src-prune';
    const shop = await open(
      namespace,
      {
        'a.json': configMap('a'),
        'b.json': configMap('b'),
        'web.json': deployment({ name: 'web', image: 'app:v1' }),
      },
      { prune: true },
    );
    await shop.untilSays('Pruned', 'Pruned');
    const before = (await shop.read('Deployment', 'web'))?.metadata.uid;
    await shop.commit('b and web are gone', { 'b.json': null, 'web.json': null });
    await shop.until('b is gone', async () => !(await shop.read('ConfigMap', 'b')));
    await shop.until('web is gone with its pods', async () => {
      return (
        !(await shop.read('Deployment', 'web')) && (await bed.listObjects('Pod', namespace)).length === 0
      );
    });
    expect(before).toBeDefined();
    await shop.until('only kinds with members are listed', async () => {
      const { annotations = {} } = (await shop.read('Source', 'shop'))?.metadata ?? {};
      return annotations['applyset.kubernetes.io/contains-group-kinds'] === 'ConfigMap';
    });
    expect((await shop.read('ConfigMap', 'a'))?.data).toEqual({ level: 'info' });
    await shop.commit('nothing is left', { 'a.json': null });
    await shop.untilSays('Pruned', 'PruneNeedsApproval');
    expect(await shop.read('ConfigMap', 'a')).toBeDefined();
    await shop.close();
  });

  test('what Git empties is applied whole at once, and not only when Holdfast starts again', async () => {
    const namespace = 'src-emptied';
    await bed.createNamespace(namespace);
    const program = createProgram(bed, namespace, undefined);
    program.start();
    const workload = (podAntiAffinity: object) => {
      const object = deployment({ name: 'web', image: 'app:v1', replicas: 0 });
      const { spec } = (object.spec as { template: { spec: Record<string, unknown> } }).template;
      spec.affinity = { podAntiAffinity };
      return object;
    };
    const labelSelector = { matchLabels: { app: 'web' } };
    const apart = { weight: 1, podAffinityTerm: { topologyKey: 'node', labelSelector } };
    const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [apart] };
    const shop = await open(namespace, { 'web.json': workload(preferred) }, {});
    await shop.untilSays('Applied', 'Applied');
    const affinityOf = async () => {
      const web = (await shop.read('Deployment', 'web'))?.spec as {
        template: { spec: { affinity?: unknown } };
      };
      return web.template.spec.affinity;
    };

    await shop.commit('nothing is to be apart', { 'web.json': workload({}) });
    await shop.until('it is as it would be made anew', async () =>
      isDeepStrictEqual(await affinityOf(), { podAntiAffinity: {} }),
    );
    const before = (await shop.read('Deployment', 'web'))?.metadata.generation;
    await program.stop();
    const started = Date.now();
    program.start();
    await shop.until('it was applied once more', async () => {
      const patches = bed.auditedRequests({ user: `system:serviceaccount:${namespace}:holdfast` });
      return patches.some(
        ({ verb, objectRef, requestReceivedTimestamp }) =>
          verb === 'patch' && objectRef?.name === 'web' && Date.parse(requestReceivedTimestamp) > started,
      );
    });

    expect((await shop.read('Deployment', 'web'))?.metadata.generation).toBe(before);
    await program.stop();
  });

  test('a Canary that leaves Git hands back to its target, and nobody notices', async () => {
    const namespace = 'src-hand-back';
    const shop = await shops.openRunning(namespace, { source: { prune: true } });
    const load = shop.startLoad();
    await shop.repo.commit({ 'canary.yaml': null }, 'No canary any more');
    await waitFor(async () => !(await bed.readObject('Canary', namespace, 'podinfo')), {
      timeoutMs: 60_000,
      what: 'the Canary is gone',
      describe: () => bed.readObject('Source', namespace, 'shop'),
    });
    // The Source applies the target from now on; it is looked at a while longer.
    const { requests } = await load.current();
    await waitFor(async () => (await load.current()).requests > requests + 75, {
      timeoutMs: 120_000,
      what: 'more answers',
    });
    expect((await load.stop()).failures).toEqual([]);
    expect((await shop.workload('podinfo'))?.status).toMatchObject({ readyReplicas: 2 });
    await shop.close();
  });

  test('drift is put back within seconds and told with who and when; an autoscaler keeps its pods', async () => {
    const namespace = 'src-drift';
    const shop = await open(
      namespace,
      { 'a.json': configMap('a'), 'web.json': deployment({ name: 'web', image: 'app:v1', replicas: 1 }) },
      { interval: '10m' },
    );
    await shop.untilSays('Applied', 'Applied');
    await bed.kubectl(['-n', namespace, 'patch', 'configmap', 'a', '-p', '{"data":{"level":"debug"}}']);
    await shop.until('it is put back', async () => levelOf(await shop.read('ConfigMap', 'a')) === 'info');
    await shop.untilSays('Drifted', 'Corrected');
    expect((await shop.condition('Drifted'))?.message).toMatch(
      /ConfigMap src-drift\/a: \.data\.level \(kubectl-patch at \d{4}-\d\d-\d\dT/,
    );
    await bed.kubectl(['-n', namespace, 'delete', 'configmap', 'a', '--wait=false']);
    await shop.until('it is made anew', async () => (await shop.read('ConfigMap', 'a')) !== undefined);

    const scaler = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web', namespace },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 2,
        maxReplicas: 3,
      },
    };
    await bed.apply([scaler], namespace);
    const replicas = async () => {
      const { spec } = (await shop.read('Deployment', 'web')) as unknown as { spec: { replicas: number } };
      return spec.replicas;
    };
    await shop.until('the autoscaler has its way', async () => (await replicas()) === 2);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await replicas()).toBe(2);
    await shop.close();
  });

  test('with wait a Source is Ready when its pods are, and its Job is complete', async () => {
    const namespace = 'src-health';
    const web = deployment({ name: 'web', image: 'app:v1', replicas: 1 });
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'migrate' },
      spec: {
        suspend: false,
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: 'app:missing' }] } },
      },
    };
    const shop = await open(namespace, { 'web.json': web, 'job.json': job }, { wait: true, timeout: '5s' });
    await shop.untilSays('Healthy', 'HealthTimeout');
    await shop.until('only the Job is told of', async () => {
      const { message = '' } = (await shop.condition('Healthy')) ?? {};
      return message.includes(`Job ${namespace}/migrate: the Job is not complete`);
    });
    expect((await shop.condition('Ready'))?.status).toBe('False');
    await shop.commit('without the Job', { 'job.json': null });
    await shop.untilSays('Healthy', 'Healthy');
    await shop.until('it is Ready', async () => (await shop.condition('Ready'))?.status === 'True');
    await shop.close();
  });

  test('a Source writes with the rights of its account, and with no others', async () => {
    const namespace = 'src-account';
    const rules = (verbs: string[]) => [{ apiGroups: [''], resources: ['configmaps'], verbs }];
    await bed.apply(
      [
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'deployer', namespace } },
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'Role',
          metadata: { name: 'deployer', namespace },
          rules: rules(['get', 'create', 'patch', 'delete']),
        },
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'RoleBinding',
          metadata: { name: 'deployer', namespace },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'deployer' },
          subjects: [{ kind: 'ServiceAccount', name: 'deployer', namespace }],
        },
      ],
      namespace,
    );
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'own' },
      stringData: { token: 'x' },
    };
    const shop = await open(
      namespace,
      { 'a.json': configMap('a'), 'own.json': secret },
      { serviceAccountName: 'deployer', prune: true },
    );
    await shop.untilSays('Applied', 'Forbidden');
    expect((await shop.condition('Applied'))?.message).toContain(
      `system:serviceaccount:${namespace}:deployer`,
    );
    expect(await shop.read('ConfigMap', 'a')).toBeDefined();
    expect(await shop.read('Secret', 'own')).toBeUndefined();
    await shop.commit('only what it may', { 'own.json': null, 'b.json': configMap('b') });
    await shop.untilSays('Applied', 'Applied');
    await shop.commit('b is gone', { 'b.json': null });
    await shop.until('b is gone', async () => !(await shop.read('ConfigMap', 'b')));
    await shop.close();
  });

  test('what is not signed is not applied, what is signed is, and the signer is named', async () => {
    const namespace = 'src-signed';
    const keys = createTestKeys();
    const stringData = { allowed_signers: `ada@example.com ${keys.make('ada', 'ed25519')}` };
    await bed.apply(
      [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'signers' }, stringData }],
      namespace,
    );
    const shop = await open(
      namespace,
      { 'a.json': configMap('a') },
      { verify: { mode: 'HEAD', secretRef: { name: 'signers' } } },
    );
    await shop.untilSays('Ready', 'NotVerified');
    expect(await shop.read('ConfigMap', 'a')).toBeUndefined();
    await shop.commitSigned('signed', { 'a.json': configMap('a') }, keys.path('ada'));
    await shop.untilSays('Ready', 'Applied');
    expect((await shop.condition('Verified'))?.message).toContain('ada@example.com');
    expect(levelOf(await shop.read('ConfigMap', 'a'))).toBe('info');
    await shop.commit('not signed', { 'a.json': configMap('a', 'debug') });
    await shop.untilSays('Ready', 'NotVerified');
    expect(levelOf(await shop.read('ConfigMap', 'a'))).toBe('info');
    await shop.close();
    keys.close();
  });

  test('outside its window a revision waits, and goes out when somebody lets it through', async () => {
    const namespace = 'src-window';
    const never = [{ kind: 'deny', schedule: '* * * * *', duration: '10m' }];
    const options = { provider: 'kubernetes', spec: { skipAnalysis: true } } as const;
    const shop = await shops.open(namespace, { ...options, source: { windows: never } });
    await shop.release('v1');
    await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
    const commit = await shop.release('v2');
    await shop.until('v2 waits', (status) => status.phase === 'Waiting');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    const request = `holdfast.dev/ignore-window=${commit}`;
    await bed.kubectl(['-n', namespace, 'annotate', 'canary/podinfo', request]);
    // Without traffic nobody answers its checks afterwards; that it went out is what counts here.
    const image = async () => imageOf(await shop.workload('podinfo-primary'));
    await waitFor(async () => (await image()) === 'app:v2', {
      timeoutMs: 120_000,
      what: 'v2 is promoted',
      describe: shop.status,
    });
    await shop.close();
  });

  test('a freeze holds the next release until it is lifted, and tables show seven characters of a commit', async () => {
    const namespace = 'src-freeze';
    const options = { provider: 'kubernetes', spec: { skipAnalysis: true } } as const;
    const shop = await shops.open(namespace, options);
    const first = await shop.release('v1');
    await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
    for (const words of [['canary', '-o', 'wide'], ['sources.holdfast.dev']]) {
      const table = await bed.kubectl(['-n', namespace, 'get', ...words]);
      expect(table.split(/\s+/)).toContain(first.slice(0, 7));
    }
    await runJson(bed, 'freeze', '-n', namespace, '--reason', 'the sale');
    await shop.until('it is frozen', ({ conditions = [] }) =>
      conditions.some(({ type, status }) => type === 'Frozen' && status === 'True'),
    );

    const commit = await shop.release('v2');
    await shop.until('v2 waits', ({ phase, run }) => phase === 'Waiting' && run?.commit === commit);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');

    await runJson(bed, 'unfreeze', '-n', namespace);
    await waitFor(async () => imageOf(await shop.workload('podinfo-primary')) === 'app:v2', {
      timeoutMs: 120_000,
      what: 'v2 is promoted',
      describe: shop.status,
    });
    await shop.close();
  });

  test('a plan tells what the API server would refuse and what is not as base says, and changes nothing', async () => {
    const namespace = 'src-plan';
    const web = (labels: string): KubernetesObject => {
      const { spec, ...rest } = deployment({ name: 'web', image: 'app:v1', replicas: 0 });
      const { template } = spec as { template: { metadata: object } };
      const metadata = { ...template.metadata, labels: { app: labels } };
      const selector = { matchLabels: { app: labels } };
      return { ...rest, spec: { ...(spec as object), selector, template: { ...template, metadata } } };
    };
    const inNamespace = (object: KubernetesObject, place: string) => ({
      ...object,
      metadata: { ...object.metadata, namespace: place },
    });
    const shop = await open(
      namespace,
      { 'a.json': configMap('a'), 'b.json': configMap('b'), 'web.json': web('web') },
      {},
    );
    await shop.untilSays('Applied', 'Applied');
    await shop.suspend();
    await shop.untilSays('Ready', 'Suspended');
    await bed.kubectl([
      '-n',
      namespace,
      'patch',
      'configmap',
      'b',
      '--type=merge',
      '-p',
      '{"data":{"level":"debug"}}',
    ]);
    await shop.commit('much at once', {
      'a.json': configMap('a', 'debug'),
      'web.json': web('other'),
      'bad.json': {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'bad' },
        spec: { replicas: 1 },
      },
      'more.json': { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `${namespace}-more` } },
      'inside.json': inNamespace(configMap('inside'), `${namespace}-more`),
      'lost.json': inNamespace(configMap('lost'), `${namespace}-nowhere`),
    });
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-plan-'));
    const file = join(folder, 'source.json');
    const { metadata, spec, ...source } = (await bed.readObject(
      'Source',
      namespace,
      'shop',
    )) as KubernetesObject;
    writeFileSync(
      file,
      JSON.stringify({
        ...source,
        metadata: { name: metadata.name, namespace },
        spec: { ...(spec as object), suspend: false },
        status: undefined,
      }),
    );

    const revisions = [
      '--repo',
      shop.repository.folder,
      '--base',
      'HEAD^',
      '--head',
      'HEAD',
      '--source',
      file,
    ];
    const report = await runJson<PlanReport>(bed, 'plan', ...revisions, '--server-dry-run');

    rmSync(folder, { recursive: true });
    const findings = (report.sources[0]?.dryRun ?? []).map(({ object, state }) => `${object} ${state}`);
    expect(findings.sort(), JSON.stringify(report.sources[0], undefined, 1)).toEqual([
      `ConfigMap ${namespace}-nowhere/lost refused`,
      `ConfigMap ${namespace}/a differs`,
      `ConfigMap ${namespace}/b differs`,
      `Deployment ${namespace}/bad refused`,
      `Deployment ${namespace}/web refused`,
    ]);
    const said = (name: string) => report.sources[0]?.dryRun?.find(({ object }) => object.endsWith(name));
    expect(said('/web')?.message).toMatch(/immutable.*holdfast\.dev\/force/s);
    expect(said('/bad')?.message).toMatch(/spec\.(selector|template)/);
    expect(said('/b')).toMatchObject({
      message: expect.stringContaining('kubectl'),
      fields: ['data.level: debug -> info'],
    });
    expect(report.sources[0]?.oneWay).toMatchObject([{ rule: 'immutableField', severity: 'refused' }]);
    expect(levelOf(await shop.read('ConfigMap', 'a'))).toBe('info');
    expect(await shop.read('Deployment', 'bad')).toBeUndefined();
    const namespaces = await bed.kubectl(['get', 'namespaces', '-o', 'name']);
    expect(namespaces).not.toContain(`${namespace}-more`);
  });
});
