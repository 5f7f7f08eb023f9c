import { createCipheriv, createHash } from 'node:crypto';
import { generateX25519Identity } from 'age-encryption';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { measureEffort } from '../../../test/effort.ts';
import { limits } from '../../api/limits.ts';
import { renderPlain } from '../render.ts';
import { ageKeysIn } from './age.ts';
import { decryptionWith, unopened, withoutKeys } from './decrypt.ts';
import { createHiding } from './hiding.ts';
import { sealedEmptyLists, sealedLists, sealedMerge, sealedSecret, testKey } from './sealed.test-support.ts';
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

test('comments in lists, which sops encrypts as items, are none', async () => {
  const opened = await keys.open(file(sealedLists), limits);
  expect(opened?.problem).toBeUndefined();
  expect(objectIn(opened?.bytes)).toMatchObject({ stringData: { hosts: ['db.example.com', [1, 'two']] } });
  expect(String(opened?.bytes && Buffer.from(opened.bytes))).not.toMatch(/of the shop|inner/);
});

test.each([
  ['as sops writes it', sealedEmptyLists],
  ['not indented', sealedEmptyLists.replace('        - ENC', '    - ENC')],
])('an empty list with a comment behind it stays an empty list, %s', async (_, text) => {
  const opened = await keys.open(file(text), limits);
  expect(opened?.problem).toBeUndefined();
  expect(objectIn(opened?.bytes)).toMatchObject({ stringData: { hosts: [], nested: [[], 'one'] } });
});

test('merge keys, to which sops gives a tag, are read', async () => {
  const opened = await keys.open(file(sealedMerge), limits);
  expect(opened?.problem).toBeUndefined();
  expect(objectIn(opened?.bytes)).toMatchObject({
    stringData: { user: 'web' },
    data: { user: 'web', role: 'admin' },
  });
});

test.each([
  ['moved to another list', sealedLists.replace('    hosts:', '    names:'), 'was changed, or moved'],
  ['made of a value', sealedLists.replace(/(data:Ruso,.*)type:str/, '$1type:comment'), 'MAC mismatch'],
])('a comment in a list that was %s is refused', async (_, text, expected) => {
  expect((await keys.open(file(text), limits))?.problem?.message).toContain(expected);
});

test.each(['first', 'last'])('in JSON, too, where what SOPS added stands %s', async (place) => {
  const { sops, ...rest } = parse(sealedSecret) as Record<string, unknown>;
  const fields = place === 'first' ? { sops, ...rest } : { ...rest, sops };
  const opened = await keys.open(file(JSON.stringify(fields, undefined, 2)), limits);
  expect(objectIn(opened?.bytes)).toMatchObject({ kind: 'Secret', stringData: { password: 'hunter2' } });
});

