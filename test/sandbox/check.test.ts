import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commitFiles, createRepository } from '../../sandbox/git-server/git-repository.ts';
import { type GitServer, startGitServer } from '../../sandbox/git-server/git-server.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { systemClock } from '../../src/api/clock.ts';
import { allCrds } from '../../src/api/kinds/crd.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { type CheckOptions, check } from '../../src/cli/check/checks.ts';
import { status } from '../../src/cli/status/report.ts';
import { silentLogger } from '../../src/cluster/log.ts';
import { createHttpClient, type HttpClientOptions } from '../../src/http/client.ts';
import type { HttpClient } from '../../src/http/types.ts';
import { type Connection, connect } from '../../src/server/connection.ts';
import { type CheckLine, checkReport } from '../../src/terminal/check-report.ts';
import { canaryDocument } from '../documents/builders.ts';

const loopback: HttpClientOptions = { allowLoopback: true };
const screen = { columns: 80, colour: false };

let folder: string;
let sandbox: Sandbox;
let git: GitServer;
let connection: Connection;
let http: HttpClient;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-check-'));
  sandbox = await startSandbox();
  git = await startGitServer({ root: folder });
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  connection = await connect({ kubeconfig, version: 'test' }, systemClock, silentLogger);
  http = createHttpClient(loopback);
  const repository = await createRepository(folder, 'shop');
  await commitFiles(repository, { subject: 'First', files: { 'a.yaml': 'a: 1\n' } });
});

afterAll(async () => {
  await http.close();
  await connection.transport.close();
  await git.close();
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

function options(more: Partial<CheckOptions> = {}): CheckOptions {
  return {
    sources: [],
    ownNamespace: 'default',
    watchNamespaces: [],
    defaultProvider: 'kubernetes',
    forbidsOtherNamespaces: true,
    trustedSourceNamespaces: [],
    metricsServer: sandbox.prometheusUrl,
    env: {},
    ...more,
  };
}

async function linesOf(more: Partial<CheckOptions> = {}): Promise<CheckLine[]> {
  const sections = await check({ connection, http }, options(more));
  return sections.flatMap(({ lines }) => lines);
}

function line(lines: readonly CheckLine[], subject: string | RegExp): CheckLine | undefined {
  return lines.find((one) =>
    typeof subject === 'string' ? one.subject === subject : subject.test(one.subject),
  );
}

const apply = (object: KubernetesObject) =>
  connection.client.apply(object, { manager: 'test', force: true, fieldValidation: 'Ignore' });

function source(name: string, spec: object): KubernetesObject {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name, namespace: 'default' },
    spec: { url: `${git.url}/shop.git`, ref: { branch: 'main' }, ...spec },
  };
}

/** The schema of a CRD's one version. */
function schemaOf(crd: KubernetesObject): {
  properties: Record<string, { properties?: Record<string, unknown> }>;
} {
  const { versions } = crd.spec as {
    versions: Array<{ schema: { openAPIV3Schema: ReturnType<typeof schemaOf> } }>;
  };
  return versions[0]!.schema.openAPIV3Schema;
}

/** Ours, without the field that the sandbox takes for a description of all metadata. */
function crds(): KubernetesObject[] {
  const copies = structuredClone(allCrds());
  for (const crd of copies) delete schemaOf(crd).properties.metadata;
  return copies;
}

