import { describe, expect, it, test } from 'vitest';
import { limits } from '../api/limits.ts';
import type { Builder } from './build/builder.ts';
import { buildChart, differingFields, type HelmInput, helmArgs, templatesIn } from './helm.ts';
import { treeFile } from './memory-tree.test-support.ts';
import { formatProblem } from './rendered-object.ts';

const input: HelmInput = {
  folder: 'charts/web',
  files: new Map([['charts/web/Chart.yaml', treeFile('apiVersion: v2\nname: web\nversion: 1.0.0\n')]]),
  release: { name: 'shop', namespace: 'prod' },
  valuesFiles: ['values/prod.yaml'],
  helm: { values: { a: 1 } },
  capabilities: { kubeVersion: 'v1.31.4', apiVersions: ['apps/v1', 'apps/v1/Deployment'] },
  limits,
  signal: new AbortController().signal,
};

/** Stands for helm: prints these outputs in turn. */
function printing(...outputs: string[]): Builder {
  let run = 0;
  return {
    version: async () => 'v3',
    run: async () => ({ ok: true, output: outputs[run++ % outputs.length] ?? '' }),
  };
}

const map = (name: string, more = '') =>
  `---\n# Source: web/templates/${name}.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${more}`;

test('helm gets release, namespace, version and APIs of the cluster, and values, those of the Source last', () => {
  expect(helmArgs(input)).toEqual([
    'template',
    'shop',
    'repository/charts/web',
    '--namespace=prod',
    '--include-crds',
    '--kube-version=v1.31.4',
    '--api-versions=apps/v1',
    '--api-versions=apps/v1/Deployment',
    '--values=repository/values/prod.yaml',
    '--values=values.json',
  ]);
});

test('a comma in the path of a values file begins no other file', () => {
  const args = helmArgs({ ...input, valuesFiles: ['a,/etc/b', 'c"d'] });
  expect(args).toContain('--values="repository/a,/etc/b"');
  expect(args).toContain('--values="repository/c""d"');
});

test('objects come from their templates', async () => {
  const { objects, problems } = await buildChart(printing(map('a')), input);
  expect(problems).toEqual([]);
  expect(objects.map(({ origin }) => origin.file)).toEqual(['charts/web/templates/a.yaml']);
});

test.each(['Chart.yaml', 'values.yaml'])(
  'a key that %s holds twice is no fault, as under helm',
  async (name) => {
    const path = `charts/web/${name}`;
    const text = 'apiVersion: v2\nname: web\nversion: 1.0.0\nimage: a\nimage: b\n';
    const files = new Map([...input.files, [path, treeFile(text)] as const]);

    const { objects, problems } = await buildChart(printing(map('a')), { ...input, files });

    expect(problems).toEqual([]);
    expect(objects).toHaveLength(1);
  },
);

test('a chart whose renderings differ is refused, with the fields and without their values', async () => {
  const { objects, problems } = await buildChart(
    printing(map('a', 'data: {x: one, y: same}\n'), map('a', 'data: {x: two, y: same}\n')),
    input,
  );
  expect(objects).toEqual([]);
  expect(problems.map(formatProblem)).toEqual([
    'charts/web/Chart.yaml: two renderings of the same files differ (ConfigMap a data.x), so every poll would make a new release; set these fields to fixed values',
  ]);
});

test('a chart whose renderings differ in what is left out alone is taken', async () => {
  const test = (name: string) =>
    map('t').replace('  name: t', `  name: ${name}\n  annotations: {helm.sh/hook: test}`);
  const { objects, problems } = await buildChart(
    printing(`${map('a')}# one\n${test('t-1')}`, `${map('a')}# two\n${test('t-2')}`),
    input,
  );
  expect(problems).toEqual([]);
  expect(objects.map(({ object }) => object.metadata.name)).toEqual(['a']);
});

