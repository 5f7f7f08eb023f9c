import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRecord, type KubernetesObject, type PodTemplate } from '../api/kubernetes.ts';
import { buildRelease } from './build.ts';
import {
  configMap,
  container,
  deployment,
  releaseInput,
  secret,
  template,
  testKey,
} from './fixtures.test-support.ts';

const mounted = template({
  volumes: [{ name: 'c', configMap: { name: 'flags' } }],
  containers: [container({ envFrom: [{ secretRef: { name: 'token' } }] })],
});

function digest(extra: Parameters<typeof releaseInput>[0]): string {
  const built = buildRelease(releaseInput(extra));
  if (built.problem) throw new Error(built.problem.message);
  return built.ok.digest;
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, reversed(field)]),
  );
}

const json = fc.jsonValue({ maxDepth: 3 });
const annotations = fc.dictionary(fc.string(), fc.string(), { maxKeys: 5 });

test('the digest does not depend on the order of keys', () => {
  fc.assert(
    fc.property(json, annotations, (field, notes) => {
      const pods: PodTemplate = {
        metadata: { annotations: notes },
        spec: { containers: [container()], field },
      };
      expect(digest({ target: deployment(reversed(pods) as PodTemplate) })).toBe(
        digest({ target: deployment(pods) }),
      );
    }),
  );
});

test('the digest does not depend on anything of the workload but its template', () => {
  fc.assert(
    fc.property(fc.nat(50), json, annotations, (replicas, strategy, labels) => {
      const target = deployment(template(), { replicas, strategy, minReadySeconds: replicas });
      target.metadata.labels = labels;
      expect(digest({ target })).toBe(digest({}));
    }),
  );
});

test('every change of the template is another digest', () => {
  fc.assert(
    fc.property(json, json, (left, right) => {
      fc.pre(!sameMeaning(left, right));
      const digests = [left, right].map((field) => digest({ target: deployment(template({ field })) }));
      expect(digests[0]).not.toBe(digests[1]);
    }),
  );
});

test('every change of a ConfigMap, a Secret or a port is another digest', () => {
  const target = deployment(mounted);
  const base: KubernetesObject[] = [configMap('flags', { dark: 'off' }), secret('token', { value: 'one' })];
  const variants = [
    digest({ target, configs: base }),
    digest({ target, configs: [configMap('flags', { dark: 'on' }), base[1]!] }),
    digest({ target, configs: [{ ...base[0]!, binaryData: { icon: 'AAAA' } }, base[1]!] }),
    digest({ target, configs: [base[0]!, secret('token', { value: 'two' })] }),
    digest({ target, configs: [base[0]!, { ...base[1]!, type: 'kubernetes.io/basic-auth' }] }),
    digest({ target, configs: [base[0]!] }),
    digest({
      target,
      configs: base,
      canary: { metadata: { name: 'pay', namespace: 'shop' }, spec: { service: { port: 81 } } },
    }),
    digest({ target, configs: base, secretKey: new Uint8Array(32).fill(8) }),
  ];
  expect(new Set(variants).size).toBe(variants.length);
});

test('the digest does not depend on the order, labels or unused neighbours of configs', () => {
  const target = deployment(mounted);
  const flags = configMap('flags');
  const token = secret('token', { value: 'one' });
  const labelled = { ...flags, metadata: { ...flags.metadata, labels: { team: 'pay' } } };
  expect(digest({ target, configs: [token, labelled, configMap('other')] })).toBe(
    digest({ target, configs: [flags, token] }),
  );
});

test('a Secret value that moves from stringData to data is no change', () => {
  const target = deployment(mounted);
  const { stringData: _, ...rest } = secret('token', {});
  const encoded = { ...rest, data: { value: 'b25l' } };
  expect(digest({ target, configs: [encoded] })).toBe(
    digest({ target, configs: [secret('token', { value: 'one' })] }),
  );
});

test('values a Canary ignores do not count, everything else does', () => {
  const stamped = (build: string, other: string) => {
    const pods = template();
    pods.metadata = { annotations: { build, 'a/b': other } };
    return digest({
      target: deployment(pods),
      canary: {
        metadata: { name: 'pay', namespace: 'shop' },
        spec: { revisionIgnore: ['/spec/template/metadata/annotations/build'] },
      },
    });
  };
  expect(stamped('1', 'x')).toBe(stamped('2', 'x'));
  expect(stamped('1', 'x')).not.toBe(stamped('1', 'y'));
});

test('pins the first version of the digest, because records in clusters carry it', () => {
  const configs = [configMap('flags', { dark: 'off' }), secret('token', { value: 'one' })];
  expect(digest({ target: deployment(mounted), configs, secretKey: testKey })).toMatchInlineSnapshot(
    `"v1:5954157c6ec64744ed4c0306cc102cbb0c89a3b01711362d67f367340f6a8ed2"`,
  );
});

function sameMeaning(left: unknown, right: unknown): boolean {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (Object.is(value, -0)) return 0;
    if (!isRecord(value)) return value;
    const keys = Object.keys(value).sort();
    return keys.map((key) => [key, sorted(value[key])]);
  };
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}
