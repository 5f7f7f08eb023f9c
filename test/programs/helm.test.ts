import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { SourceSpec } from '../../src/api/source/source.ts';
import { helmArgs, offlineCapabilities } from '../../src/render/helm.ts';
import { memoryTree } from '../../src/render/memory-tree.test-support.ts';
import { localFolder } from '../../src/review/local-files.ts';
import { programs, realBuilders, runByHand } from './programs.ts';
import { objectsIn, renderFolder, renderTree, sourceWith } from './rendering.ts';

const example = resolve(import.meta.dirname, '../../examples/helm/repository');
const helm: SourceSpec['helm'] = {
  releaseName: 'shop',
  namespace: 'helm',
  valuesFiles: ['../production.yaml'],
  values: { greeting: 'hello' },
};
const byHand = [
  'template',
  'shop',
  `${example}/chart`,
  '--namespace=helm',
  '--include-crds',
  '--kube-version=v1.36.0',
];
const values = [`--values=${example}/production.yaml`, '--set=greeting=hello'];

/** A chart with these templates. */
function chart(templates: Record<string, string>, more: Record<string, string> = {}) {
  const named = Object.entries(templates).map(([name, text]) => [`web/templates/${name}`, text]);
  return memoryTree({
    'web/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
    ...Object.fromEntries(named),
    ...more,
  });
}

const map = (data: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: ${data}\n`;

describe('the example', () => {
  it('gives the objects that helm prints, each with its template', async () => {
    const { objects, origins, problems } = await renderFolder(sourceWith({ helm }), `${example}/chart`);
    expect(problems).toEqual([]);
    expect(objects).toEqual(objectsIn(runByHand(programs.helm, [...byHand, ...values], '/')));
    const templates = 'examples/helm/repository/chart/templates';
    expect(origins).toEqual([
      `ConfigMap ${templates}/config.yaml:1`,
      `Deployment ${templates}/deployment.yaml:1`,
      `Canary ${templates}/canary.yaml:1`,
    ]);
    expect(JSON.stringify(objects)).toContain('podinfo:6.9.1');
  });

  it('gives the same bytes as helm', async () => {
    const { tree } = localFolder(example);
    const { files } = await tree.readAll('examples/helm/repository');
    const given = new Map([...files].map(([path, { bytes }]) => [`repository/${path}`, bytes]));
    given.set('values.json', new TextEncoder().encode('{"greeting":"hello"}'));
    const folder = 'examples/helm/repository/chart';
    const args = helmArgs({
      folder,
      files,
      release: { name: 'shop', namespace: 'helm' },
      valuesFiles: ['examples/helm/repository/production.yaml'],
      helm: helm ?? {},
      capabilities: offlineCapabilities,
      limits,
      signal: new AbortController().signal,
    });
    const result = await realBuilders().builders.helm?.run(args, given, new AbortController().signal);
    expect(result).toEqual({ ok: true, output: runByHand(programs.helm, [...byHand, ...values], '/') });
  });
});

test('files of the chart, its parts and archives are there, and nothing else', async () => {
  const tree = chart(
    {
      'a.yaml': map('{{ .Files.Get "files/note.txt" | quote }}'),
      'b.yaml': map('{{ .Files.Get "../secret" | quote }}').replace('name: a', 'name: b'),
    },
    {
      'web/files/note.txt': 'noted',
      secret: 'hidden',
      'web/charts/part/Chart.yaml': 'apiVersion: v2\nname: part\nversion: 1.0.0\n',
      'web/charts/part/templates/p.yaml': map('part').replace('name: a', 'name: p'),
    },
  );
  const { objects, origins, problems } = await renderTree(sourceWith(), tree, 'web');
  expect(problems).toEqual([]);
  expect(objects.map(({ data }) => data)).toEqual(
    expect.arrayContaining([{ x: 'noted' }, { x: '' }, { x: 'part' }]),
  );
  expect(origins).toContain('ConfigMap web/charts/part/templates/p.yaml:1');
});

test.each(['x,', '"a",'])(
  'a values file whose path has commas is one: none outside is read (%s)',
  async (start) => {
    const outside = join(mkdtempSync(join(tmpdir(), 'holdfast-outside-')), 'values.yaml');
    writeFileSync(outside, 'told: of the machine\n');
    const valuesFile = `${start}${outside}`;
    const tree = chart(
      { 'a.yaml': map('{{ .Values.told | quote }}') },
      { [`web/${valuesFile}`]: 'told: of the repository\n', 'web/x': 'other: 1\n' },
    );
    const source = sourceWith({ helm: { valuesFiles: [valuesFile] } });
    const { objects, problems } = await renderTree(source, tree, 'web');
    rmSync(dirname(outside), { recursive: true });
    expect(problems).toEqual([]);
    expect(objects).toMatchObject([{ data: { x: 'of the repository' } }]);
  },
);

describe('a chart is refused', () => {
  it.each([
    [
      'that renders differently each time',
      { 'a.yaml': map('{{ randAlphaNum 8 | quote }}') },
      /differ \(ConfigMap a data\.x\)/,
    ],
    [
      'whose template fails',
      { 'a.yaml': map('{{ .Values.none.here }}') },
      /^web\/templates\/a\.yaml:6: helm failed: /,
    ],
    [
      'that lacks a value',
      { 'a.yaml': map('{{ required "name it" .Values.none }}') },
      /^web\/templates\/a\.yaml:6: helm failed: .*name it/,
    ],
    [
      'that prints no YAML',
      { 'a.yaml': 'a: [\n' },
      /^web\/Chart\.yaml: helm failed: YAML parse error on web\/templates\/a\.yaml/,
    ],
    [
      'whose templates call one another without end',
      { 'a.yaml': '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}' },
      /helm /,
    ],
    [
      'that has hooks',
      { 'a.yaml': map('y').replace('name: a', 'name: a\n  annotations: {helm.sh/hook: pre-install}') },
      /is a hook \(pre-install\)/,
    ],
  ])('%s', async (_, templates, expected) => {
    const { objects, problems } = await renderTree(sourceWith(), chart(templates), 'web');
    expect(objects).toEqual([]);
    expect(problems.join('\n')).toMatch(expected);
  });

  it.each([
    ['with huge output', '{{ range until 100000 }}{{ repeat 1000 "0123456789" }}{{ "\\n" }}{{ end }}'],
    [
      'in huge memory',
      '{{ $x := list }}{{ range until 100 }}{{ $x = append $x (repeat 100000000 "x") }}{{ end }}{{ len $x }}',
    ],
  ])('that renders %s, at a limit', async (_, template) => {
    const { objects, problems } = await renderTree(sourceWith(), chart({ 'a.yaml': map(template) }), 'web');
    expect(objects).toEqual([]);
    expect(problems.join('\n')).toMatch(/^web\/.*: helm (printed more|exceeded its memory|failed)/);
  });

  it('whose values file is a link, or outside', async () => {
    const tree = memoryTree({
      'web/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
      'link.yaml': undefined,
    });
    const valuesFiles = ['../link.yaml', '../../etc/values.yaml'];
    const { problems } = await renderTree(sourceWith({ helm: { valuesFiles } }), tree, 'web');
    expect(problems).toEqual([
      'spec.helm.valuesFiles: ../link.yaml is not a file of the repository',
      'spec.helm.valuesFiles: ../../etc/values.yaml is outside the repository',
    ]);
  });
});
