import { describe, expect, it, test } from 'vitest';
import { limits } from '../../api/limits.ts';
import { memoryTree } from '../memory-tree.test-support.ts';
import { formatProblem } from '../rendered-object.ts';
import { collectKustomization, type InputLimits } from './collect.ts';

const object = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';

async function collect(
  files: Record<string, string | undefined>,
  folder = 'app',
  bounds: InputLimits = limits,
) {
  const { files: found, problems } = await collectKustomization(folder, memoryTree(files), {
    limits: bounds,
  });
  return { paths: [...found.keys()].sort(), problems: problems.map(formatProblem) };
}

describe('what a kustomization refers to', () => {
  it('is followed through bases, components, patches and generators, and nothing else is read', async () => {
    const { paths, problems } = await collect({
      'app/kustomization.yaml': `
resources: [../base, own.yaml]
components: [../parts/tls]
patches: [{path: patch.yaml}, {patch: "- op: remove\\n  path: /spec"}]
replacements: [{path: replace.yaml}]
configMapGenerator: [{name: a, files: [k=data.bin, plain.txt], envs: [a.env]}]
secretGenerator: [{name: b, env: b.env, literals: [x=y]}]
configurations: [names.yaml]
patchesStrategicMerge: ['{"kind": "ConfigMap", "metadata": {"name": "a"}}']
crds: [crd.json]
openapi: {path: schema.json}
transformers: ["apiVersion: builtin\\nkind: LabelTransformer\\nmetadata: {name: y}\\n", moved.yaml]
`,
      'app/own.yaml': object,
      'app/patch.yaml': object,
      'app/replace.yaml': 'source: {kind: ConfigMap}\n',
      'app/data.bin': 'x',
      'app/plain.txt': 'x',
      'app/a.env': 'A=1',
      'app/b.env': 'B=1',
      'app/names.yaml': 'namePrefix: []\n',
      'app/crd.json': '{}',
      'app/schema.json': '{}',
      'app/moved.yaml':
        'apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: inner.yaml\n',
      'app/inner.yaml': object,
      'app/unrelated.yaml': object,
      'base/kustomization.yml': 'resources: [a.yaml]\n',
      'base/a.yaml': object,
      'parts/tls/Kustomization': 'kind: Component\n',
    });
    expect(problems).toEqual([]);
    expect(paths).toEqual([
      'app/a.env',
      'app/b.env',
      'app/crd.json',
      'app/data.bin',
      'app/inner.yaml',
      'app/kustomization.yaml',
      'app/moved.yaml',
      'app/names.yaml',
      'app/own.yaml',
      'app/patch.yaml',
      'app/plain.txt',
      'app/replace.yaml',
      'app/schema.json',
      'base/a.yaml',
      'base/kustomization.yml',
      'parts/tls/Kustomization',
    ]);
  });

  it('includes replacements by a fixed text', async () => {
    const { problems } = await collect({
      'app/kustomization.yaml': `replacements: [{sourceValue: blue, targets: []}]
transformers: ['{apiVersion: builtin, kind: ReplacementTransformer, metadata: {name: a}, replacements: [{sourceValue: blue}]}']
`,
    });
    expect(problems).toEqual([]);
  });

  it('ends where bases refer to one another', async () => {
    const { problems } = await collect({
      'app/kustomization.yaml': 'resources: [../base]\n',
      'base/kustomization.yaml': 'resources: [../app]\n',
    });
    expect(problems).toEqual([]);
  });
});

test.each([
  ['https://example.com/a.yaml', /:2: resources\[0\]: is remote/],
  ['github.com/acme/base', /:2: resources\[0\]: is remote/],
  ['git@example.com/acme/base', /:2: resources\[0\]: is remote/],
  ['git::ssh//example.com/x', /:2: resources\[0\]: is remote/],
  ['ssh://git@example.com/x.git//base?ref=1', /:2: resources\[0\]: is remote/],
  ['file:///etc', /:2: resources\[0\]: is remote/],
  ['/etc/passwd', /:2: resources\[0\]: is absolute/],
  ['../../outside', /:2: resources\[0\]: \.\.\/\.\.\/outside is outside the repository/],
  ['nothing.yaml', /:2: resources\[0\]: nothing\.yaml does not exist/],
  ['link.yaml', /:2: resources\[0\]: link\.yaml: is or leads through a symbolic link/],
  ['empty', /:2: resources\[0\]: empty holds no kustomization file/],
  ['two', /:2: resources\[0\]: two holds more than one kustomization file/],
])('refuses %s with file and line', async (path, expected) => {
  const { problems } = await collect({
    'app/kustomization.yaml': `resources:\n  - ${JSON.stringify(path)}\n`,
    'app/link.yaml': undefined,
    'app/empty/a.txt': '',
    'app/two/kustomization.yaml': '',
    'app/two/kustomization.yml': '',
  });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/^app\/kustomization\.yaml:2: /);
  expect(problems[0]).toMatch(expected);
});

