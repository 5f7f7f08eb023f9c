import { expect, test } from 'vitest';
import { buildRelease, mountsConfig, viewOf } from './build.ts';
import {
  configMap,
  container,
  deployment,
  releaseInput,
  secret,
  template,
  testCommit,
} from './fixtures.test-support.ts';
import { settingsKey, settingsOf } from './release.ts';

const target = deployment(
  template({
    volumes: [{ name: 'c', configMap: { name: 'flags' } }],
    containers: [
      container({
        envFrom: [{ secretRef: { name: 'token', optional: true } }, { configMapRef: { name: 'shared' } }],
      }),
    ],
  }),
);

function optedOut() {
  const object = configMap('shared');
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { 'flagger.app/config-tracking': 'disabled' } },
  };
}

test('a release holds the target, the tracked config that Git has, and the names only the cluster may have', () => {
  const elsewhere = { ...configMap('flags'), metadata: { name: 'flags', namespace: 'other' } };
  const configs = [elsewhere, configMap('flags', { dark: 'off' }), optedOut(), configMap('unused')];
  const origins = ['b.yaml:9', 'a.yaml:1', 'b.yaml:9'];
  const { ok } = buildRelease(releaseInput({ target, configs, origins }));
  expect(ok).toMatchObject({
    commit: testCommit,
    canary: { namespace: 'shop', name: 'pay' },
    target,
    ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 80 }],
    configs: [configMap('flags', { dark: 'off' })],
    liveConfigs: [{ kind: 'Secret', name: 'token', optional: true }],
    origins: ['a.yaml:1', 'b.yaml:9'],
  });
  expect(ok?.digest).toMatch(/^v1:[0-9a-f]{64}$/);
});

test('the view has settings and mounted config for the core', () => {
  const mounted = buildRelease(releaseInput({ target, configs: [configMap('flags')] })).ok!;
  const plain = buildRelease(releaseInput()).ok!;
  expect(viewOf(mounted)).toMatchObject({
    digest: mounted.digest,
    replicas: 2,
    mountsConfig: true,
    commit: testCommit,
  });
  expect(mountsConfig(plain)).toBe(false);
  expect(viewOf(plain).settingsKey).toBe(settingsKey({ replicas: 2 }));
});

test('settings are read for each kind of workload, and their key follows them', () => {
  const strategy = { rollingUpdate: { maxUnavailable: 1 } };
  const daemonSet = { ...deployment(template(), { updateStrategy: strategy }), kind: 'DaemonSet' };
  expect(settingsOf(daemonSet)).toEqual({ replicas: 2, strategy });
  expect(settingsKey({ replicas: 2 })).not.toBe(settingsKey({ replicas: 3 }));
  expect(settingsKey({ replicas: 2, minReadySeconds: 1 })).toBe(
    settingsKey({ minReadySeconds: 1, replicas: 2 }),
  );
});

test.each([
  ['another kind', { target: { ...deployment(), kind: 'Job' } }, 'kind', /not Job/],
  ['no template', { target: { ...deployment(), spec: {} } }, 'spec.template', /no pod template/],
  [
    'no containers',
    { target: deployment(template({ containers: [] })) },
    'spec.template.spec.containers',
    /no containers/,
  ],
  [
    'a nameless container',
    { target: deployment(template({ containers: [{}] })) },
    'spec.template.spec.containers[0].name',
    /no name/,
  ],
  [
    'an ignored field outside the template',
    {
      canary: { metadata: { name: 'pay', namespace: 'shop' }, spec: { revisionIgnore: ['/spec/replicas'] } },
    },
    'spec.revisionIgnore[0]',
    /below \/spec\/template\//,
  ],
  [
    'config data that is no map',
    { target, configs: [{ ...configMap('flags'), data: 'x' }] },
    'data',
    /map of strings/,
  ],
  [
    'a config value that is no string',
    { target, configs: [{ ...secret('token', {}), data: { port: 5432 } }] },
    'data',
    /"port" must be a string/,
  ],
])('names the object and field of %s', (_, extra, field, message) => {
  const { problem } = buildRelease(releaseInput(extra));
  expect(problem?.field).toBe(field);
  expect(problem?.object).toMatch(/shop\//);
  expect(problem?.message).toMatch(message);
});

test('a key of the cluster that is too short is a fault of the program', () => {
  expect(() => buildRelease(releaseInput({ secretKey: new Uint8Array(8) }))).toThrow(RangeError);
});