describe('check, on a cluster', () => {
  it('without our CRDs says what to apply, and is not well', async () => {
    const sections = await check({ connection, http }, options());
    expect(
      line(
        sections.flatMap(({ lines }) => lines),
        'Canary',
      ),
    ).toMatchObject({
      state: 'failed',
      actor: 'administrator',
      act: 'run: holdfast install --crds-only | kubectl apply --server-side --force-conflicts -f -',
    });
    expect(checkReport(sections, 'text', screen).exitCode).toBe(1);
  });

  it('names fields that a CRD of somebody else drops', async () => {
    for (const crd of crds()) await apply(crd);
    const [canaryCrd] = crds();
    delete schemaOf(canaryCrd!).properties.spec!.properties!.postPromotion;
    await apply(canaryCrd!);
    expect(line(await linesOf(), 'Canary')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^SchemaOutdated: .*drops spec\.postPromotion$/),
    });
    await apply(crds()[0]!);
    expect(line(await linesOf(), 'Canary')).toMatchObject({ state: 'ok' });
  });

  it('names a namespace to watch that is not there, and nothing of one that is', async () => {
    const lines = await linesOf({ watchNamespaces: ['default', 'shpo'] });
    expect(lines.filter(({ subject }) => subject.startsWith('namespace '))).toEqual([
      {
        ...{ state: 'warning', subject: 'namespace shpo', detail: 'does not exist', actor: 'administrator' },
        act: 'create it, or name another one with --watch-namespaces',
      },
    ]);
  });

  it('asks Git for the ref of each Source and names who has to act', async () => {
    await apply(source('good', {}));
    await apply(source('no-branch', { ref: { branch: 'nowhere' } }));
    await apply(source('no-repository', { url: `${git.url}/nothing.git` }));
    await apply(source('no-secret', { secretRef: { name: 'git' } }));
    const lines = await linesOf();
    expect(line(lines, 'Source default/good')).toMatchObject({
      state: 'ok',
      detail: expect.stringMatching(/refs\/heads\/main .* is at [0-9a-f]{7}$/),
    });
    expect(line(lines, 'Source default/no-branch')).toMatchObject({
      state: 'failed',
      actor: 'author',
      detail: expect.stringContaining('no branch "nowhere"'),
    });
    expect(line(lines, 'Source default/no-repository')).toMatchObject({ state: 'failed' });
    expect(line(lines, 'Source default/no-secret')).toMatchObject({
      state: 'failed',
      actor: 'administrator',
      detail: expect.stringContaining('Secret default/git'),
    });
  });

  it('looks at the account, the signers and the keys of each Source', async () => {
    const secret = (name: string, stringData: Record<string, string>) => {
      const data = Object.entries(stringData).map(([key, text]) => [
        key,
        Buffer.from(text).toString('base64'),
      ]);
      const metadata = { name, namespace: 'default' };
      return apply({ apiVersion: 'v1', kind: 'Secret', metadata, data: Object.fromEntries(data) });
    };
    const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4RwcZ4YRWTUZPhC6QOYFZSFVBrSqW7mZcqT2nH0D3a';
    await secret('signers', { allowed_signers: `ada@example.com namespaces="git" ${key}\n` });
    await secret('nobody', { note: '' });
    await secret('no-age', { key: 'x' });
    const verify = (name: string) => ({ verify: { mode: 'HEAD', secretRef: { name } } });
    await apply(source('signed', verify('signers')));
    await apply(source('signed-by-nobody', verify('nobody')));
    await apply(source('signers-lost', verify('gone')));
    await apply(source('sealed', { decryption: { secretRef: { name: 'no-age' } } }));
    await apply(source('as-nobody', { serviceAccountName: 'deployer' }));
    await apply({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'there', namespace: 'default' },
    });
    await apply(source('as-there', { serviceAccountName: 'there' }));

    const sections = await check({ connection, http }, options());
    const lines = sections.find(({ title }) => title === 'Accounts and keys')?.lines ?? [];
    const told = (name: string) => line(lines, `Source default/${name}`);
    expect(told('signed')).toMatchObject({ state: 'ok', detail: expect.stringContaining('of 1 key in') });
    expect(told('signed-by-nobody')).toMatchObject({ state: 'failed', actor: 'administrator' });
    expect(told('signers-lost')?.detail).toContain('there is no Secret default/gone');
    expect(told('sealed')?.detail).toContain('holds no age key');
    expect(told('as-nobody')).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining(
        'service account default/deployer of spec.serviceAccountName does not exist',
      ),
    });
    // In the sandbox everybody may do everything; the real API server is asked on the test bed.
    expect(told('as-there')).toMatchObject({ state: 'ok' });
    expect(lines).toHaveLength(6);

    const asDeployer = await linesOf({ defaultServiceAccount: 'deployer' });
    const subject = 'Source default/good';
    expect(asDeployer).toContainEqual(
      expect.objectContaining({
        ...{ subject, state: 'failed' },
        detail: 'service account default/deployer of --default-service-account does not exist',
      }),
    );
    const trusted = { defaultServiceAccount: 'deployer', trustedSourceNamespaces: ['default'] };
    expect(JSON.stringify(await linesOf(trusted))).not.toContain('--default-service-account');
  });

  it('asks for the data of each metric', async () => {
    const template = (name: string, query: string) => ({
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name, namespace: 'default' },
      spec: { provider: { type: 'prometheus', address: sandbox.prometheusUrl }, query },
    });
    const asking = (name: string, metric: object, spec: object = {}, more: readonly object[] = []) => {
      const metrics = [{ name: 'asked', thresholdRange: { max: 50 }, ...metric }, ...more];
      const analysis = { interval: '1m', threshold: 1, iterations: 2, metrics };
      return canaryDocument(
        { provider: 'kubernetes', analysis, ...spec },
        { name },
      ) as unknown as KubernetesObject;
    };
    await apply(template('answer', 'vector(42)'));
    await apply(
      template('silence', 'sandbox_success_rate{namespace="{{ namespace }}",workload="{{ target }}"}'),
    );
    await apply(asking('known', { templateRef: { name: 'answer' } }));
    await apply(asking('quiet', { templateRef: { name: 'silence' } }));
    await apply(template('other', 'vector(7)'));
    await apply(
      asking('twice', { templateRef: { name: 'answer' } }, {}, [
        { name: 'asked', thresholdRange: { max: 50 }, templateRef: { name: 'other' } },
      ]),
    );
    await apply(asking('lost', { templateRef: { name: 'nothing' } }));
    const builtIn = { name: 'request-success-rate', thresholdRange: { min: 99 } };
    await apply(asking('blind', builtIn, { metricsServer: 'http://127.0.0.1:9' }));
    const lines = await linesOf();
    expect(line(lines, /known, metric/)).toMatchObject({ state: 'ok', detail: 'is 42 now' });
    expect(line(lines, /quiet, metric/)).toMatchObject({ state: 'warning', actor: 'author' });
    expect(line(lines, /twice, metric asked$/)).toMatchObject({ detail: 'is 42 now' });
    expect(line(lines, /twice, metric asked \(2\)/)).toMatchObject({ detail: 'is 7 now' });
    expect(line(lines, /lost, metric/)).toMatchObject({
      ...{ state: 'failed', actor: 'author' },
      detail: expect.stringContaining('MetricTemplate default/nothing does not exist'),
      act: expect.stringContaining('correct MetricTemplate default/nothing'),
    });
    expect(line(lines, /blind, metric/)).toMatchObject({
      ...{ state: 'failed', actor: 'author' },
      act: expect.stringContaining('correct spec.metricsServer'),
    });
    await apply(asking('blind', builtIn));
    expect(line(await linesOf({ metricsServer: 'http://127.0.0.1:9' }), /blind, metric/)).toMatchObject({
      ...{ state: 'failed', actor: 'administrator' },
      act: expect.stringMatching(
        /^correct --metrics-server \(http:\/\/127.0.0.1:9\); if only pods reach .* check$/,
      ),
    });
    const inPod = { metricsServer: 'http://127.0.0.1:9', env: { KUBERNETES_SERVICE_HOST: '10.0.0.1' } };
    expect(line(await linesOf(inPod), /blind, metric/)).toMatchObject({
      act: 'correct --metrics-server (http://127.0.0.1:9)',
    });
  });

  it('does not fail a metric that the controller alone can ask', async () => {
    const template = (name: string, provider: object, query: string) =>
      apply({
        apiVersion: 'flagger.app/v1beta1',
        kind: 'MetricTemplate',
        metadata: { name, namespace: 'default' },
        spec: { provider, query },
      });
    await template('queue', { type: 'externalmetrics' }, 'orders');
    await template('keptn', { type: 'keptn' }, 'keptnmetric/default/response-time');
    await template(
      'cloud',
      { type: 'cloudwatch', region: 'eu-north-1' },
      '[{"Id": "a", "Expression": "1", "Period": 60}]',
    );
    const metrics = ['queue', 'keptn', 'cloud'].map((name) => ({
      ...{ name, thresholdRange: { max: 50 } },
      templateRef: { name },
    }));
    metrics.push({ name: 'request-success-rate', thresholdRange: { min: 99 } } as never);
    const analysis = { interval: '1m', threshold: 1, iterations: 2, metrics };
    await apply(
      canaryDocument({ provider: 'kubernetes', analysis }, { name: 'remote' }) as unknown as KubernetesObject,
    );
    const lines = await linesOf({ lendsIdentity: true, needsCredentials: true });
    expect(lines.filter(({ subject }) => subject.includes('remote, metric'))).toMatchObject([
      { state: 'ok', detail: expect.stringContaining('the controller asks the API server for it') },
      { state: 'ok', detail: expect.stringContaining('the controller asks the API server for it') },
      { state: 'ok', detail: expect.stringContaining('with its cloud identity') },
      { state: 'ok', detail: expect.stringContaining('with its credentials') },
    ]);
    expect(line(await linesOf(), /remote, metric cloud/)).toMatchObject({ state: 'failed', actor: 'author' });
  });

  it('tells which provider needs which kind', async () => {
    const lines = await linesOf();
    expect(line(lines, 'provider kubernetes')).toMatchObject({ state: 'ok' });
  });

  it('warns of a Flagger that acts on the same Canaries', async () => {
    const labels = { app: 'flagger' };
    await apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'flagger', namespace: 'default', labels },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'flagger', image: 'flagger:1' }] } },
      },
    });
    const found = async () => line(await linesOf(), 'Deployment default/flagger');
    await expect.poll(found).toMatchObject({ state: 'failed', actor: 'administrator' });
  });

  it('without an API server still looks at Git', async () => {
    const remove = sandbox.fault(({ path }) => (path === '/version' ? { code: 503 } : undefined));
    const given = source('file', {});
    const sections = await check({ connection, http }, options({ sources: [given as never] }));
    remove();
    expect(sections.map(({ title }) => title)).toEqual(['API server', 'Git']);
    expect(sections[0]?.lines[0]?.state).toBe('failed');
    expect(sections[1]?.lines[0]?.state).toBe('ok');
  });

  it('goes on where only the version may not be read', async () => {
    const remove = sandbox.fault(({ path }) => (path === '/version' ? { code: 403 } : undefined));
    const sections = await check({ connection, http }, options());
    remove();
    expect(sections[0]?.lines).toMatchObject([{ state: 'warning', actor: 'administrator' }]);
    expect(sections.map(({ title }) => title)).toContain('Rights');
  });

  it('prints who must do what, within the screen', async () => {
    const { stdout } = checkReport(await check({ connection, http }, options()), 'text', screen);
    expect(stdout).toMatch(/^ {2}failed {3}Source default\/no-secret: /m);
    expect(stdout).toMatch(/-> administrator: create that Secret/);
    expect(stdout.split('\n').filter((text) => text.length > 80 && !text.includes('http://'))).toEqual([]);
    expect(stdout).toMatch(/\d+ ok, \d+ warnings, \d+ failed\n$/);
  });
});

describe('status, on a cluster', () => {
  it('lists Canaries and Sources of a namespace', async () => {
    const shown = await status(connection.client, {
      namespace: 'default',
      format: 'table',
      screen,
      nowMs: Date.now(),
    });
    expect(shown.stdout).toMatch(/^CANARY .*\n.*blind/m);
    expect(shown.stdout).toMatch(/^SOURCE [\s\S]*^good /m);
  });
});
