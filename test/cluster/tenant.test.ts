/** A tenant with the role `edit` in one namespace, and Holdfast with exactly the rights that `holdfast install` prints: every way out is closed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';
import type { Condition, KubernetesObject } from '../../src/api/kubernetes.ts';
import type { Source } from '../../src/api/source/source.ts';
import { silentLogger } from '../../src/cluster/log.ts';
import { createSourceBindings } from '../../src/engine/sync/scope/source-bindings.ts';
import { createClusterPort, createOpenWatch } from '../../src/server/cluster.ts';
import { connect } from '../../src/server/connection.ts';
import { createWriteGate } from '../../src/server/write-gate.ts';
import { type BedClient, useBed, waitFor } from './bed/client.ts';
import type { GitRepo } from './bed/git-repo.ts';
import { installedRights, kubeconfigOf } from './bed/installed.ts';
import { deployment } from './bed/manifests.ts';
import { createProgram, type Program } from './scenarios/program.ts';

const system = 'tenant-system';
const own = 'tenant-team';
const victim = 'tenant-victim';
const holdfast = `system:serviceaccount:${system}:holdfast`;
const sourceAccount = `system:serviceaccount:${own}:holdfast-source`;

const bed: BedClient = useBed();
let repo: GitRepo;
let program: Program;

function object(
  apiVersion: string,
  kind: string,
  name: string,
  more: object = {},
  namespace?: string,
): KubernetesObject {
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace ? { namespace } : {}) },
    ...more,
  } as KubernetesObject;
}
const configMap = (name: string, namespace?: string) =>
  object('v1', 'ConfigMap', name, { data: { by: 'tenant' } }, namespace);
const rbac = 'rbac.authorization.k8s.io/v1';
const allOf = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
const tenantUser = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'tenant' }];

function canary(name: string, analysis: object = {}, namespace?: string): KubernetesObject {
  const spec = {
    targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
    service: { port: 80 },
    provider: 'kubernetes',
    analysis: { interval: '10s', threshold: 1, iterations: 1, ...analysis },
  };
  return object('flagger.app/v1beta1', 'Canary', name, { spec }, namespace);
}

function source(
  name: string,
  spec: object = {},
  namespace = own,
  annotations: Record<string, string> = {},
): KubernetesObject {
  const found = object('holdfast.dev/v1alpha1', 'Source', name, {
    spec: {
      url: repo.url,
      ref: { branch: 'main' },
      path: name,
      interval: '2s',
      defaultNamespace: namespace,
      ...spec,
    },
  });
  return { ...found, metadata: { name, namespace, annotations } };
}

/** What a tenant puts into Git, under which Source, and what is said of it. */
interface WayOut {
  readonly what: string;
  readonly files: readonly KubernetesObject[];
  readonly spec?: object;
  readonly annotations?: Record<string, string>;
  readonly says: RegExp;
}

const elsewhere =
  /NotAllowed.*is another one.*spec\.serviceAccountName.*--trusted-source-namespaces tenant-team/s;
const nowhere = /NotAllowed.*is in no namespace.*--trusted-source-namespaces tenant-team/s;
const forbidden = new RegExp(`Forbidden.*${sourceAccount}.*spec\\.serviceAccountName`, 's');

