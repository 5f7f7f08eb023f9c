import { createCipheriv, createHmac, hkdfSync } from 'node:crypto';
import { armor, Decrypter, Encrypter, generateHybridIdentity, generateX25519Identity } from 'age-encryption';
import { expect, test } from 'vitest';
import { limits } from '../../api/limits.ts';
import { ageKeysIn } from './age.ts';
import { decryptionWith } from './decrypt.ts';
import { sealedSecret, testKey } from './sealed.test-support.ts';

const recipient = 'age1ryxa7kpjem0m7m9099qq654jpenqshvl5ynajyl5e4p3ulymwd6q9jlr0y';
const refused = `is encrypted with SOPS for ${recipient}, and no key of spec.decryption opens it`;

/** Every file below holds the data key of the Secret, so that one that is taken shows its password. */
const dataKey = await dataKeyOfSecret();
const sound = await partsOf(await encrypted(recipient));
const keys = await decryptionWith({ 'a.agekey': Buffer.from(testKey) });

interface Parts {
  /** Up to and with its `---`. */
  readonly header: string;
  readonly fileKey: Uint8Array;
  readonly payload: Uint8Array;
}

async function dataKeyOfSecret(): Promise<Uint8Array> {
  const written = /-----BEGIN[\s\S]*?-----END AGE ENCRYPTED FILE-----/.exec(sealedSecret)?.[0] ?? '';
  const key = await (await ageKeysIn([testKey])).open(written.replaceAll(/^ +/gm, ''));
  return key ?? new Uint8Array();
}

function encrypted(to: string): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(to);
  return encrypter.encrypt(dataKey);
}

async function partsOf(file: Uint8Array): Promise<Parts> {
  const text = Buffer.from(file).toString('latin1');
  const headerEnd = text.indexOf('\n---') + '\n---'.length;
  const payloadStart = text.indexOf('\n', headerEnd) + 1;
  const decrypter = new Decrypter();
  decrypter.addIdentity(testKey);
  const fileKey = await decrypter.decryptHeader(file.subarray(0, payloadStart));
  return { header: text.slice(0, headerEnd), fileKey, payload: file.subarray(payloadStart) };
}

/** A file whose code fits its header, however odd that is: who writes a file for a public key can always make one. */
function fileOf({ header = sound.header, fileKey = sound.fileKey, payload = sound.payload }: Partial<Parts>) {
  const key = Buffer.from(hkdfSync('sha256', fileKey, '', 'header', 32));
  const code = createHmac('sha256', key).update(header, 'latin1').digest('base64').replace('=', '');
  return Buffer.concat([Buffer.from(`${header} ${code}\n`, 'latin1'), payload]);
}

/** The Secret with other age entries in place of its own. */
function secretFor(...armored: string[]): string {
  const entries = armored.map(
    (enc) => `        - recipient: ${recipient}\n          enc: ${JSON.stringify(enc)}\n`,
  );
  return sealedSecret.replace(/ +- recipient: [\s\S]*?END AGE ENCRYPTED FILE-----\n/, entries.join(''));
}

async function open(...armored: string[]) {
  const opened = await keys.open({ path: 'secret.yaml', bytes: Buffer.from(secretFor(...armored)) }, limits);
  return opened?.bytes ? Buffer.from(opened.bytes).toString('utf8') : opened?.problem?.message;
}

/** The same bits with one of those set that no byte takes: strict readers refuse it, others see no difference. */
function notCanonical(base64: string): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const changed = base64.slice(0, -1) + digits[digits.indexOf(base64.slice(-1)) + 1];
  if (!Buffer.from(changed, 'base64').equals(Buffer.from(base64, 'base64'))) throw new Error('not the same');
  return changed;
}