test.each([
  ['a field next to the encrypted ones', sealedSecret.replace('name: keys', 'name: kings'), 'MAC mismatch'],
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

test.each(['first', 'second'])(
  'one that is left alone does not take another one of its file with it: %s',
  async (place) => {
    const left = sealedSecret.replace('kind: Secret', 'kind: SopsSecret');
    const documents = place === 'first' ? [left, sealedSecret] : [sealedSecret, left];

    const opened = await keys.open(file(documents.join('---\n')), limits);

    expect(opened?.problem?.message).toContain('put them into a file of their own');
    expect(await keys.open(file([left, left].join('---\n')), limits)).toBeUndefined();
  },
);

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

test('the id is that of the keys, in any order, and reveals nothing about them', async () => {
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

test.each([
  ['in quotes of a program', 'pass"wo\\rd', 'invalid line: "pass\\"wo\\\\rd"', 'invalid line: "***"'],
  ['with its blanks made one', 'correct  horse\tbattery', 'invalid: correct horse battery', 'invalid: ***'],
  ['cut at the end of a long message', 'hunter2-and-more', 'invalid: hunter2-and…', 'invalid: ***…'],
  [
    'cut after its first line',
    'first-line\nsecond-line',
    'invalid: first-line second-l…',
    'invalid: *** ***…',
  ],
  ['not cut at all', 'hunter2-and-more', 'two words that end…', 'two words that end…'],
])('secrets are taken out of what a program says of them: %s', (_, secret, message, expected) => {
  const hiding = createHiding();
  hiding.add([secret]);
  expect(hiding.hide(message)).toBe(expected);
});

test('a cut message is compared with very many secrets at once', () => {
  const hiding = createHiding();
  hiding.add(Array.from({ length: 5_000 }, (_, index) => 'a'.repeat(index + 4)));
  const message = `${'b'.repeat(100)}${'a'.repeat(3)}…`;
  const effort = measureEffort();

  const shown = Array.from({ length: 100 }, () => hiding.hide(message));

  expect(new Set(shown)).toEqual(new Set([message]));
  expect(effort()).toBeLessThan(1000);
});

test('secrets that nearly fit at each place of a long message take a second at most', () => {
  const hiding = createHiding();
  const secret = (index: number) => `${'a'.repeat(500 + index)}b${'a'.repeat(500)}`;
  hiding.add(Array.from({ length: 300 }, (_, index) => secret(index)));
  const effort = measureEffort();

  const shown = Array.from({ length: 5 }, () => hiding.hide(`${'a'.repeat(100_000)} does not exist`));

  expect(shown[0]?.length).toBeLessThanOrEqual(2_000);
  expect(shown.at(-1)).toMatch(/^is not shown/);
  expect(effort()).toBeLessThan(400);
});

test('a message that is not searched any more is not shown either', () => {
  const hiding = createHiding();
  hiding.add(Array.from({ length: 10_000 }, (_, index) => `secret-${index}`));
  const rest = ' and more'.repeat(100);
  const shown = Array.from({ length: 25 }, () => hiding.hide(`holds secret-7${rest}`));
  expect(new Set(shown)).toEqual(new Set([`holds ***${rest}`, expect.stringMatching(/^is not shown/)]));
});

test.each(['0x_', '0o_', '-0x', '0b', '1e999', '.'])(
  'a value that is no number in any language concerns its file alone: %s',
  async (value) => {
    const effort = measureEffort();
    const opened = await keys.open(file(sealedSecret.replace(/^kind:/m, `odd: ${value}\nkind:`)), limits);
    expect(opened?.problem).toMatchObject({
      file: 'secret.yaml',
      message: expect.stringMatching(/MAC mismatch/),
    });
    expect(effort()).toBeLessThan(200);
  },
);

test('a Secret of very many keys is refused', async () => {
  const many = Array.from({ length: 21 }, () => testKey).join('\n');
  await expect(decryptionWith({ 'a.agekey': Buffer.from(many) })).rejects.toThrow(
    'holds more than 20 age keys',
  );
});

describe('encrypted files whose name does not say their format', () => {
  const asJson = JSON.stringify(parse(sealedSecret), null, '\t');
  const envFile = (to: Uint8Array) => sealedEnvFile({ PASSWORD: 'hunter2', USER_NAME: 'shop' }, to);

  test.each([
    ['YAML', 'app.conf', sealedSecret],
    ['JSON', '.dockerconfigjson', asJson],
    ['JSON without an extension', 'config', JSON.stringify(parse(sealedSecret))],
  ])('%s is opened as what it is: %s', async (_, path, text) => {
    const opened = await keys.open({ path, bytes: Buffer.from(text) }, limits);

    expect(parse(Buffer.from(opened?.bytes ?? []).toString())).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'keys', namespace: 'shop' },
      stringData: { password: 'hunter2', count: 5 },
    });
    expect(opened).toMatchObject({ secrets: ['hunter2', '5'] });
  });

  test.each(['.env', '.env.production', 'app.properties'])(
    'lines of variables are opened: %s',
    async (path) => {
      const text = envFile(await dataKey());

      const opened = await keys.open({ path, bytes: Buffer.from(text) }, limits);

      expect(Buffer.from(opened?.bytes ?? []).toString()).toBe('PASSWORD=hunter2\nUSER_NAME=shop\n');
      expect((await withoutKeys.open({ path, bytes: Buffer.from(text) }, limits))?.problem).toBeDefined();
    },
  );

  test.each([
    ['.env', 'ADMIN=yes'],
    ['.env', 'PASSWORD'],
    ['app.properties', 'ADMIN=yes'],
  ])('a line that was added to %s does not make content of it: %s', async (path, line) => {
    const text = `${envFile(await dataKey())}${line}\n`;

    const opened = await keys.open({ path, bytes: Buffer.from(text) }, limits);

    const content = Buffer.from(opened?.bytes ?? []).toString();
    expect(opened).toBeDefined();
    expect(content).not.toMatch(/ENC\[|ADMIN/);
  });

  const ini = `[db]\npassword = ENC[AES256_GCM,data:AA==,iv:AA==,tag:AA==,type:str]\n\n[sops]\nlastmodified = 2026-11-21T19:59:42Z\nmac = ENC[AES256_GCM,data:AA==,iv:AA==,tag:AA==,type:str]\nversion = 3.11.0\n`;
  test.each([
    ['INI, which is not supported', 'app.ini', ini],
    ['YAML with more nodes than are read', 'data.yaml', `${many(limits.yamlNodes + 1)}${sealedSecret}`],
    [
      'YAML under any name with more nodes than are read',
      'data.conf',
      `${many(limits.yamlNodes + 1)}${sealedSecret}`,
    ],
    ['JSON that was cut', 'config.json', asJson.slice(0, -3)],
  ])('%s is refused, with and without a key: ciphertext is never content', async (_, path, text) => {
    const source = { path, bytes: Buffer.from(text) };

    expect((await keys.open(source, limits))?.problem?.message).toMatch(/^is encrypted with SOPS/);
    expect((await withoutKeys.open(source, limits))?.problem?.message).toMatch(/^is encrypted with SOPS/);
  });

  test.each([sealedSecret, ini])('a page that shows how such a file looks is content: %#', async (shown) => {
    const page = `# Secrets\n\nThey look like this:\n\n\`\`\`\n${shown}\`\`\`\n\nor: \`sops_mac=ENC[AES256_GCM,\`\n`;

    expect(await withoutKeys.open({ path: 'README.md', bytes: Buffer.from(page) }, limits)).toBeUndefined();
  });
});

function many(nodes: number): string {
  return `list:\n${'- a\n'.repeat(nodes)}`;
}

/** The key of the Secret's values. */
async function dataKey(): Promise<Uint8Array> {
  const written = /-----BEGIN[\s\S]*?-----END AGE ENCRYPTED FILE-----/.exec(sealedSecret)?.[0] ?? '';
  return (await (await ageKeysIn([testKey])).open(written.replaceAll(/^ +/gm, ''))) ?? new Uint8Array();
}

/** As sops writes it: values, and then what it says of itself, all as variables. */
function sealedEnvFile(values: Readonly<Record<string, string>>, key: Uint8Array): string {
  const lastModified = '2026-11-21T19:59:42Z';
  const seal = (text: string, bound: string) => {
    const iv = Buffer.alloc(32, 7);
    const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: 16 });
    cipher.setAAD(Buffer.from(bound));
    const data = Buffer.concat([cipher.update(text), cipher.final()]).toString('base64');
    return `ENC[AES256_GCM,data:${data},iv:${iv.toString('base64')},tag:${cipher.getAuthTag().toString('base64')},type:str]`;
  };
  const armored = /-----BEGIN[\s\S]*?-----END AGE ENCRYPTED FILE-----/.exec(sealedSecret)?.[0] ?? '';
  const mac = createHash('sha512').update(Object.values(values).join('')).digest('hex').toUpperCase();
  return [
    ...Object.entries(values).map(([name, value]) => `${name}=${seal(value, `${name}:`)}`),
    `sops_age__list_0__map_enc=${armored.replaceAll(/^ +/gm, '').replaceAll('\n', '\\n')}\\n`,
    'sops_age__list_0__map_recipient=age1ryxa7kpjem0m7m9099qq654jpenqshvl5ynajyl5e4p3ulymwd6q9jlr0y',
    `sops_lastmodified=${lastModified}`,
    `sops_mac=${seal(mac, lastModified)}`,
    'sops_version=3.11.0',
    '',
  ].join('\n');
}
