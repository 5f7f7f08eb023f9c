import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildModule } from '../../scripts/programs-build.mjs';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import { systemClock } from '../../src/api/clock.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { check } from '../../src/cli/check/checks.ts';
import { installObjects, runInstall } from '../../src/cli/install/install.ts';
import { destinationOf } from '../../src/cli/install/policies.ts';
import { applyRights, holdfastRights, ownRights } from '../../src/cli/install/rights.ts';
import { silentLogger } from '../../src/cluster/log.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { connect } from '../../src/server/connection.ts';
import { formatObjects } from '../../src/terminal/output.ts';
import { bedNames, bedVersion } from '../examples/bed-version.ts';
import { playPage } from '../examples/guide.ts';
import { imageOf } from '../objects.ts';
import { answering, type BedClient, useBed, waitFor } from './bed/client.ts';
import { httpRoute } from './bed/manifests.ts';
import { bedDesk } from './desk.ts';

const namespace = 'install-test-system';
const elsewhere = 'install-test-shop';
const account = `system:serviceaccount:${namespace}:holdfast`;
const options = { namespace, image: 'holdfast:test' };
const objects = installObjects(options);
const root = resolve(import.meta.dirname, '../..');
const withoutDefinitions = (all: readonly KubernetesObject[]) =>
  all.filter(({ kind }) => kind !== 'CustomResourceDefinition');
const installed = { watchNamespaces: [], trustedSourceNamespaces: [], providers: [], impersonation: false };
const clusterScoped = /^(Namespace|ClusterRole|ClusterRoleBinding|ValidatingAdmissionPolicy(Binding)?)$/;

let bed: BedClient;

const canary = (annotations: Record<string, string>) => ({
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'guarded', namespace: elsewhere, annotations },
  spec: {
    targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    service: { port: 80 },
    analysis: { interval: '1m', threshold: 1, stepWeight: 50 },
    suspend: true,
  },
});

beforeAll(async () => {
  bed = useBed();
  await bed.createNamespace(elsewhere);
  await bed.kubectl(['apply', '--server-side', '-f', '-'], runInstall(options, 'yaml').stdout);
});

