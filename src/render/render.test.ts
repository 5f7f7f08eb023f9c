import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limits } from '../api/limits.ts';
import { readings } from './readings.test-support.ts';
import { createRenderCache, isManifest, readAhead, renderPlain } from './render.ts';
import { formatProblem, type RenderOptions, type SourceFile } from './rendered-object.ts';
import { writeYaml } from './yaml/values.ts';

function files(texts: Record<string, string | Uint8Array>): SourceFile[] {
  return Object.entries(texts).map(([path, text]) => {
    return { path, bytes: typeof text === 'string' ? Buffer.from(text) : text };
  });
}

function problemsOf(texts: Record<string, string | Uint8Array>, options: RenderOptions = {}): string[] {
  const result = renderPlain(files(texts), options);
  const broken = new Set(result.problems.map(({ file }) => file));
  expect(result.objects.filter(({ origin }) => broken.has(origin.file))).toEqual([]);
  return result.problems.map(formatProblem);
}

function map(name: string, rest = ''): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${rest}`;
}

test.each(readings())('reads as Kubernetes does, or refuses: $name', ({ text, objects }) => {
  const result = renderPlain(files({ 'a.yaml': text }));
  if (objects === undefined) {
    expect(result.problems.length).toBeGreaterThan(0);
    expect(result.objects).toEqual([]);
  } else {
    expect(result.problems).toEqual([]);
    // Through JSON, because `__proto__` must be a field like any other.
    expect(JSON.parse(JSON.stringify(result.objects.map(({ object }) => object)))).toEqual(objects);
  }
});

test('any JSON value survives the way through YAML and JSON text', () => {
  const value = fc.jsonValue({ maxDepth: 5 }).map((json) => JSON.parse(JSON.stringify(json)) as unknown);
  fc.assert(
    fc.property(value, (field) => {
      fc.pre(
        !hasLargeInteger(field) &&
          !/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/.test(JSON.stringify(field)),
      );
      const object = { apiVersion: 'v1', kind: 'T', metadata: { name: 'a' }, field };
      const texts = [writeYaml(object), JSON.stringify(object), JSON.stringify(object, null, 2)];
      for (const text of texts) {
        const result = renderPlain(files({ 'a.yaml': text }));
        expect(result.problems).toEqual([]);
        expect(JSON.stringify(result.objects[0]?.object)).toBe(JSON.stringify(object));
      }
    }),
    { examples: [[[{ '': '0o0' }]], [{ on: 'yes', '0755': '1_000' }]] },
  );
});

/** Integers that JSON text rounds, or writes with all their digits. */
function hasLargeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLargeInteger);
}

test('no text whatever makes an exception', () => {
  const word = fc.constantFrom(
    ...'- ? : , [ ] { } # & * ! | > \' " % @ ` \n \t --- ... << a 1 ~ &a *a !!int é 😀'.split(' '),
    ' ',
    '\n  ',
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 40 }), (words) => {
      const result = renderPlain(files({ 'a.yaml': words.join('') }));
      expect(result.problems.every(({ line }) => line >= 0)).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

test.each(['List', 'ConfigMapList'])(
  'a %s whose items are null holds nothing, as in kubectl and kustomize',
  (kind) => {
    const text = `apiVersion: v1\nkind: ${kind}\nitems:\n---\n${map('a')}`;

    const { objects, problems } = renderPlain(files({ 'a.yaml': text }));

    expect(problems).toEqual([]);
    expect(objects.map(({ object }) => object.metadata.name)).toEqual(['a']);
  },
);

test('labels and annotations that nothing follows, as charts leave them, are none, and empty where a key has no value', () => {
  const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n  annotations: {z: ~}\n';
  const list =
    'apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: b, labels: {x: z}, annotations: null}\n';

  const { objects, problems } = renderPlain(files({ 'a.yaml': `${text}---\n${list}` }));

  expect(problems).toEqual([]);
  expect(objects.map(({ object }) => object.metadata)).toEqual([
    { name: 'a', annotations: { z: '' } },
    { name: 'b', labels: { x: 'z' } },
  ]);
});

test('every object knows its file and line, also inside a List', () => {
  const list =
    'kind: List\napiVersion: v1\nitems:\n  # first\n  - apiVersion: v1\n    kind: Secret\n    metadata: {name: s}\n';
  const { objects } = renderPlain(
    files({
      'x/a.yaml': `# head\n---\n\n${map('a')}---\n${list}`,
      'b.json': '{"apiVersion":"v1","kind":"T","metadata":{"name":"b"}}',
    }),
  );
  expect(objects.map(({ object, origin }) => [object.metadata.name, origin.file, origin.line])).toEqual([
    ['a', 'x/a.yaml', 4],
    ['s', 'x/a.yaml', 13],
    ['b', 'b.json', 1],
  ]);
});

test('a field is found by its path, or the nearest field above it', () => {
  const text = `${map('a')}---\nkind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: T\n  metadata: {name: b}\n  spec:\n    list:\n    - one: 1\n      "a.b/c": 2\n`;
  const { objects, lineOf } = renderPlain(files({ 'a.yaml': text }));
  const [first, second] = objects.map(({ origin }) => origin);
  expect(lineOf(first!, 'metadata.name')).toBe(4);
  expect(lineOf(second!, 'spec.list[0].one')).toBe(14);
  expect(lineOf(second!, 'spec.list[0]["a.b/c"]')).toBe(15);
  expect(lineOf(second!, 'spec.list[0].none.below')).toBe(14);
  expect(lineOf(second!, 'spec.list[7]')).toBe(13);
  expect(lineOf(second!, '')).toBe(9);
});

test('a namespace is filled in for namespaced kinds that name none', () => {
  const isNamespaced = (_: string, kind: string) => kind === 'ConfigMap';
  const texts = {
    'a.yaml': `${map('a')}---\n${map('b', '  namespace: own\n')}---\n${map('c').replace('ConfigMap', 'Namespace')}`,
  };
  const { objects } = renderPlain(files(texts), { defaultNamespace: 'shop', isNamespaced });
  expect(objects.map(({ object }) => object.metadata.namespace)).toEqual(['shop', 'own', undefined]);
  expect(renderPlain(files(texts)).objects[0]?.object.metadata.namespace).toBeUndefined();
});

test('a duplicate object is reported at both places, whatever the version of its API', () => {
  const hpa = (version: string) =>
    `apiVersion: autoscaling/${version}\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n`;
  expect(
    problemsOf({ 'a.yaml': `${map('x')}---\n${hpa('v1')}`, 'b.yaml': hpa('v2'), 'c.yaml': map('z') }),
  ).toEqual([
    'a.yaml:6: HorizontalPodAutoscaler a is also in b.yaml:1: keep one of them',
    'b.yaml:1: HorizontalPodAutoscaler a is also in a.yaml:6: keep one of them',
  ]);
  const defaulted = { 'a.yaml': map('x'), 'b.yaml': map('x', '  namespace: shop\n') };
  expect(problemsOf(defaulted, { defaultNamespace: 'shop', isNamespaced: () => true })).toHaveLength(2);
  expect(problemsOf(defaulted)).toEqual([]);
});

test('problems name file, line and field, and the other files are read', () => {
  const texts = {
    'name.yaml': 'apiVersion: v1\nkind: T\nmetadata:\n  labels: {a: 1}\n',
    'word.yaml': map('on'),
    'generate.yaml': 'apiVersion: v1\nkind: T\nmetadata:\n  generateName: a-\n',
    'kind.yaml': `${map('a')}---\nmetadata: {name: a}\n`,
    'annotation.yaml': map('a', '  annotations:\n    a/b: "x"\n    c: true\n'),
    'list.yaml': 'kind: List\nitems:\n- 1\n- apiVersion: v1\n  kind: T\n',
    'kustomization.yaml':
      'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n',
    'text.yaml': 'hello\n',
    'twice.yaml': map('t', 'data:\n  a: x\n  a: y\n'),
    'open.yaml': map('o', 'data: {a: "x"\n'),
    'big.yaml': Buffer.alloc(limits.fileBytes + 1, 'a: '),
    'latin.yaml': Buffer.from('a: b\nc: \xe9\n', 'latin1'),
    'version.yaml': '%YAML 1.2\n---\na: b\n',
    'good.yaml': map('good'),
  };
  expect(problemsOf(texts)).toEqual([
    'name.yaml:3: metadata.name: is missing',
    'name.yaml:4: metadata.labels["a"]: must be a string: quote it',
    'word.yaml:4: metadata.name: must be a string: quote it',
    'generate.yaml:4: metadata.generateName: would create a new object at every commit; set metadata.name',
    'kind.yaml:6: apiVersion: is missing',
    'kind.yaml:6: kind: is missing',
    'annotation.yaml:7: metadata.annotations["c"]: must be a string: quote it',
    'list.yaml:3: items[0]: is not a Kubernetes object (a mapping)',
    'list.yaml:4: items[1].metadata: is missing or no mapping',
    'kustomization.yaml:1: is a file for kustomize, which the plain renderer does not build',
    'text.yaml:1: is not a Kubernetes object (a mapping)',
    'twice.yaml:7: the same key is written twice in one mapping',
    'open.yaml:6: is not valid YAML: wrong indentation, or an open bracket or quote above',
    'big.yaml: has 6291457 bytes; at most 6291456 are read; split the file',
    'latin.yaml:2: is not UTF-8 text',
    'version.yaml:1: directives (%...) are not supported',
  ]);
  expect(renderPlain(files(texts)).objects.map(({ object }) => object.metadata.name)).toEqual(['good']);
});

test('no problem shows a value of the file', () => {
  const token = 'T0KENxyz';
  const broken = [
    'a: "T0KENxyz',
    'a: T0KENxyz: b',
    '] T0KENxyz',
    '@T0KENxyz',
    '!T0KENxyz a',
    '*T0KENxyz',
    '"\\qT0KENxyz"',
    '%T0KENxyz',
    '{T0KENxyz',
    '!!int T0KENxyz',
    'T0KENxyz: 1\nT0KENxyz: 2',
    '- T0KENxyz\nb',
  ];
  for (const text of broken) {
    for (const file of [text, map('s', `stringData:\n  ${text}\n`), map('s', `stringData: ${text}\n`)]) {
      const problems = problemsOf({ 'a.yaml': file });
      expect(problems.join()).not.toContain(token);
    }
  }
});

test('prototype names are fields like any other', () => {
  const { objects } = renderPlain(
    files({ 'a.yaml': map('a', 'data: {__proto__: {polluted: "yes"}, constructor: "x"}\n') }),
  );
  expect(Object.keys(objects[0]?.object.data as object)).toEqual(['__proto__', 'constructor']);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('too many files, bytes or objects refuse the Source as a whole', () => {
  const few = { ...limits, sourceFiles: 1, objectsPerSource: 1, sourceBytes: 100 };
  expect(problemsOf({ 'a.yaml': '', 'b.yaml': '' }, { limits: few })).toEqual([
    'the Source selects 2 files; at most 1 are read; choose a smaller spec.path, or divide it between several Sources',
  ]);
  expect(problemsOf({ 'a.yaml': `${map('a')}---\n${map('b')}` }, { limits: few })).toEqual([
    expect.stringContaining('at most 100 are read'),
  ]);
  expect(
    problemsOf({ 'a.yaml': `${map('a')}---\n${map('b')}` }, { limits: { ...few, sourceBytes: 1000 } }),
  ).toEqual(['the Source holds 2 objects; at most 1 are taken; divide them between several Sources']);
});

test('manifests are recognized by their names', () => {
  expect(['a.yaml', 'b/c.YML', 'd.json', 'README.md', 'yaml', 'x.yaml.tpl'].filter(isManifest)).toEqual([
    'a.yaml',
    'b/c.YML',
    'd.json',
  ]);
});

const never = new AbortController().signal;

function file(path: string, name: string, oid = `oid of ${name}`): SourceFile {
  const text = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;
  return { path, bytes: Buffer.from(text), oid };
}

test('a file that did not change is not read again, one that did is', async () => {
  const cache = createRenderCache();
  const before = [file('a.yaml', 'a'), file('b.yaml', 'b')];
  const after = [file('a.yaml', 'a'), file('b.yaml', 'c')];
  await readAhead(before, { cache, signal: never });
  const first = renderPlain(before, { cache });

  await readAhead(after, { cache, signal: never });
  const second = renderPlain(after, { cache });

  expect(second.objects[0]?.object).toBe(first.objects[0]?.object);
  expect(second.objects.map(({ object }) => object.metadata.name)).toEqual(['a', 'c']);
  expect(second).toMatchObject({ objects: renderPlain(after).objects, problems: [] });
});

test('equal content in another place has its own origin', async () => {
  const cache = createRenderCache();
  await readAhead([file('a.yaml', 'a')], { cache, signal: never });
  const moved = [file('moved.yaml', 'a')];
  await readAhead(moved, { cache, signal: never });

  expect(renderPlain(moved, { cache }).objects[0]?.origin.file).toBe('moved.yaml');
});

test('what is in no file of the last commit is forgotten', async () => {
  const cache = createRenderCache();
  const gone = file('a.yaml', 'a');
  await readAhead([gone], { cache, signal: never });
  await readAhead([file('b.yaml', 'b')], { cache, signal: never });

  expect(cache.get(gone)).toBeUndefined();
});

/** Some hundred milliseconds of reading. */
function manyFiles(): SourceFile[] {
  const data = Array.from({ length: 2_000 }, (_, index) => `  key-${index}: value\n`).join('');
  return Array.from({ length: 60 }, (_, index) => {
    const { path, bytes, oid } = file(`${index}.yaml`, `m${index}`);
    return { path, bytes: Buffer.concat([bytes, Buffer.from(`data:\n${data}`)]), ...(oid ? { oid } : {}) };
  });
}

test('other work gets its turn while a large Source is read', async () => {
  let turns = 0;
  let isReading = true;
  const count = () => {
    turns += 1;
    if (isReading) setImmediate(count);
  };
  setImmediate(count);
  await readAhead(manyFiles(), { cache: createRenderCache(), signal: never });
  isReading = false;

  expect(turns).toBeGreaterThan(5);
});

test('reading ends when it is given up', async () => {
  const giveUp = new AbortController();
  setImmediate(() => giveUp.abort());

  await expect(
    readAhead(manyFiles(), { cache: createRenderCache(), signal: giveUp.signal }),
  ).rejects.toMatchObject({ name: 'AbortError' });
});

test('a Source beyond the limits is not read at all', async () => {
  const cache = createRenderCache();
  const files = [file('a.yaml', 'a'), file('b.yaml', 'b')];
  await readAhead(files, { cache, signal: never, limits: { ...limits, sourceFiles: 1 } });

  expect(files.map((one) => cache.get(one))).toEqual([undefined, undefined]);
});
