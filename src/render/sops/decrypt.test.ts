import { generateX25519Identity } from 'age-encryption';
import { expect, test } from 'vitest';
import { limits } from '../../api/limits.ts';
import { renderPlain } from '../render.ts';
import { createHiding, decryptionWith, unopened, withoutKeys } from './decrypt.ts';
import { sealedSecret, testKey } from './sealed.test-support.ts';
import { floatText } from './yaml-file.ts';

const keys = await decryptionWith({
  'a.agekey': Buffer.from(`# a comment\n${testKey}\n`),
  other: Buffer.from('x'),
});
const file = (text: string) => ({ path: 'secret.yaml', bytes: Buffer.from(text) });

function objectIn(bytes: Uint8Array | undefined) {
  return renderPlain([{ path: 'a.yaml', bytes: bytes ?? new Uint8Array() }]).objects[0]?.object;
}

test('a Secret is opened, typed as it was, without what SOPS added', async () => {
  const opened = await keys.open(file(sealedSecret), limits);
  expect(objectIn(opened?.bytes)).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'keys', namespace: 'shop' },
    stringData: { password: 'hunter2', count: 5 },
  });
});

test.each([
  ['a field beside the encrypted ones', sealedSecret.replace('name: keys', 'name: kings'), 'MAC mismatch'],
  [
    'the code itself',
    sealedSecret.replace(/mac: ENC\[AES256_GCM,data:./, (start) => `${start.slice(0, -1)}+`),
    'MAC mismatch',
  ],
  ['the time', sealedSecret.replace(/lastmodified: "2\d/, 'lastmodified: "19'), 'MAC mismatch'],
  [
    'a value',
    sealedSecret.replace(/count: ENC\[AES256_GCM,data:.*,iv/, 'count: ENC[AES256_GCM,data:AA==,iv'),
    'stringData.count was changed',
  ],
  ['the key', sealedSecret.replace(/-> |YWdl/, 'YWdm'), 'no key of spec.decryption opens it'],
])('%s that was changed is refused', async (_, text, expected) => {
  const opened = await keys.open(file(text), limits);
  expect(opened?.bytes).toBeUndefined();
  expect(opened?.problem?.message).toContain(expected);
  expect(opened?.problem?.message).not.toContain('hunter2');
});

test('without a key an encrypted file is refused, and others are not looked at', async () => {
  const refused = await withoutKeys.open(file(sealedSecret), limits);
  expect(refused?.problem?.message).toContain('set spec.decryption');
  expect(await withoutKeys.open(file('a: 1\n'), limits)).toBeUndefined();
  expect(await withoutKeys.open(file('a: "ENC[AES256_GCM,"\nsops: x\n'), limits)).toBeUndefined();
});

test.each(['kustomize.toolkit.fluxcd.io/decrypt', 'holdfast.dev/decrypt'])(
  '%s: disabled leaves a file alone',
  async (name) => {
    const text = sealedSecret.replace(
      '    name: keys',
      `    name: keys\n    annotations: {${name}: disabled}`,
    );
    expect(await keys.open(file(text), limits)).toBeUndefined();
  },
);

test('kinds that an operator opens in the cluster are left alone', async () => {
  expect(
    await keys.open(file(sealedSecret.replace('kind: Secret', 'kind: SopsSecret')), limits),
  ).toBeUndefined();
});

test('without keys at hand, what is not secret can be looked at', async () => {
  const object = objectIn((await unopened.open(file(sealedSecret), limits))?.bytes);
  expect(object?.metadata.name).toBe('keys');
  expect(object).not.toHaveProperty('sops');
});

test.each([
  [{ 'a.txt': Buffer.from(testKey) }, 'holds no age key'],
  [{ 'a.agekey': Buffer.from('AGE-SECRET-KEY-1QQQ') }, 'holds no age key'],
  [{ 'a.asc': Buffer.from('x') }, 'holds PGP keys only'],
])('keys that cannot be used are named, not shown: %#', async (entries, expected) => {
  const wrong = decryptionWith(entries as unknown as Record<string, Uint8Array>);
  await expect(wrong).rejects.toThrow(RangeError);
  await expect(wrong).rejects.toThrow(expected);
});

test('the id is that of the keys, in any order, and tells nothing of them', async () => {
  const other = await generateX25519Identity();
  const idOf = async (...lines: string[]) =>
    (await decryptionWith({ 'a.agekey': Buffer.from(lines.join('\n')) })).id;
  expect(await idOf(testKey, other)).toBe(await idOf(other, testKey));
  expect(new Set([await idOf(testKey), await idOf(other), await idOf(testKey, other)]).size).toBe(3);
  expect(await idOf(testKey)).toMatch(/^[0-9a-f]{64}$/);
});

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
  const hiding = createHiding();
  hiding.add(['hunter2', 'a']);
  expect(hiding.hide(message)).toBe('a *** b *** c');
});

test('a message that is not searched any more is not shown either', () => {
  const hiding = createHiding();
  hiding.add(Array.from({ length: 100_000 }, (_, index) => `secret-${index}`));
  const shown = Array.from({ length: 200 }, () => hiding.hide('holds secret-7'));
  expect(new Set(shown)).toEqual(new Set(['holds ***', expect.stringMatching(/^is not shown/)]));
});

test.each(['0x_', '0o_', '-0x', '0b', '1e999', '.'])(
  'a value that is no number in any language concerns its file alone: %s',
  async (value) => {
    const started = process.cpuUsage();
    const opened = await keys.open(file(sealedSecret.replace(/^kind:/m, `odd: ${value}\nkind:`)), limits);
    expect(opened?.problem).toMatchObject({
      file: 'secret.yaml',
      message: expect.stringMatching(/MAC mismatch/),
    });
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
  },
);

test('a Secret of very many keys is refused', async () => {
  const many = Array.from({ length: 21 }, () => testKey).join('\n');
  await expect(decryptionWith({ 'a.agekey': Buffer.from(many) })).rejects.toThrow(
    'holds more than 20 age keys',
  );
});