const waysOut: readonly WayOut[] = [
  { what: 'a new object of another namespace', files: [configMap('planted', victim)], says: elsewhere },
  {
    what: "another namespace's Secret, taken over",
    files: [object('v1', 'Secret', 'crown', { stringData: { password: 'tenant' } }, victim)],
    says: elsewhere,
  },
  {
    what: 'another namespace that its own allow names',
    files: [configMap('planted', victim)],
    spec: { allow: { namespaces: [victim, own] } },
    says: elsewhere,
  },
  {
    what: 'an object of another namespace, to be deleted and made anew',
    files: [
      {
        ...configMap('theirs', victim),
        metadata: { name: 'theirs', namespace: victim, annotations: { 'holdfast.dev/force': 'enabled' } },
      },
    ],
    spec: { force: true },
    says: elsewhere,
  },
  {
    what: "another tool's object of another namespace, adopted",
    files: [
      {
        ...configMap('theirs', victim),
        metadata: { name: 'theirs', namespace: victim, annotations: { 'holdfast.dev/adopt': 'true' } },
      },
    ],
    annotations: { 'holdfast.dev/adopt-from': `Kustomization/${victim}/theirs` },
    says: elsewhere,
  },
  { what: 'kube-system', files: [configMap('planted', 'kube-system')], says: elsewhere },
  { what: "Holdfast's namespace", files: [configMap('planted', system)], says: elsewhere },
  {
    what: "Holdfast's key",
    files: [object('v1', 'Secret', 'holdfast-key', { stringData: { key: 'x'.repeat(44) } }, system)],
    says: /belongs to Holdfast/,
  },
  {
    what: "Holdfast's Lease",
    files: [object('coordination.k8s.io/v1', 'Lease', 'holdfast', { spec: {} }, system)],
    says: /belongs to Holdfast/,
  },
  { what: 'a new namespace', files: [object('v1', 'Namespace', 'tenant-planted')], says: nowhere },
  {
    what: "its own namespace's labels of pod security",
    files: [
      {
        ...object('v1', 'Namespace', own),
        metadata: { name: own, labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
      },
    ],
    says: nowhere,
  },
  {
    what: 'cluster-admin for itself',
    files: [
      object(rbac, 'ClusterRoleBinding', 'tenant-planted', {
        roleRef: allOf('ClusterRole', 'cluster-admin'),
        subjects: tenantUser,
      }),
    ],
    says: nowhere,
  },
  {
    what: 'a role aggregated to everybody',
    files: [
      object(rbac, 'ClusterRole', 'tenant-planted', {
        rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      }),
    ],
    says: nowhere,
  },
  {
    what: 'a webhook on every write of the cluster',
    files: [
      object('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'tenant-planted', {
        webhooks: [],
      }),
    ],
    says: nowhere,
  },
  {
    what: 'a volume on a node',
    files: [
      object('v1', 'PersistentVolume', 'tenant-planted', {
        spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/' } },
      }),
    ],
    says: nowhere,
  },
  {
    what: 'the role admin for itself in its namespace',
    files: [
      object(rbac, 'RoleBinding', 'planted', {
        roleRef: allOf('ClusterRole', 'admin'),
        subjects: tenantUser,
      }),
    ],
    says: forbidden,
  },
  {
    what: 'a role of its own in its namespace',
    files: [
      object(rbac, 'Role', 'planted', {
        rules: [{ apiGroups: ['flagger.app'], resources: ['canaries'], verbs: ['promote'] }],
      }),
    ],
    says: forbidden,
  },
  {
    what: 'the quota of its namespace',
    files: [object('v1', 'ResourceQuota', 'planted', { spec: { hard: { pods: '1000' } } })],
    says: forbidden,
  },
  {
    what: "endpoints that lead to another namespace's pods",
    files: [
      object('discovery.k8s.io/v1', 'EndpointSlice', 'planted', {
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.244.0.1'] }],
        ports: [{ port: 80 }],
      }),
    ],
    says: forbidden,
  },
  {
    what: "another tenant's host name on the shared gateway",
    files: [
      object('gateway.networking.k8s.io/v1', 'HTTPRoute', 'planted', {
        spec: { hostnames: ['victim.example.com'] },
      }),
    ],
    says: forbidden,
  },
  { what: 'a Source of another namespace', files: [source_('planted')], says: elsewhere },
  { what: 'a Canary of another namespace', files: [canary('theirs', {}, victim)], says: elsewhere },
  {
    what: 'its own approval of a release',
    files: [
      deployment({ name: 'promoted', image: 'app:v1' }),
      {
        ...canary('promoted'),
        metadata: { name: 'promoted', annotations: { 'holdfast.dev/promote': 'a'.repeat(40) } },
      },
    ],
    says: /Forbidden.*requires the RBAC verb promote/s,
  },
  {
    what: "an account by another namespace's name",
    files: [configMap('planted')],
    spec: { serviceAccountName: `x:${system}:holdfast` },
    says: /serviceAccountName|cannot impersonate/,
  },
  {
    what: "Holdfast's account by its name",
    files: [configMap('planted-as-holdfast')],
    spec: { serviceAccountName: 'holdfast' },
    says: new RegExp(`Forbidden.*system:serviceaccount:${own}:holdfast`, 's'),
  },
  {
    what: 'a Source with more rights, by an account that may write Sources alone',
    files: [source_('planted', own)],
    spec: { serviceAccountName: 'weak' },
    says: /requires the RBAC verb impersonate on service account tenant-team\/holdfast-source/,
  },
  {
    what: "what another namespace's Source says",
    files: [configMap('fine')],
    spec: { dependsOn: [{ name: 'theirs', namespace: victim }] },
    says: /InvalidSpec.*--cross-namespace-refs/s,
  },
  {
    what: "another namespace's receiver of alerts",
    files: [configMap('fine')],
    spec: { alerts: [{ name: 'x', providerRef: { name: 'theirs', namespace: victim } }] },
    says: /InvalidSpec.*--cross-namespace-refs/s,
  },
];

