import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type KubernetesObject, labelValue } from '../api/kubernetes.ts';
import { buildRelease, type ReleaseInput } from './build.ts';
import {
  configMap,
  container,
  deployment,
  releaseInput,
  secret,
  template,
  testKey,
} from './fixtures.test-support.ts';
import { decodeRecord, encodeRecord, recordAnnotations, recordName } from './record.ts';
import { type Release, withSettings } from './release.ts';

function release(extra: Partial<ReleaseInput> = {}): Release {
  const built = buildRelease(releaseInput(extra));
  if (built.problem) throw new Error(built.problem.message);
  return built.ok;
}

function encoded(of: Release): KubernetesObject[] {
  const result = encodeRecord(of);
  if (result.problem) throw new Error(result.problem);
  return result.ok ?? [];
}

/** Bytes that gzip cannot shrink, different for different lengths, the same on every run. */
function noise(length: number): string {
  let state = 1;
  const bytes = new Uint8Array(length).map(() => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state >>> 16;
  });
  return Buffer.from(bytes).toString('base64').slice(0, length);
}

function large(bytes: number): Release {
  const target = deployment(template({ volumes: [{ name: 'c', configMap: { name: 'big' } }] }));
  return release({ target, configs: [configMap('big', { noise: noise(bytes) })] });
}

test('what is read back is what was written, whatever the manifest holds', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.dictionary(fc.string(), fc.string()), (field, data) => {
      const pods = template({ field, volumes: [{ name: 'c', configMap: { name: 'flags' } }] });
      const written = release({ target: deployment(pods), configs: [configMap('flags', data)] });
      const stored = JSON.parse(JSON.stringify(encoded(written))) as KubernetesObject[];
      const read = decodeRecord(stored, testKey);
      expect(read.problem).toBeUndefined();
      expect(JSON.stringify(read.ok && encoded(read.ok.release))).toBe(JSON.stringify(stored));
      expect(read.ok?.release).toEqual(JSON.parse(JSON.stringify(written)));
    }),
  );
});

test('a Canary may have a name like that of a part', () => {
  const { canary } = releaseInput();
  const written = release({
    canary: { ...canary, metadata: { ...canary.metadata, name: 'jobs.part-time' } },
  });

  expect(decodeRecord(encoded(written), testKey).ok?.release).toEqual(written);
});

test('a record carries its labels and annotations, is immutable and has no owner', () => {
  const written = release();
  const [first] = encoded(written);
  expect(first).toMatchObject({
    type: 'holdfast.dev/release',
    immutable: true,
    metadata: {
      name: recordName(written.canary, written.digest),
      namespace: 'shop',
      labels: { 'holdfast.dev/canary': 'pay', 'holdfast.dev/record': 'release' },
      annotations: {
        'holdfast.dev/digest': written.digest,
        'holdfast.dev/commit': written.commit.commit,
        'holdfast.dev/subject': 'Pay faster',
        'holdfast.dev/settings': '{"replicas":2}',
      },
    },
  });
  expect(first?.metadata.ownerReferences).toBeUndefined();
});

test('stamps are read back: proof, newer commit, newer settings', () => {
  const written = release();
  const commit = { commit: 'f'.repeat(40), subject: 'Docs', author: 'B', time: '2026-11-21T00:00:00Z' };
  const settings = { replicas: 5, strategy: { type: 'Recreate' } };
  const result = encodeRecord(written, { promotedTime: '2026-11-21T01:00:00Z', commit, settings });
  const read = decodeRecord(result.ok ?? [], testKey);
  expect(read.ok).toMatchObject({ promotedTime: '2026-11-21T01:00:00Z', commit, settings });
  expect(withSettings(written.target, settings).spec).toMatchObject({
    replicas: 5,
    strategy: { type: 'Recreate' },
  });
});

test('settings without replicas take them out of the target', () => {
  const { spec } = withSettings(release().target, {});
  expect(spec).not.toHaveProperty('replicas');
  expect(spec).toHaveProperty('template');
});

test('a release above 900 KiB is split, and read back from its parts in any order', () => {
  const written = large(2_500_000);
  const secrets = encoded(written);
  expect(secrets.length).toBeGreaterThan(1);
  for (const part of secrets) {
    expect(Buffer.from((part.data as { release: string }).release, 'base64').length).toBeLessThanOrEqual(
      900 * 1024,
    );
    expect(part.metadata.name).toMatch(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/);
  }
  expect(secrets[0]?.metadata.name).toBe(recordName(written.canary, written.digest));
  expect(decodeRecord(secrets.reverse(), testKey).ok?.release).toEqual(written);
});

test('a missing part is named', () => {
  const secrets = encoded(large(2_500_000));
  expect(decodeRecord(secrets.slice(0, -1), testKey).problem).toContain(
    `part ${secrets.length} of ${secrets.length} is missing`,
  );
});