test('a chart that shows the time in seconds is refused, however fast it is rendered', async () => {
  const template = treeFile('data: {at: {{ now | unixEpoch | quote }}}\n');
  const files = new Map([...input.files, ['charts/web/templates/a.yaml', template] as const]);
  const helm: Builder = {
    version: async () => 'v3',
    run: async () => ({ ok: true, output: map('a', `data: {at: "${Math.floor(Date.now() / 1000)}"}\n`) }),
  };
  const { problems } = await buildChart(helm, { ...input, files });
  expect(problems.map(formatProblem).join()).toMatch(/two renderings .* differ \(ConfigMap a data\.at\)/);
});

describe('hooks', () => {
  const hook = (kind: string) =>
    map('a').replace('metadata:\n', `metadata:\n  annotations: {helm.sh/hook: "${kind}"}\n`);

  it('that are tests are left out', async () => {
    expect(await buildChart(printing(hook('test')), input)).toMatchObject({ objects: [], problems: [] });
  });

  it('of other kinds are refused, and left out where the Source says so', async () => {
    const refused = await buildChart(printing(hook('pre-install,pre-upgrade')), input);
    expect(refused.problems.map(formatProblem).join()).toMatch(
      /^charts\/web\/templates\/a\.yaml: ConfigMap a is a hook \(pre-install, pre-upgrade\)/,
    );
    const helm = { skipHooks: true };
    const skipped = await buildChart(printing(hook('pre-install')), { ...input, helm });
    expect(skipped).toMatchObject({ objects: [], problems: [] });
  });
});

test('a failing template is reported with its file and line', async () => {
  const errorOutput =
    'Error: template: web/templates/a.yaml:12:20: executing "web/templates/a.yaml" at <.Values.x.y>: nil pointer';
  const helm: Builder = {
    version: async () => 'v3',
    run: async () => ({ ok: false, reason: 'failed', errorOutput }),
  };
  const { problems } = await buildChart(helm, input);
  expect(problems.map(formatProblem).join()).toMatch(/^charts\/web\/templates\/a\.yaml:12: helm failed: /);
});

test.each([
  [
    'a dependency that is not in charts/',
    { 'Chart.yaml': 'name: web\ndependencies:\n  - name: redis\n    repository: https://example.com\n' },
    /^charts\/web\/Chart\.yaml:3: dependencies\[0\]: redis is not in charts\/web\/charts/,
  ],
  [
    'values that are no YAML',
    { 'Chart.yaml': 'name: web\n', 'values.yaml': 'a: 1\nb: [\n' },
    /^charts\/web\/values\.yaml:\d+: is not valid YAML/,
  ],
  ['no chart', { 'values.yaml': '' }, /^charts\/web\/Chart\.yaml: does not exist/],
])('%s is refused before helm runs', async (_, files, expected) => {
  const given = Object.entries(files).map(([path, text]) => [`charts/web/${path}`, treeFile(text)] as const);
  const { problems } = await buildChart(printing(), { ...input, files: new Map(given) });
  expect(problems.map(formatProblem).join()).toMatch(expected);
});

test('dependencies in charts/ count as folders, whatever these are called, and as archives', async () => {
  const files = new Map([
    ['charts/web/Chart.yaml', treeFile('name: web\ndependencies: [{name: redis}, {name: lib}]\n')],
    ['charts/web/charts/redis-1.0.0.tgz', treeFile('x')],
    ['charts/web/charts/lib-2.x/Chart.yaml', treeFile('name: lib\n')],
  ]);
  expect((await buildChart(printing(map('a')), { ...input, files })).problems).toEqual([]);
});

test('documents of one file of CustomResourceDefinitions belong to it', () => {
  const found = templatesIn('---\n# Source: web/crds/a.yaml\na: 1\n---\nb: 2\n');
  expect(found.map(({ source }) => source)).toEqual(['web/crds/a.yaml', 'web/crds/a.yaml']);
});

test('differing fields are named, not shown', () => {
  expect(differingFields({ a: [{ b: 1 }], c: 1, d: {} }, { a: [{ b: 2 }], c: 1, d: [] })).toEqual([
    'a[0].b',
    'd',
  ]);
});