test.each([
  ['patches: [{path: "https://example.com/p.yaml"}]', /patches\[0\]\.path: is remote/],
  ['configMapGenerator: [{name: a, files: ["k=https://example.com/f"]}]', /files\[0\]: is remote/],
  ['transformers: ["https://example.com/t.yaml"]', /transformers\[0\]: is remote/],
  ['components: ["https://example.com/c"]', /components\[0\]: is remote/],
  ['openapi: {path: "http://example.com/s"}', /openapi\.path: is remote/],
  ['helmCharts: [{name: a}]', /helmCharts: charts are not rendered through kustomize/],
  ['generators: [chart.yaml]', /app\/chart\.yaml:2: kind: charts are not rendered/],
  ['resources: {a: b}\n---\nresources: []', /must hold one document/],
  ['resources: [1]', /must be a path/],
  [
    'ConfigMapGenerator: [{name: a, files: ["http://127.0.0.1/f"]}]',
    /:1: ConfigMapGenerator: is not known here/,
  ],
  ['\u017fecretGenerator: [{name: a}]', /is not known here/],
  [
    'configMapGenerator: [{name: a, Files: ["http://127.0.0.1/f"]}]',
    /configMapGenerator\[0\]\.Files: is not known/,
  ],
  ['patches: [{Path: "http://127.0.0.1/f"}]', /patches\[0\]\.Path: is not known here/],
  ['replacements: [{PATH: x}]', /replacements\[0\]\.PATH: is not known here/],
  ['openapi: {Path: "http://127.0.0.1/f"}', /openapi\.Path: is not known here/],
  ['resources: ["http://127.0.0.1/f?\\n"]', /resources\[0\]: is remote/],
  [
    `generators: ['{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a}, files: ["http://127.0.0.1/f"]}']`,
    /:1: generators\[0\]\.files\[0\]: is remote/,
  ],
  [
    `transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, Path: "http://127.0.0.1/f"}']`,
    /transformers\[0\]\.Path: is not known here/,
  ],
  [
    `transformers: ['{apiVersion: builtin, kind: ValueAddTransformer, metadata: {name: a}, targetFilePath: "http://127.0.0.1/f"}']`,
    /transformers\[0\]\.targetFilePath: is remote/,
  ],
  [`validators: ['{apiVersion: v1, kind: List, items: []}']`, /validators\[0\]\.kind: is not a builtin/],
  ['generators: [folder]', /generators\[0\]: folder is a folder; name its files/],
  ['resources: [loader.yaml]\ngenerators: [loader.yaml]', /app\/loader\.yaml:4: .*files\[0\]: is remote/],
  ['a: [', /app\/kustomization\.yaml:\d+: is not valid YAML/],
])('refuses %s', async (text, expected) => {
  const { problems } = await collect({
    'app/kustomization.yaml': `${text}\n`,
    'app/folder/kustomization.yaml': 'resources: [../loader.yaml]\n',
    'app/loader.yaml':
      'apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: ["http://127.0.0.1/f"]\n',
    'app/chart.yaml': 'apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\n',
  });
  expect(problems.join('\n')).toMatch(expected);
});

test('refuses bombs in what is referred to, with file and line', async () => {
  const layers = Array.from({ length: 12 }, (_, index) =>
    index === 0
      ? 'a0: &a0 [x]'
      : `a${index}: &a${index} [${Array(9)
          .fill(`*a${index - 1}`)
          .join(',')}]`,
  );
  const { problems } = await collect({
    'app/kustomization.yaml': 'resources: [bomb.yaml]\n',
    'app/bomb.yaml': `${object}data:\n  ${layers.join('\n  ')}\n`,
  });
  expect(problems.join('\n')).toMatch(/^app\/bomb\.yaml:\d+: .*alias/);
});

test('refuses more than the limits', async () => {
  const files = {
    'app/kustomization.yaml': 'resources: [a.yaml]\nconfigMapGenerator: [{name: a, files: [big]}]\n',
    'app/a.yaml': object,
    'app/big': 'x'.repeat(2000),
  };
  const few = await collect(files, 'app', { ...limits, renderInputFiles: 2 });
  expect(few.problems.join()).toContain('more than 2 files are referenced');
  const small = await collect(files, 'app', { ...limits, renderInputFileBytes: 1999 });
  expect(small.problems.join()).toContain('big has 2000 bytes; at most 1999 are read');
  const together = await collect(files, 'app', { ...limits, renderInputBytes: 2000 });
  expect(together.problems.join()).toContain('more than 2000 bytes together');
});