test('a release above 8 MiB is refused with what to do', () => {
  const result = encodeRecord(large(12_000_000));
  expect(result.problem).toMatch(
    /Canary shop\/pay has 11.4 MiB, 11.4 MiB of it ConfigMap shop\/big; no more than 8.0 MiB .* remove large ConfigMaps/,
  );
});

test('altered, damaged and foreign records are refused', () => {
  const first = encoded(release())[0]!;
  const other = encoded(release({ target: deployment(template({ hostNetwork: true })) }))[0]!;
  const altered = encoded({ ...release(), target: deployment(template({ hostNetwork: true })) });
  const moved = { ...other, metadata: { ...other.metadata, name: first.metadata.name } };
  expect(decodeRecord(altered, testKey).problem).toContain('do not match its digest');
  expect(decodeRecord([first], new Uint8Array(32)).problem).toBeUndefined();
  expect(decodeRecord([{ ...first, data: { release: 'AAAA' } }], testKey).problem).toContain('damaged');
  expect(decodeRecord([moved], testKey).problem).toContain('another canary or release');
  expect(decodeRecord([], testKey).problem).toContain('no first Secret');
});

test.each<[string, (own: Release) => Partial<Release>]>([
  ['the target to another namespace', ({ target }) => ({ target: inNamespace(target, 'kube-system') })],
  ['the target to another kind', ({ target }) => ({ target: { ...target, kind: 'ClusterPolicy' } })],
  ['a config to another namespace', () => ({ configs: [inNamespace(configMap('settings'), 'kube-system')] })],
  [
    'a config to another kind',
    () => ({ configs: [{ ...configMap('settings'), apiVersion: 'example.com/v1' }] }),
  ],
])('a record in which somebody moved %s is refused although its digest fits', (_, moved) => {
  const target = deployment(
    template({ containers: [container({ envFrom: [{ configMapRef: { name: 'settings' } }] })] }),
  );
  const own = release({ target, configs: [configMap('settings')] });
  const forged = { ...own, ...moved(own) };
  expect(decodeRecord(encoded(own), testKey).problem).toBeUndefined();
  expect(decodeRecord(encoded(forged), testKey).problem).toContain('objects of others');
});

function inNamespace(object: KubernetesObject, namespace: string): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, namespace } };
}

test.each([
  { canary: { name: 'web' } },
  { target: { metadata: {} } },
  { configs: [{}] },
  { ports: undefined },
])('a record without all fields of a release is refused: %j', (fields) => {
  const broken = encoded({ ...release(), ...fields } as never);
  expect(decodeRecord(broken, testKey).problem).toContain('fields of a release are missing');
});

test('with a Secret inside, another key of the cluster refuses the record', () => {
  const target = deployment(
    template({ containers: [container({ envFrom: [{ secretRef: { name: 'token' } }] })] }),
  );
  const [first] = encoded(release({ target, configs: [secret('token', { value: 'one' })] }));
  expect(decodeRecord([first!], new Uint8Array(32)).problem).toContain(
    'the key of this cluster was replaced',
  );
});

test('settings and counts that were edited by hand cannot bring in other fields', () => {
  const [first] = encoded(release());
  const annotations = {
    ...first!.metadata.annotations,
    [recordAnnotations.settings]: '{"replicas":3,"template":{"spec":{}},"paused":true}',
  };
  const edited = { ...first!, metadata: { ...first!.metadata, annotations } };
  expect(decodeRecord([edited], testKey).ok?.settings).toEqual({ replicas: 3 });
});

test('names and labels stay valid and distinct for the longest names', () => {
  const name = `${'a'.repeat(62)}.${'b'.repeat(60)}`;
  const names = [name, `${name}c`].map((canary) => recordName({ namespace: 'shop', name: canary }, 'v1:00'));
  expect(new Set(names).size).toBe(2);
  for (const text of [...names, labelValue(name)]) {
    expect(text.length).toBeLessThanOrEqual(63);
    expect(text).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
  }
});

test('no value of a Secret is in a digest, an annotation, a name or a message', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 12, maxLength: 20 }).map((text) => `T0KEN${text}`),
      (token) => {
        const pods = template({ containers: [container({ envFrom: [{ secretRef: { name: 'token' } }] })] });
        const written = release({ target: deployment(pods), configs: [secret('token', { value: token })] });
        const secrets = encoded(written);
        const shown = [
          written.digest,
          JSON.stringify(secrets.map((part) => part.metadata)),
          decodeRecord(secrets, new Uint8Array(32)).problem,
          decodeRecord([{ ...secrets[0]!, data: { release: token } }], testKey).problem,
          buildRelease(
            releaseInput({
              target: deployment(pods),
              configs: [{ ...secret('token', {}), data: { a: { token } } }],
            }),
          ).problem?.message,
        ].join(' ');
        expect(shown).not.toContain(token);
        expect(shown).not.toContain(Buffer.from(token).toString('base64').slice(0, 12));
      },
    ),
  );
});
