import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { imageOf, installObjects } from '../../src/cli/install/install.ts';
import { destinationOf } from '../../src/cli/install/policies.ts';
import { programs, runByHand } from './programs.ts';
import { objectsIn } from './rendering.ts';

const chart = resolve(import.meta.dirname, '../../deploy/chart');
const folder = mkdtempSync(join(tmpdir(), 'holdfast-chart-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Values = Readonly<Record<string, unknown>>;
type InstallOptions = Parameters<typeof installObjects>[0];

/** Arguments to print the chart with these values. */
function template(values: Values): string[] {
  const file = join(folder, 'values.json');
  writeFileSync(file, JSON.stringify(values));
  // The helm of the suite knows the version of no Kubernetes: its build sets none.
  return ['template', 'any-name', chart, '--namespace=fast', '--kube-version=1.30.0', `--values=${file}`];
}

function rendered(values: Values): Map<string, unknown> {
  return byName(objectsIn(runByHand(programs.helm, template(values), '/')));
}

function byName(objects: ReturnType<typeof objectsIn>): Map<string, unknown> {
  const named = objects.map(
    (object) =>
      [`${object.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}`, object] as const,
  );
  expect(new Set(named.map(([name]) => name)).size).toBe(named.length);
  return new Map(named);
}

/** What `holdfast install` prints, but for the Namespace: Helm makes it. */
function installed(options: Partial<InstallOptions>): Map<string, unknown> {
  const all = installObjects({ namespace: 'fast', image: imageOf(packageJson.version), ...options });
  return byName(all.filter(({ kind }) => kind !== 'Namespace'));
}

const destinations = ['192.0.2.10/32:6443', 'monitoring:9090', '2001:db8::/32:443'];

const cases: ReadonlyArray<readonly [string, Partial<InstallOptions>, Values]> = [
  ['no option', {}, {}],
  [
    'an image, and some namespaces in any order',
    { image: 'registry.example.com/holdfast:v9', watchNamespaces: ['shop', 'cart', 'shop', 'fast'] },
    { image: 'registry.example.com/holdfast:v9', watchNamespaces: ['shop', 'cart', 'shop', 'fast'] },
  ],
  [
    'trusted Sources, and other accounts',
    { trustedSourceNamespaces: ['delivery', 'admin'], impersonation: true },
    { trustedSourceNamespaces: ['delivery', 'admin'], impersonation: true },
  ],
  ['a default account', { defaultServiceAccount: 'deployer' }, { defaultServiceAccount: 'deployer' }],
  [
    'a default account in some namespaces, one of them trusted',
    { defaultServiceAccount: 'deployer', watchNamespaces: ['shop'], trustedSourceNamespaces: ['shop'] },
    { defaultServiceAccount: 'deployer', watchNamespaces: ['shop'], trustedSourceNamespaces: ['shop'] },
  ],
  ['the dashboard', { dashboard: true }, { dashboard: true }],
  [
    'the dashboard behind a login proxy',
    { dashboardProxySecret: 'proxy' },
    { dashboardProxySecret: 'proxy' },
  ],
  [
    'the dashboard in some namespaces',
    { dashboard: true, watchNamespaces: ['shop'] },
    { dashboard: true, watchNamespaces: ['shop'] },
  ],
  ['a flag that is off', {}, { flags: { shadow: false } }],
  ['more room for repositories', { flags: { 'git-disk-mib': '2000' } }, { flags: { 'git-disk-mib': 2000 } }],
  ['less room for repositories', { flags: { 'git-disk-mib': '500' } }, { flags: { 'git-disk-mib': '500' } }],
  [
    'two routing providers',
    { providers: ['gatewayapi:v1', 'contour'] },
    { providers: ['gatewayapi:v1', 'contour'] },
  ],
  [
    'two pods, and named destinations',
    { replicas: 2, egress: destinations.map((one) => destinationOf(one)!) },
    { replicas: 2, egress: destinations },
  ],
  [
    'references, an ingress class and flags',
    {
      crossNamespaceRefs: true,
      ingressClass: 'contour',
      flags: {
        'metrics-server': 'http://prometheus.monitoring:9090',
        'kubeconfig-qps': '1000000',
        'enable-config-tracking': 'false',
        'slack-user': '"a" #b',
        shadow: true,
      },
    },
    {
      crossNamespaceRefs: true,
      ingressClass: 'contour',
      flags: {
        'metrics-server': 'http://prometheus.monitoring:9090',
        'kubeconfig-qps': 1_000_000,
        'enable-config-tracking': false,
        'slack-user': '"a" #b',
        shadow: true,
      },
    },
  ],
];

describe('helm gives what holdfast install prints', () => {
  it.each(cases)('with %s', (_, options, values) => {
    const [wanted, given] = [installed(options), rendered(values)];
    expect([...given.keys()].sort()).toEqual([...wanted.keys()].sort());
    for (const [name, object] of wanted) expect(given.get(name), name).toEqual(object);
  });
});

it('leaves the CRDs out where they are installed apart', () => {
  const without = [...rendered({ crds: false }).keys()];
  const all = [...rendered({}).keys()];
  expect(without).toEqual(all.filter((name) => !name.startsWith('CustomResourceDefinition')));
  expect(without.length).toBeLessThan(all.length);
});

it('hands over what the pods need in this cluster', () => {
  const tolerations = [{ key: 'infra', operator: 'Exists' }];
  const affinity = { nodeAffinity: {} };
  const objects = rendered({
    resources: { limits: { memory: '2Gi' } },
    nodeSelector: { 'kubernetes.io/arch': 'arm64' },
    tolerations,
    affinity,
    podAnnotations: { team: 'delivery' },
    imagePullSecrets: [{ name: 'registry' }],
    serviceAccount: { annotations: { role: 'holdfast' } },
  });
  expect(objects.get('ServiceAccount fast/holdfast')).toMatchObject({
    metadata: { annotations: { role: 'holdfast' } },
  });
  expect(objects.get('Deployment fast/holdfast')).toMatchObject({
    spec: {
      template: {
        metadata: { annotations: { team: 'delivery' } },
        spec: {
          nodeSelector: { 'kubernetes.io/arch': 'arm64' },
          tolerations,
          affinity,
          imagePullSecrets: [{ name: 'registry' }],
          containers: [
            {
              resources: {
                limits: { memory: '2Gi', cpu: '1' },
              },
            },
          ],
        },
      },
    },
  });
});

describe('a wrong value is refused by name', () => {
  it.each<[Values, RegExp]>([
    [{ watchNamespace: ['shop'] }, /additional properties 'watchNamespace' not allowed/],
    [{ replicas: 0 }, /'\/replicas'.*minimum/],
    [{ replicas: 'two' }, /'\/replicas'.*want integer/],
    [{ image: 'x y' }, /'\/image'.*pattern/],
    [{ watchNamespaces: ['shop', 'a b'] }, /'\/watchNamespaces\/1'/],
    [{ defaultServiceAccount: "x' || true" }, /'\/defaultServiceAccount'/],
    [{ trustedSourceNamespaces: ["x', 'kube-system"] }, /'\/trustedSourceNamespaces\/0'/],
    [{ providers: ['no-such-provider'] }, /'\/providers\/0'/],
    [{ ingressClass: 'Not_One' }, /'\/ingressClass'/],
    [{ flags: { 'data-dir': '/x' } }, /'\/flags'.*'data-dir' not allowed/],
    [{ flags: { shadow: 'yes' } }, /'\/flags\/shadow'.*want boolean/],
    ...['192.0.2.10/33:1', '10.0.0.1/8', 'a b:1', 'x:0', 'x:70000', '::1/129:5', '300.0.0.1/8:1'].map(
      (one): [Values, RegExp] => [{ egress: [one] }, /'\/egress\/0'/],
    ),
  ])('%j', (values, message) => {
    const { status, stdout, stderr } = spawnSync(programs.helm, template(values), { encoding: 'utf8' });
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
  });
});

it('the patch of deploy/README.md gives the base what install --flag gives', () => {
  const readme = readFileSync(resolve(chart, '../README.md'), 'utf8');
  const [, patch = ''] = /```yaml\n(patches:[\s\S]*?)```/.exec(readme) ?? [];
  const base = relative(realpathSync(folder), resolve(chart, '../base'));
  writeFileSync(join(folder, 'kustomization.yaml'), `resources: ['${base}']\n${patch}`);
  const given = byName(objectsIn(runByHand(programs.kustomize, ['build', folder], '/')));
  const wanted = installed({ namespace: 'holdfast-system', flags: { 'log-level': 'debug' } });
  const name = 'Deployment holdfast-system/holdfast';
  expect(given.get(name)).toEqual(wanted.get(name));
});

it('the values of the guide are taken', () => {
  const guide = readFileSync(resolve(chart, '../../docs/guides/chart.md'), 'utf8');
  const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(guide) ?? [];
  expect(JSON.stringify(rendered(parse(text)).get('Deployment fast/holdfast'))).toContain(
    '"--log-level=debug"',
  );
});

it('helm lint has no complaint', () => {
  const output = runByHand(programs.helm, ['lint', '--strict', chart], '/');
  expect(output).toContain('0 chart(s) failed');
  expect(output).not.toMatch(/WARNING|ERROR/);
});