/** In Git before the repository has an address. */
function source_(name: string, namespace = victim): KubernetesObject {
  const spec = { url: 'https://git.example.com/planted.git', ref: { branch: 'main' } };
  return object('holdfast.dev/v1alpha1', 'Source', name, { spec }, namespace);
}

const nameOf = (index: number) => `way-${index + 1}`;

/** What the Source and its conditions say, with reasons. */
async function toldOf(name: string): Promise<string> {
  const { conditions = [] } = ((await bed.readObject('Source', own, name))?.status ?? {}) as {
    conditions?: Condition[];
  };
  return conditions.map(({ reason, message }) => `${reason}: ${message}`).join('\n');
}

const plurals: Readonly<Record<string, string>> = {
  sources: '/apis/holdfast.dev/v1alpha1',
  configmaps: '/api/v1',
  secrets: '/api/v1',
  metrictemplates: '/apis/flagger.app/v1beta1',
  alertproviders: '/apis/flagger.app/v1beta1',
};

/** Objects that say their namespaces themselves. */
const applyAll = (items: readonly unknown[]) =>
  bed.kubectl(
    ['apply', '--server-side', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  );

/** A request of somebody else than the administrator; the error's message where it is refused. */
async function tryAs(
  user: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<string | undefined> {
  const headers = { 'impersonate-user': user };
  const type = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {};
  return bed.api.request(method, path, body, { ...headers, ...type }).then(
    () => undefined,
    (error: Error) => error.message,
  );
}
const pathOf = (plural: string, namespace: string) => `${plurals[plural]}/namespaces/${namespace}/${plural}`;

beforeAll(async () => {
  for (const namespace of [system, own, victim]) await bed.createNamespace(namespace);
  await applyAll(
    installedRights('tenant', { namespace: system, watchNamespaces: [own, victim], impersonation: true }),
  );
  const theirs = configMap('theirs', victim);
  await applyAll([
    {
      ...theirs,
      data: { by: 'victim' },
      metadata: {
        ...theirs.metadata,
        labels: {
          'kustomize.toolkit.fluxcd.io/name': 'theirs',
          'kustomize.toolkit.fluxcd.io/namespace': victim,
        },
      },
    },
    object('v1', 'Secret', 'crown', { stringData: { password: 'victim' } }, victim),
    object(
      rbac,
      'RoleBinding',
      'tenant',
      { roleRef: allOf('ClusterRole', 'edit'), subjects: tenantUser },
      own,
    ),
    object('v1', 'ServiceAccount', 'weak', {}, own),
    object(
      rbac,
      'Role',
      'sources-alone',
      {
        rules: [
          {
            apiGroups: ['holdfast.dev'],
            resources: ['sources'],
            verbs: ['get', 'create', 'patch', 'update'],
          },
          {
            apiGroups: ['flagger.app'],
            resources: ['metrictemplates', 'alertproviders'],
            verbs: ['get', 'create', 'patch', 'update'],
          },
        ],
      },
      own,
    ),
    object(
      rbac,
      'RoleBinding',
      'weak',
      {
        roleRef: allOf('Role', 'sources-alone'),
        subjects: [
          { kind: 'ServiceAccount', name: 'weak', namespace: own },
          { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'sources-alone' },
        ],
      },
      own,
    ),
  ]);
  repo = await bed.createGitRepo('tenant');
  const good = [configMap('fine'), deployment({ name: 'web', image: 'fake/app:v1' })];
  const entries = [
    ...waysOut.map(({ files }, index) => [nameOf(index), files] as const),
    ['good', good] as const,
    ['pruned', [configMap('kept')]] as const,
  ].flatMap(([folder, files]) =>
    files.map((file, index) => [`${folder}/${index}.json`, JSON.stringify(file)] as const),
  );
  await repo.commit(Object.fromEntries(entries), 'everything that a tenant can think of');
  await waitFor(
    async () => (await tryAs('tenant', 'POST', pathOf('sources', own), source('good'))) === undefined,
    {
      timeoutMs: 120_000,
      what: 'the role edit for Sources',
      describe: () => tryAs('tenant', 'POST', `${pathOf('sources', own)}?dryRun=All`, source('x')),
    },
  );
  const refusal = () =>
    tryAs('sources-alone', 'POST', `${pathOf('sources', own)}?dryRun=All`, source('probe'));
  await waitFor(async () => (await refusal())?.includes('requires the RBAC verb'), {
    timeoutMs: 120_000,
    what: 'the admission policies',
    describe: refusal,
  });
  const kubeconfigPath = await kubeconfigOf(bed, system, 'holdfast');
  program = createProgram(
    bed,
    { namespaces: [own, victim], kubeconfigPath },
    undefined,
    {},
    { POD_NAMESPACE: system },
  );
  program.start();
});

afterAll(async () => {
  await program?.stop();
  const left = installedRights('tenant', {
    namespace: system,
    watchNamespaces: [own, victim],
    impersonation: true,
  });
  const cluster = left
    .filter(({ metadata }) => !metadata.namespace)
    .map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
  await bed.kubectl(['delete', '--wait=false', '--ignore-not-found', ...cluster]);
});

describe('a tenant with the role edit in one namespace', () => {
  test('gets what the role covers there, by Git as by hand', async () => {
    await waitFor(async () => (await toldOf('good')).includes('Applied: applied'), {
      timeoutMs: 120_000,
      what: 'the good Source',
      describe: () => toldOf('good'),
    });
    await waitFor(() => bed.readObject('Deployment', own, 'web'), {
      timeoutMs: 60_000,
      what: 'its Deployment',
      describe: () => toldOf('good'),
    });
    expect((await bed.readObject('ConfigMap', own, 'fine'))?.data).toEqual({ by: 'tenant' });
  });

  test(`tries ${waysOut.length} ways out by Git and is refused each time, with a reason`, async () => {
    const before = await Promise.all([
      bed.readObject('ConfigMap', victim, 'theirs'),
      bed.readObject('Secret', victim, 'crown'),
    ]);
    const atOnce = await Promise.all(
      waysOut.map(({ spec, annotations }, index) =>
        tryAs('tenant', 'POST', pathOf('sources', own), source(nameOf(index), spec, own, annotations)),
      ),
    );
    const out: string[] = [];
    for (const [index, { what, says }] of waysOut.entries()) {
      const told = async () => atOnce[index] ?? (await toldOf(nameOf(index)));
      const isTold = await waitFor(async () => says.test(await told()), { timeoutMs: 60_000, what }).catch(
        () => false,
      );
      if (!isTold) out.push(`${what}: ${await told()}`);
    }
    expect(out).toEqual([]);
    const after = await Promise.all([
      bed.readObject('ConfigMap', victim, 'theirs'),
      bed.readObject('Secret', victim, 'crown'),
    ]);
    expect(after).toEqual(before);
    for (const namespace of [own, victim, system, 'kube-system']) {
      expect(await bed.readObject('ConfigMap', namespace, 'planted'), namespace).toBeUndefined();
    }
    const left = await bed.kubectl([
      'get',
      '--ignore-not-found',
      '-o',
      'name',
      'namespace/tenant-planted',
      'clusterrole/tenant-planted',
      'clusterrolebinding/tenant-planted',
      'persistentvolume/tenant-planted',
    ]);
    expect(left).toBe('');
    expect(
      await bed.kubectl(['-n', own, 'get', 'rolebindings,roles,resourcequotas', '-o', 'name']),
    ).not.toContain('planted');
  });

  test("tries Canaries that refer to another namespace's templates and receivers, and is told the flag", async () => {
    const metrics = [
      {
        name: 'theirs',
        interval: '10s',
        thresholdRange: { min: 1 },
        templateRef: { name: 'theirs', namespace: victim },
      },
    ];
    const alerts = [{ name: 'theirs', providerRef: { name: 'theirs', namespace: victim } }];
    for (const [name, analysis] of Object.entries({ measured: { metrics }, told: { alerts } })) {
      const path = `/apis/flagger.app/v1beta1/namespaces/${own}/canaries`;
      expect(await tryAs('tenant', 'POST', path, canary(name, analysis))).toBeUndefined();
      const ready = async () => {
        const { conditions = [] } = ((await bed.readObject('Canary', own, name))?.status ?? {}) as {
          conditions?: Condition[];
        };
        return conditions.find(({ type }) => type === 'Ready')?.message ?? '';
      };
      await waitFor(async () => (await ready()).includes('--cross-namespace-refs'), {
        timeoutMs: 60_000,
        what: name,
        describe: ready,
      });
    }
  });

  test("tries to have another namespace's object pruned as its own", async () => {
    expect(
      await tryAs('tenant', 'POST', pathOf('sources', own), source('pruned', { prune: true })),
    ).toBeUndefined();
    const read = async () => bed.readObject('Source', own, 'pruned');
    const id = await waitFor(async () => (await read())?.metadata.labels?.['applyset.kubernetes.io/id'], {
      timeoutMs: 60_000,
      what: 'its id',
      describe: read,
    });
    // Whoever fell for it: the label is the one that its own objects have.
    await bed.kubectl(['-n', victim, 'label', 'configmap/theirs', `applyset.kubernetes.io/part-of=${id}`]);
    const annotations = {
      'applyset.kubernetes.io/contains-group-kinds': 'ConfigMap,Secret',
      'applyset.kubernetes.io/additional-namespaces': victim,
    };
    expect(
      await tryAs('tenant', 'PATCH', `${pathOf('sources', own)}/pruned`, { metadata: { annotations } }),
    ).toBeUndefined();
    await repo.commit({ 'pruned/1.json': JSON.stringify(configMap('more')) }, 'look again');
    await waitFor(() => bed.readObject('ConfigMap', own, 'more'), {
      timeoutMs: 60_000,
      what: 'the next commit',
      describe: () => toldOf('pruned'),
    });
    await waitFor(async () => /theirs: .*is another one/.test(await toldOf('pruned')), {
      timeoutMs: 60_000,
      what: 'that it stays',
      describe: () => toldOf('pruned'),
    });
    expect(await bed.readObject('ConfigMap', victim, 'theirs')).toBeDefined();
  });

  test('gains nothing by the account that Holdfast writes as', async () => {
    const { status } = await bed.api
      .request<{ status: { token: string } }>(
        'POST',
        `/api/v1/namespaces/${own}/serviceaccounts`,
        object('v1', 'ServiceAccount', 'holdfast-source'),
        { 'impersonate-user': 'tenant' },
      )
      .then(() =>
        bed.api.request<{ status: { token: string } }>(
          'POST',
          `/api/v1/namespaces/${own}/serviceaccounts/holdfast-source/token`,
          { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
          { 'impersonate-user': 'tenant' },
        ),
      );
    expect(status.token).toBeTruthy();
    for (const [method, path, body] of [
      ['GET', `${pathOf('secrets', victim)}/crown`],
      ['GET', `${pathOf('secrets', system)}/holdfast-key`],
      ['POST', pathOf('configmaps', victim), configMap('planted')],
      [
        'POST',
        `/apis/${rbac}/namespaces/${own}/rolebindings`,
        object(rbac, 'RoleBinding', 'planted', {
          roleRef: allOf('ClusterRole', 'admin'),
          subjects: tenantUser,
        }),
      ],
      ['PATCH', `/apis/holdfast.dev/v1alpha1/namespaces/${own}/sources/good/status`, { status: {} }],
    ] as const)
      expect(await tryAs(sourceAccount, method, path, body), `${method} ${path}`).toContain('forbidden');
  });

  test('cannot approve, and a right on Sources alone writes none', async () => {
    const approve = { metadata: { annotations: { 'holdfast.dev/approve': 'a'.repeat(40) } } };
    expect(await tryAs('tenant', 'PATCH', `${pathOf('sources', own)}/good`, approve)).toContain(
      'requires the RBAC verb approve',
    );
    expect(await tryAs('sources-alone', 'POST', pathOf('sources', own), source('alone'))).toContain(
      `requires the RBAC verb impersonate on service account ${own}/holdfast-source`,
    );
    const changed = { spec: { url: 'https://git.example.com/other.git' } };
    expect(await tryAs('sources-alone', 'PATCH', `${pathOf('sources', own)}/good`, changed)).toContain(
      'requires the RBAC verb',
    );
    expect(
      await tryAs('sources-alone', 'PATCH', `${pathOf('sources', own)}/good`, {
        metadata: { labels: { team: 'x' } },
      }),
    ).toBeUndefined();
  });

  test('sends no Secret anywhere without the right to read it', async () => {
    const provider = { type: 'web', address: 'https://thief.example.com' };
    const secretRef = { name: 'crown' };
    const template = (more: object) =>
      object('flagger.app/v1beta1', 'MetricTemplate', 'thief', {
        spec: { query: '', provider: { ...provider, ...more } },
      });
    const receiver = object('flagger.app/v1beta1', 'AlertProvider', 'thief', {
      spec: { type: 'slack', secretRef },
    });
    const refusal = `requires the RBAC verb get on Secret ${own}/crown`;

    for (const [resource, named] of [
      ['metrictemplates', template({ secretRef })],
      ['alertproviders', receiver],
    ] as const) {
      expect(await tryAs('sources-alone', 'POST', pathOf(resource, own), named), resource).toContain(refusal);
      expect(
        await tryAs('tenant', 'POST', `${pathOf(resource, own)}?dryRun=All`, named),
        resource,
      ).toBeUndefined();
    }
    expect(
      await tryAs('sources-alone', 'POST', pathOf('metrictemplates', own), template({})),
    ).toBeUndefined();
    const one = `${pathOf('metrictemplates', own)}/thief`;
    expect(await tryAs('sources-alone', 'PATCH', one, { spec: { provider: { secretRef } } })).toContain(
      refusal,
    );
    expect(
      await tryAs('sources-alone', 'PATCH', one, { metadata: { labels: { team: 'x' } } }),
    ).toBeUndefined();
  });

  test('left no write of Holdfast outside of its namespace', () => {
    const writes = bed
      .auditedRequests({ user: holdfast })
      .filter(
        ({ verb, responseStatus }) =>
          /create|patch|update|delete/.test(verb) && (responseStatus?.code ?? 0) < 400,
      )
      .filter(({ objectRef }) => objectRef?.namespace !== own);
    const places = new Set(
      writes.map(({ objectRef }) => `${objectRef?.namespace ?? ''} ${objectRef?.resource}`),
    );
    expect(
      [...places].filter(
        (place) => !/^tenant-system (leases|secrets)$| (selfsubject|tokenreview)/.test(place),
      ),
    ).toEqual([]);
    expect(bed.auditedRequests({ user: holdfast }).length).toBeGreaterThan(50);
  });
});

test('the account gets its role by the rights of install, and Holdfast can bind nothing else', async () => {
  const where = 'tenant-bindings';
  const home = 'tenant-bindings-system';
  for (const namespace of [where, home]) await bed.createNamespace(namespace);
  const installed = installedRights('tenant-bindings', { namespace: home });
  await applyAll(installed);
  const account = `system:serviceaccount:${home}:holdfast`;
  const kubeconfig = await kubeconfigOf(bed, home, 'holdfast');
  const connection = await connect({ kubeconfig, version: 'test' }, systemClock, silentLogger);
  try {
    const cluster = createClusterPort(
      connection.client,
      createWriteGate(() => true),
    );
    const openWatch = createOpenWatch(connection.caches);
    const bindings = openWatch({
      apiVersion: rbac,
      kind: 'RoleBinding',
      name: 'holdfast-source',
      metadataOnly: true,
    });
    let sources = [source_('shop', where)];
    const kept = createSourceBindings({
      ...{ cluster, clock: systemClock, log: silentLogger, bindings },
      sources: { list: () => sources, synced: () => true },
      canaries: { list: () => [], synced: () => true },
      rights: {
        ...{ isTrusted: () => false, areFromFiles: false, crossNamespaceRefs: false },
        ...{ ownNamespace: home, protectedNamespaces: ['kube-system', home] },
      },
    });
    await waitFor(async () => bindings.synced(), {
      timeoutMs: 120_000,
      what: 'a watch by name',
      describe: async () => bindings.problem(),
    });
    const mayWrite = () =>
      tryAs(
        `system:serviceaccount:${where}:holdfast-source`,
        'POST',
        `${pathOf('configmaps', where)}?dryRun=All`,
        configMap('a'),
      );
    expect(await mayWrite()).toContain('forbidden');
    await kept.ensure(sources[0] as Source);
    await waitFor(async () => (await mayWrite()) === undefined, {
      timeoutMs: 30_000,
      what: 'the role',
      describe: mayWrite,
    });

    const bind = (namespace: string, name: string, role: string, subjects: object[]) =>
      tryAs(
        account,
        'POST',
        `/apis/${rbac}/namespaces/${namespace}/rolebindings`,
        object(rbac, 'RoleBinding', name, { roleRef: allOf('ClusterRole', role), subjects }),
      );
    const itself = (namespace: string) => [{ kind: 'ServiceAccount', name: 'holdfast-source', namespace }];
    const policy = 'Holdfast binds nothing but';
    await waitFor(async () => (await bind(where, 'other', 'edit', itself(where)))?.includes(policy), {
      timeoutMs: 120_000,
      what: 'the policy',
    });
    expect(await bind(own, 'holdfast-source', 'edit', tenantUser)).toContain(policy);
    expect(await bind('kube-system', 'holdfast-source', 'edit', itself('kube-system'))).toContain(policy);
    expect(await bind(home, 'holdfast-source', 'edit', itself(home))).toContain(policy);
    expect(await bind(victim, 'holdfast-source', 'edit', itself(own))).toContain(policy);
    expect(await bind(victim, 'holdfast-source', 'admin', itself(victim))).toContain('forbidden');

    sources = [];
    await waitFor(async () => bindings.list().length > 0, { timeoutMs: 30_000, what: 'the watch' });
    await kept.sweep();
    expect(await bed.readObject('RoleBinding', where, 'holdfast-source')).toBeUndefined();
  } finally {
    await connection.caches.stop();
    await connection.close();
    const cluster = installed
      .filter(({ metadata }) => !metadata.namespace)
      .map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
    await bed.kubectl([
      'delete',
      '--wait=false',
      '--ignore-not-found',
      ...cluster,
      `namespace/${where}`,
      `namespace/${home}`,
    ]);
  }
});