/** A stanza of the share zero: whatever the private key, the common secret is zero, so anybody can make and open it. */
function lowOrderStanza(fileKey: Uint8Array): string {
  const share = Buffer.alloc(32);
  const publicKey = Buffer.from('190ddf5832cedfbf6caf29400d52b20e66085d9fa127d913f4cd431e7c9b7374', 'hex');
  const salt = Buffer.concat([share, publicKey]);
  const key = Buffer.from(hkdfSync('sha256', Buffer.alloc(32), salt, 'age-encryption.org/v1/X25519', 32));
  const cipher = createCipheriv('chacha20-poly1305', key, Buffer.alloc(12), { authTagLength: 16 });
  const body = Buffer.concat([cipher.update(fileKey), cipher.final(), cipher.getAuthTag()]);
  return `-> X25519 ${unpadded(share)}\n${unpadded(body)}`;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

/** A stanza that no key fits. */
const foreign = `-> X25519 ${unpadded(Buffer.alloc(32, 9))}\n${unpadded(Buffer.alloc(32, 1))}\n`;
const withForeign = (count: number) =>
  armor.encode(fileOf({ header: sound.header.replace('\n', () => `\n${foreign.repeat(count)}`) }));
const armored = armor.encode(fileOf({}));
const [, share = '', body = ''] = /-> X25519 (.*)\n(.*)\n/.exec(sound.header) ?? [];

test('a file as these tests make them is opened, also with further recipients and Windows line ends', async () => {
  expect(await open(armored)).toContain('hunter2');
  expect(await open(armored.replaceAll('\n', '\r\n'))).toContain('hunter2');
  expect(await open(withForeign(limits.ageStanzas - 1))).toContain('hunter2');
});

test.each<[string, (header: string) => string]>([
  ['a share that is not canonical', (header) => header.replace(share, notCanonical)],
  ['a body that is not canonical', (header) => header.replace(body, notCanonical)],
  ['a padded share', (header) => header.replace(share, `${share}=`)],
  ['an argument too many', (header) => header.replace(share, `${share} x`)],
  ['two blanks', (header) => header.replace(share, ` ${share}`)],
  ['a line of no stanza', (header) => header.replace('\n---', '\nx\n---')],
  ['another version', (header) => header.replace('/v1', '/v2')],
  ['a share of low order', () => `age-encryption.org/v1\n${lowOrderStanza(sound.fileKey)}\n---`],
])('a header with %s is refused', async (_, edit) => {
  const header = edit(sound.header);
  expect(header).not.toBe(sound.header);
  expect(await open(armor.encode(fileOf({ header })))).toBe(refused);
});

test.each<[string, (file: Buffer) => Buffer]>([
  ['another code of its header', (file) => changedAt(file, sound.header.length + 3)],
  [
    'a header that its code does not cover',
    (file) => Buffer.from(file.toString('latin1').replace('\n', `\n${foreign}`), 'latin1'),
  ],
  ['a code that is not canonical', (file) => withCode(file, notCanonical)],
  ['a blank behind its code', (file) => withCode(file, (code) => `${code} `)],
  ['a changed payload', (file) => changedAt(file, file.length - 20)],
  ['a payload that is cut off', (file) => file.subarray(0, -1)],
  ['no payload', (file) => file.subarray(0, -sound.payload.length)],
  ['more after its end', (file) => Buffer.concat([file, Buffer.from('x')])],
  ['a second file after its end', (file) => Buffer.concat([file, file])],
])('a file with %s is refused', async (_, edit) => {
  expect(await open(armor.encode(edit(fileOf({}))))).toBe(refused);
});

function withCode(file: Buffer, edit: (code: string) => string): Buffer {
  const text = file.toString('latin1').replace(/(?<=\n--- ).*/, edit);
  return Buffer.from(text, 'latin1');
}

function changedAt(file: Buffer, index: number): Buffer {
  const changed = Buffer.from(file);
  // Both are letters of base64.
  changed[index] = changed[index] === 0x41 ? 0x42 : 0x41;
  return changed;
}

const [firstLine = ''] = armored.split('\n').slice(1);
test.each<[string, string]>([
  ['nothing', ''],
  ['garbage before it', `x\n${armored}`],
  ['garbage behind it', `${armored}x\n`],
  ['garbage in it', armored.replace(firstLine, `${firstLine.slice(0, -1)}!`)],
  ['a line that is too long', armored.replace(`${firstLine}\n`, firstLine)],
  [
    'a line that is too short',
    armored.replace(firstLine, `${firstLine.slice(0, 32)}\n${firstLine.slice(32)}`),
  ],
  ['an empty line', armored.replace('-----\n', '-----\n\n')],
  ['a checksum as of PGP', armored.replace('-----END', '=abcd\n-----END')],
  ['no end', armored.replace(/-----END.*\n/, '')],
  ['another type', armored.replaceAll('AGE ENCRYPTED FILE', 'AGE FILE')],
])('an armor with %s is refused', async (_, text) => {
  expect(text).not.toBe(armored);
  expect(await open(text)).toBe(refused);
});

test('what has more stanzas, characters or entries than SOPS writes is not tried', async () => {
  expect(await open(withForeign(limits.ageStanzas))).toBe(
    'has an age entry of 21 stanzas; at most 20 are read',
  );
  const many = withForeign(5_000);
  expect(await open(many)).toBe(`has an age entry of ${many.length} characters; at most 65536 are read`);
  const others = (count: number) => Array.from({ length: count }, () => '');
  expect(await open(...others(99), armored)).toContain('hunter2');
  expect(await open(...others(100), armored)).toBe(
    'has 101 age entries, and no key of spec.decryption opens one of the first 100',
  );
});

test('the stanzas of all entries are bounded together, and other work gets its turn between them', async () => {
  // Not in the last line, whose last letter may hold bits that count for nothing.
  const spoilt = (file: string) =>
    file.replace(/[A-Za-z](?=.*\n.*\n-----END)/, (letter) => (letter === 'x' ? 'y' : 'x'));
  const entries = Array.from({ length: 20 }, () => spoilt(withForeign(15)));
  let turns = 0;
  const bytes = Buffer.from(secretFor(...entries));
  const pause = async () => {
    turns += 1;
  };
  const opened = await keys.open({ path: 'secret.yaml', bytes }, limits, pause);
  expect(opened?.problem?.message).toBe('has age entries of more than 200 stanzas together');
  expect(turns).toBe(12);
});

test('a passphrase is never tried, whatever work it asks for', async () => {
  const encrypter = new Encrypter();
  encrypter.setPassphrase('');
  encrypter.setScryptWorkFactor(1);
  expect(await open(armor.encode(await encrypter.encrypt(dataKey)))).toBe(refused);
  const stanza = `-> scrypt ${unpadded(Buffer.alloc(16))} 20\n${unpadded(Buffer.alloc(32))}`;
  expect(await open(armor.encode(fileOf({ header: `age-encryption.org/v1\n${stanza}\n---` })))).toBe(refused);
});

test('only X25519 keys count, one per line', async () => {
  const other = await generateX25519Identity();
  const wrong = testKey.replace(/.$/, (last) => (last === 'Q' ? 'P' : 'Q'));
  const text = [
    '# created: today',
    wrong,
    await generateHybridIdentity(),
    testKey.toLowerCase(),
    `  ${testKey}\r`,
  ];
  expect((await ageKeysIn([text.join('\n'), other])).recipients).toEqual([
    recipient,
    expect.stringMatching(/^age1/),
  ]);
  expect((await ageKeysIn([wrong, ''])).recipients).toEqual([]);
});
