import { expect, test } from 'vitest';
import { measureEffort } from '../../test/effort.ts';
import { limits } from '../api/limits.ts';
import { referencesIn } from './build/references.ts';
import { fill, head, lines } from './hostile.test-support.ts';
import { renderPlain } from './render.ts';

// What is hostile in files is read in test/hostile/yaml.test.ts, in a process whose memory is measured.

test('the largest ordinary files are read', () => {
  const keys = `${head}data:\n${lines(29_000, (index) => `  key-${index}: "value"`)}\n`;
  const text = `${head}data:\n  text: |\n${fill('    a line of text\n', 1_000_000)}`;
  const documents = lines(
    limits.documentsPerFile,
    (index) => `---\n${head.replace('name: a', `name: a${index}`)}`,
  );
  // As the CustomResourceDefinitions of Argo CD, KubeRay and the Prometheus operator, each in one file.
  const schema = lines(28_000, (index) => `  key-${index}: ${'x'.repeat(30)}`);
  const definitions = ['a', 'b', 'c'].map(
    (name) => `${head.replace('name: a', `name: ${name}`)}data:\n${schema}`,
  );
  for (const content of [keys, text, documents, definitions.join('\n---\n')]) {
    expect(renderPlain([{ path: 'a.yaml', bytes: Buffer.from(content) }]).problems).toEqual([]);
  }
});

test('places in a large mapping are found without a search through it for each', () => {
  const many = lines(4_500, (index) => `k${index}: 1`);
  const items = lines(4_500, (index) => `- {metadata: {name: a${index}}}`);
  const list = Buffer.from(`apiVersion: v1\nkind: ConfigMapList\n${many}\nitems:\n${items}\n`);
  const effort = measureEffort();

  const { objects, problems } = renderPlain([{ path: 'a.yaml', bytes: list }]);
  const unknown = referencesIn({ path: 'k.yaml', bytes: Buffer.from(many) }, 'kustomization', limits);

  expect(problems).toEqual([]);
  expect(objects.at(-1)?.origin.line).toBe(9_003);
  expect(unknown.problems.at(-1)?.line).toBe(4_500);
  expect(effort()).toBeLessThan(300);
});

test('the lines of thousands of problems are found in one reading of their file', () => {
  const items = lines(4_500, (index) => `- {metadata: {name: a${index}}, spec: {}}`);
  const text = `apiVersion: flagger.app/v1beta1\nkind: CanaryList\nitems:\n${items}\n`;
  const { objects, lineOf } = renderPlain([{ path: 'a.yaml', bytes: Buffer.from(text) }]);
  const effort = measureEffort();

  const found = objects.slice(0, 100).map(({ origin }) => lineOf(origin, 'spec.targetRef'));

  expect(found).toEqual(objects.slice(0, 100).map(({ origin }) => origin.line));
  expect(effort()).toBeLessThan(300);
});
