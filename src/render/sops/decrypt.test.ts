import { expect, test } from 'vitest';
import { limits } from '../../api/limits.ts';
import { renderPlain } from '../render.ts';
import { identitiesIn, openAge } from './age.ts';
import { fromBech32 } from './bech32.ts';
import { decryptionWith, hideSecrets, unopened, withoutKeys } from './decrypt.ts';
import { floatText } from './plain-value.ts';
import { sealedSecret, testKey } from './sealed.test-support.ts';

const keys = decryptionWith({
  'a.agekey': Buffer.from(`# a comment\n${testKey}\n`),
  other: Buffer.from('x'),
});
const file = (text: string) => ({ path: 'secret.yaml', bytes: Buffer.from(text) });

function objectIn(bytes: Uint8Array | undefined) {
  return renderPlain([{ path: 'a.yaml', bytes: bytes ?? new Uint8Array() }]).objects[0]?.object;
}

test('a Secret is opened, typed as it was, without what SOPS added', () => {
  const opened = keys.open(file(sealedSecret), limits);
  expect(objectIn(opened?.bytes)).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'keys', namespace: 'shop' },
    stringData: { password: 'hunter2', count: 5 },
  });
});

test.each([
  [
    'a field beside the encrypted ones',
    sealedSecret.replace('name: keys', 'name: kings'),
    'MAC does not fit',
  ],
  [
    'the code itself',
    sealedSecret.replace(/mac: ENC\[AES256_GCM,data:./, (start) => `${start.slice(0, -1)}+`),
    'MAC does not fit',
  ],
  ['the time', sealedSecret.replace(/lastmodified: "2\d/, 'lastmodified: "19'), 'MAC does not fit'],
  [
    'a value',
    sealedSecret.replace(/count: ENC\[AES256_GCM,data:.*,iv/, 'count: ENC[AES256_GCM,data:AA==,iv'),
    'stringData.count was changed',
  ],
  ['the key', sealedSecret.replace(/-> |YWdl/, 'YWdm'), 'no key of spec.decryption opens it'],
])('%s that was changed is refused', (_, text, expected) => {
  const opened = keys.open(file(text), limits);
  expect(opened?.bytes).toBeUndefined();
  expect(opened?.problem?.message).toContain(expected);
  expect(opened?.problem?.message).not.toContain('hunter2');
});

test('without a key an encrypted file is refused, and others are not looked at', () => {
  expect(withoutKeys.open(file(sealedSecret), limits)?.problem?.message).toContain('set spec.decryption');
  expect(withoutKeys.open(file('a: 1\n'), limits)).toBeUndefined();
  expect(withoutKeys.open(file('a: "ENC[AES256_GCM,"\nsops: x\n'), limits)).toBeUndefined();
});

test.each(['kustomize.toolkit.fluxcd.io/decrypt', 'holdfast.dev/decrypt'])(
  '%s: disabled leaves a file alone',
  (name) => {
    const text = sealedSecret.replace(
      '    name: keys',
      `    name: keys\n    annotations: {${name}: disabled}`,
    );
    expect(keys.open(file(text), limits)).toBeUndefined();
  },
);

test('kinds that an operator opens in the cluster are left alone', () => {
  expect(keys.open(file(sealedSecret.replace('kind: Secret', 'kind: SopsSecret')), limits)).toBeUndefined();
});

test('without keys at hand, what is not secret can be looked at', () => {
  const object = objectIn(unopened.open(file(sealedSecret), limits)?.bytes);
  expect(object?.metadata.name).toBe('keys');
  expect(object).not.toHaveProperty('sops');
});

test.each([
  [{ 'a.txt': Buffer.from(testKey) }, 'holds no age key'],
  [{ 'a.agekey': Buffer.from('AGE-SECRET-KEY-1QQQ') }, 'holds no age key'],
  [{ 'a.asc': Buffer.from('x') }, 'holds PGP keys only'],
])('keys that cannot be used are named, not shown: %#', (entries, expected) => {
  expect(() => decryptionWith(entries as unknown as Record<string, Uint8Array>)).toThrow(expected);
});

test('a key with a wrong letter is no key', () => {
  const wrong = testKey.replace(/.$/, (last) => (last === 'Q' ? 'P' : 'Q'));
  expect(identitiesIn(testKey)).toHaveLength(1);
  expect(identitiesIn(wrong)).toEqual([]);
  expect(fromBech32('A12UEL5L', 'a')).toEqual(Buffer.alloc(0));
  expect(fromBech32('a12UEL5L', 'a')).toBeUndefined();
});

test.each(['', 'x', '-----BEGIN AGE ENCRYPTED FILE-----\nAAAA\n-----END AGE ENCRYPTED FILE-----\n'])(
  '%j is no file of age',
  (text) => {
    expect(openAge(text, identitiesIn(testKey))).toBeUndefined();
  },
);

test.each([
  [1.5, '1.5'],
  [1e21, '1000000000000000000000'],
  [-1.25e-7, '-0.000000125'],
  [12.5e22, '125000000000000000000000'],
])('%d is written without an exponent', (value, expected) => {
  expect(floatText(value)).toBe(expected);
});

test('secrets are taken out of messages, in base64 too', () => {
  const message = `a hunter2 b ${Buffer.from('hunter2').toString('base64')} c`;
  expect(hideSecrets(message, new Set(['hunter2', 'a']))).toBe('a *** b *** c');
});