afterAll(async () => {
  const cluster = objects.filter(({ kind }) => clusterScoped.test(kind));
  const leftovers = [
    ...cluster.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`),
    `namespace/${elsewhere}`,
  ];
  await bed.kubectl(['delete', '--wait=false', '--ignore-not-found', ...leftovers]);
});

/** What is left of these objects. Kubernetes may write an aggregated role anew that was deleted while it put its rules together. */
async function leftOf(text: string): Promise<string> {
  await bed.kubectl(['delete', '--ignore-not-found', '--wait=false', 'clusterrole/holdfast-apply']);
  return bed.kubectl(['get', '--ignore-not-found', '-o', 'name', '-f', '-'], text);
}

/** `resource` may have a subresource behind it, and the name of one object before that: `leases.coordination.k8s.io:holdfast`. */
async function canI(verb: string, resource: string, where: string, user = account): Promise<boolean> {
  const [named = '', subresource] = resource.split('/');
  const [full = '', name] = named.split(':');
  const [plural = '', ...group] = full.split('.');
  const asked = { namespace: where, verb, group: group.join('.'), resource: plural, subresource, name };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, resourceAttributes: asked },
  };
  // Asked of the API server itself: kubectl knows no kind whose definition is not there.
  const answer = await bed.api.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
  return (answer.status as { allowed?: boolean }).allowed === true;
}

describe('what install prints, on a real API server', () => {
  test('gives the account the rights of the list, and not those beside it', async () => {
    await waitFor(() => canI('watch', 'cronjobs.batch', elsewhere), {
      timeoutMs: 120_000,
      what: 'rights by aggregation',
    });
    const asked = [...holdfastRights(installed), ...applyRights(installed)].map((right) => ({
      right,
      where: elsewhere,
    }));
    const own = ownRights.map((right) => ({ right, where: namespace }));
    const missing: string[] = [];
    for (const { right, where } of [...asked, ...own]) {
      const [plural = '', subresource] = right.resource.split('/');
      const kind = [right.group ? `${plural}.${right.group}` : plural, ...(right.names ?? [])].join(':');
      const name = [kind, subresource].filter(Boolean).join('/');
      const verb = right.verbs.at(-1) ?? '';
      if (!(await canI(verb, name, where))) missing.push(`${verb} ${name} in ${where}`);
    }
    expect(missing).toEqual([]);
    expect(await canI('deletecollection', 'deployments.apps', elsewhere)).toBe(false);
    expect(await canI('impersonate', 'serviceaccounts', elsewhere)).toBe(false);
    expect(await canI('create', 'clusterrolebindings.rbac.authorization.k8s.io', elsewhere)).toBe(false);
    expect(await canI('create', 'pods', elsewhere)).toBe(false);
  });

  test('check finds that account well equipped, and names what another one lacks', async () => {
    const kubeconfig = bed.kubeconfigPath;
    const connection = await connect({ kubeconfig, version: 'test' }, systemClock, silentLogger);
    const http = createHttpClient({ allowLoopback: true });
    const rightsOf = async (asUser: string) => {
      const sections = await check(
        { connection, http },
        {
          sources: [],
          ownNamespace: namespace,
          watchNamespaces: [elsewhere],
          asUser,
          defaultProvider: 'kubernetes',
          forbidsOtherNamespaces: true,
          trustedSourceNamespaces: [],
          metricsServer: bed.prometheusUrl,
          env: {},
        },
      );
      return sections;
    };
    try {
      const equipped = await rightsOf(account);
      expect(equipped.find(({ title }) => title === 'API server')?.lines[0]?.state).toBe('ok');
      expect(
        equipped.find(({ title }) => title.startsWith('Custom'))?.lines.map(({ state }) => state),
      ).toEqual(Array(4).fill('ok'));
      expect(equipped.find(({ title }) => title === 'Rights')?.lines).toEqual([
        expect.objectContaining({ state: 'ok', subject: account }),
      ]);
      const lacking = (await rightsOf('nobody-special')).find(({ title }) => title === 'Rights')?.lines ?? [];
      expect(lacking).toContainEqual(
        expect.objectContaining({
          state: 'failed',
          actor: 'administrator',
          detail: expect.stringMatching(
            /^cannot .*create, patch, delete deployments\.apps in install-test-shop/,
          ),
        }),
      );
    } finally {
      await http.close();
      await connection.transport.close();
    }
  });

  test('a person who may edit a Canary cannot promote it without the right to', async () => {
    await bed.apply([canary({})], elsewhere);
    await bed.kubectl([
      '-n',
      elsewhere,
      'create',
      'rolebinding',
      'editor',
      '--clusterrole=edit',
      '--user=editor',
    ]);
    await bed.kubectl([
      '-n',
      elsewhere,
      'create',
      'rolebinding',
      'owner',
      '--clusterrole=admin',
      '--user=owner',
    ]);
    const annotate = (user: string, text: string) =>
      bed.kubectl(['-n', elsewhere, `--as=${user}`, 'annotate', '--overwrite', 'canary/guarded', text]);
    const edits = () => canI('patch', 'canaries.flagger.app', elsewhere, 'editor');
    await waitFor(edits, { timeoutMs: 120_000, what: 'the edit role for Canaries' });
    await waitFor(() => annotate('editor', 'team=shop').then(() => true), {
      timeoutMs: 60_000,
      what: 'an edit',
    });
    // The API server needs a moment until it knows a new policy.
    const refusal = await waitFor(
      () =>
        annotate('editor', `holdfast.dev/promote=${'a'.repeat(40)}@${Date.now()}`).then(
          () => undefined,
          (error: Error) => error.message,
        ),
      { timeoutMs: 120_000, intervalMs: 500, what: 'a refusal' },
    );
    expect(refusal).toContain('holdfast.dev/promote requires the RBAC verb promote on this object');
    await annotate('owner', `holdfast.dev/promote=${'b'.repeat(40)}`);
    await expect(annotate('editor', 'holdfast.dev/promote-')).rejects.toThrow('requires the RBAC verb');
    await annotate('editor', 'team=cart');
  });

  test('its account may write what people ask for on the dashboard once it is installed with it', async () => {
    const asAccount = ['-n', elsewhere, `--as=${account}`];
    const pause = () =>
      bed.kubectl([...asAccount, 'annotate', '--overwrite', 'canary/guarded', 'holdfast.dev/pause=true']);
    await expect(pause()).rejects.toThrow('requires the RBAC verb pause');
    const role = installObjects({ ...options, dashboard: true }).filter(
      ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'holdfast',
    );
    await bed.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(role[0]));
    await waitFor(() => pause().then(() => true), { timeoutMs: 60_000, what: 'the right to pause' });
  });

  test('the restricted pod security standard lets the pod in', async () => {
    const warnings = await bed.kubectl([
      'label',
      '--dry-run=server',
      '--overwrite',
      'namespace',
      namespace,
      'pod-security.kubernetes.io/enforce=restricted',
    ]);
    expect(warnings).not.toContain('violate');
    const privileged = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'privileged', namespace },
      spec: { containers: [{ name: 'a', image: 'app:v1', securityContext: { privileged: true } }] },
    };
    await expect(bed.apply([privileged], namespace)).rejects.toThrow(/violates PodSecurity .{1,2}restricted/);
    await waitFor(
      async () => {
        const pods = await bed.kubectl(['-n', namespace, 'get', 'pods', '-o', 'name']);
        return pods.includes('pod/holdfast-');
      },
      {
        timeoutMs: 120_000,
        what: 'a pod of the Deployment',
        describe: () => bed.kubectl(['-n', namespace, 'get', 'events']),
      },
    );
  });

  test('its options for more copies and for outgoing connections are valid, and their pods are let in, too', async () => {
    const egress = ['192.0.2.10/32:6443', 'monitoring:9090'].map((text) => destinationOf(text)!);
    const more = {
      ...options,
      replicas: 2,
      egress,
      trustedSourceNamespaces: ['delivery'],
      crossNamespaceRefs: true,
      dashboard: true,
    };
    const kinds =
      /^(PodDisruptionBudget|NetworkPolicy|Service|Deployment|ClusterRole|ValidatingAdmissionPolicy)$/;
    const wanted = installObjects(more).filter(({ kind }) => kinds.test(kind));
    for (const object of wanted)
      await bed.kubectl(
        ['apply', '--dry-run=server', '--validate=strict', '-f', '-'],
        JSON.stringify(object),
      );
    const { template } = wanted.find(({ kind }) => kind === 'Deployment')!.spec as {
      template: { spec: object };
    };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'as-template', namespace },
      spec: template.spec,
    };
    await bed.kubectl(['apply', '--dry-run=server', '-f', '-'], JSON.stringify(pod));
  });

  test('the examples of deploy are valid', async () => {
    const folder = join(import.meta.dirname, '../../deploy/examples');
    for (const file of readdirSync(folder)) {
      const text = readFileSync(join(folder, file), 'utf8').replaceAll('holdfast-system', namespace);
      await bed.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], text);
    }
  });

  test('is taken away by what it printed, as the guide says; the definitions stay for those that use them', async () => {
    const text = formatObjects(withoutDefinitions(objects), 'yaml');
    await bed.kubectl(['delete', '--ignore-not-found', '--wait=false', '-f', '-'], text);
    const left = () => leftOf(text);
    await waitFor(async () => (await left()).trim() === '', {
      timeoutMs: 180_000,
      what: 'the end of everything that was installed',
      describe: left,
    });
  });
});

describe('a person with a cluster and the README', () => {
  const where = 'shop';
  const home = mkdtempSync(join(tmpdir(), 'holdfast-readme-'));
  const checkout = join(home, 'checkout');
  const installOptions = ['--watch-namespaces', where, '--flag', 'min-analysis-interval=1s'];
  /** HOLDFAST_REAL_INTERVALS=1 keeps the pace of the README. */
  const paced = (text: string) =>
    process.env.HOLDFAST_REAL_INTERVALS ? bedNames(text, bed) : bedVersion(text, bed);
  /** The bed makes the image of what was built. */
  const adapt = (text: string) =>
    paced(text)
      .replace('npm run build\n', '')
      .replace(/^docker build .*\n/m, '')
      .replaceAll('REGISTRY/holdfast:v0.1.0', 'registry.example.com/holdfast:previous')
      .replaceAll('node dist/main.js', 'holdfast')
      .replaceAll('canary/web', 'canary/podinfo');
  const play = (path: string, text: string) =>
    playPage(path, text, { ...bedDesk(bed, 'readme', { installOptions }), folder: checkout, adapt });
  const status = async () => (await bed.readObject('Canary', where, 'podinfo'))?.status as CanaryStatus;
  const git = (...args: readonly string[]) => promisify(execFile)('git', ['-C', join(home, 'shop'), ...args]);

  beforeAll(async () => {
    await bed.createNamespace(where);
    const repository = 'examples/first-hour/repository';
    mkdirSync(join(checkout, repository), { recursive: true });
    for (const file of readdirSync(join(root, repository)))
      writeFileSync(
        join(checkout, repository, file),
        paced(readFileSync(join(root, repository, file), 'utf8')),
      );
  });
  afterAll(async () => {
    rmSync(home, { recursive: true });
    const image = 'registry.example.com/holdfast';
    const printed = installObjects({ namespace: 'holdfast-system', image, watchNamespaces: [where] });
    const text = formatObjects(withoutDefinitions(printed), 'yaml');
    await bed.kubectl(['delete', '--ignore-not-found', '--wait=false', '-f', '-'], text);
    await bed.kubectl(['delete', '--wait=false', `namespace/${where}`]);
  });

  test('is at a release that was taken back', async () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const [, section = ''] = /^## Install on a cluster$([\s\S]*?)^## /m.exec(readme) ?? [];
    // Blocks inside a list are indented.
    const text = section.replaceAll(/^ {3}/gm, '');
    const began = Date.now();
    await play('README.md', text);
    console.log(`the README was played in ${Math.round((Date.now() - began) / 1000)} s`);

    expect((await status()).rejected?.map(({ reason }) => reason)).toEqual(['PrimaryNotReady']);
    expect(imageOf(await bed.readObject('Deployment', where, 'podinfo-primary'))).toBe('app:6.9.0');
  });

  test('upgrades and goes back in the middle of a release, and no request fails', async () => {
    const guide = 'docs/guides/upgrade.md';
    await bed.kubectl(['-n', where, 'delete', 'quota', 'small']);
    const hostHeader = 'installed.example.com';
    await bed.apply([httpRoute('podinfo', hostHeader, { podinfo: 100 })], where);
    const load = await answering(bed, hostHeader);
    const file = join(home, 'shop', 'deployment.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('6.9.1', '6.9.2'));
    await git('commit', '--quiet', '-a', '-m', 'Run version 6.9.2');
    await git('push', '--quiet', 'origin', 'HEAD:main');
    await waitFor(async () => (await status()).phase === 'Progressing', {
      timeoutMs: 120_000,
      what: 'version 6.9.2 is tried',
      describe: status,
    });

    await play(guide, readFileSync(join(root, guide), 'utf8'));

    const { stdout: head } = await git('rev-parse', 'HEAD');
    expect((await status()).lastPromotedCommit).toBe(head.trim());
    expect(imageOf(await bed.readObject('Deployment', where, 'podinfo-primary'))).toBe('app:6.9.2');
    const holdfast = await bed.readObject('Deployment', 'holdfast-system', 'holdfast');
    expect(imageOf(holdfast)).toBe('registry.example.com/holdfast:v0.1.0');
    expect((await load.stop()).failures).toEqual([]);
  });
});

describe('the chart, with the pinned helm on a real API server', () => {
  const where = 'install-test-chart';
  const chart = join(import.meta.dirname, '../../deploy/chart');
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-helm-'));
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await bed.kubectl(['delete', '--wait=false', '--ignore-not-found', `namespace/${where}`]);
  });

  test('installs, upgrades and uninstalls', async () => {
    const { helm = '' } = await buildModule('programs/helm');
    const env = { ...process.env, HOME: folder, KUBECONFIG: bed.kubeconfigPath };
    const run = (...args: string[]) => promisify(execFile)(helm, [...args, '--namespace', where], { env });
    const names = (kind: string) =>
      bed.kubectl(['-n', where, 'get', kind, '-o', 'name']).then((text) => text.trim().split('\n'));
    await bed.createNamespace(where);
    // Other suites use the definitions meanwhile.
    await run('install', 'holdfast', chart, '--set', 'crds=false,image=holdfast:test');
    const wanted = installObjects({ namespace: where, image: 'holdfast:test' }).filter(
      ({ kind }) => !['CustomResourceDefinition', 'Namespace'].includes(kind),
    );
    const text = formatObjects(wanted, 'yaml');
    expect((await bed.kubectl(['get', '-o', 'name', '-f', '-'], text)).trim().split('\n')).toHaveLength(
      wanted.length,
    );
    // What install would apply over it differs in nothing that the API server knows.
    const deployment = JSON.parse(
      await bed.kubectl(['-n', where, 'get', 'deployment', 'holdfast', '-o', 'json']),
    );
    expect(deployment).toMatchObject(wanted.find(({ kind }) => kind === 'Deployment')!);

    await run('upgrade', 'holdfast', chart, '--reuse-values', '--set', 'replicas=2');
    expect(await names('poddisruptionbudget')).toEqual(['poddisruptionbudget.policy/holdfast']);
    await run('rollback', 'holdfast', '1');
    expect(await names('poddisruptionbudget')).toEqual(['']);

    await run('uninstall', 'holdfast');
    const left = () => leftOf(text);
    await waitFor(async () => (await left()).trim() === '', {
      timeoutMs: 180_000,
      what: 'the end of everything that helm installed',
      describe: left,
    });
    expect(await bed.kubectl(['get', 'crd', 'canaries.flagger.app', '-o', 'name'])).toContain('canaries');
  });
});
