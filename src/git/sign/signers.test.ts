import * as openpgp from 'openpgp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestKeys, type TestKeys } from '../testing/signing.ts';
import { signedCommit } from './signed-object.ts';
import { readSigners, signerOf } from './signers.ts';

const commitTime = Date.parse('2026-11-01T10:00:00Z') / 1000;

/** A commit's bytes without a signature; `\xff` is no UTF-8. */
function payloadOf(message = 'Change \xff', seconds = commitTime): Buffer {
  const text = `tree ${'1'.repeat(40)}\nauthor Ada <ada@example.com> ${seconds} +0100\ncommitter Ada <ada@example.com> ${seconds} +0100\nencoding ISO-8859-1\n\n${message}\n\n-----BEGIN SSH SIGNATURE-----\nnot one\n`;
  return Buffer.from(text, 'latin1');
}

/** The same with its signature in the header. */
function signedWith(signature: string, payload = payloadOf()): Buffer {
  const text = payload.toString('latin1');
  const end = text.indexOf('\n\n');
  const header = `gpgsig ${signature.trimEnd().replaceAll('\n', '\n ')}`;
  return Buffer.from(`${text.slice(0, end)}\n${header}${text.slice(end)}`, 'latin1');
}

const allowed = (text: string) => readSigners('shop/signers', { allowed_signers: Buffer.from(text) });

async function whoSigned(bytes: Buffer, signers: string): Promise<string> {
  return signerOf(signedCommit(bytes), await allowed(signers));
}

describe('an SSH signature', () => {
  let keys: TestKeys;
  const lines: Record<string, string> = {};
  beforeAll(() => {
    keys = createTestKeys();
    lines.ed25519 = `ada@example.com ${keys.make('ed25519', 'ed25519')}`;
    lines.rsa = `ada@example.com ${keys.make('rsa', 'rsa', 2048)}`;
    for (const bits of [256, 384, 521])
      lines[`ecdsa${bits}`] = `ada@example.com ${keys.make(`ecdsa${bits}`, 'ecdsa', bits)}`;
    lines.other = `eve@example.com ${keys.make('other', 'ed25519')}`;
  });
  afterAll(() => keys.close());
  const line = (name: string, options = ''): string => (lines[name] ?? '').replace(' ', ` ${options}`);

  it.each(['ed25519', 'rsa', 'ecdsa256', 'ecdsa384', 'ecdsa521'])(
    'counts by a key of type %s',
    async (name) => {
      const bytes = signedWith(keys.sign(name, payloadOf()));
      expect(signedCommit(bytes).payload.equals(payloadOf())).toBe(true);
      const options = 'namespaces="file,g?t",valid-after="20260101",valid-before=20270101000000Z ';
      const text = `# who may sign\n\n${line('other')}\n${line(name, options)} a comment\n`;
      expect(await whoSigned(bytes, text)).toMatch(/^ada@example\.com \(SHA256:[\w+/]{43}\)$/);
    },
  );

  it.each([
    [
      'of another commit',
      () => signedWith(keys.sign('ed25519', payloadOf('Another'))),
      'does not match the content',
    ],
    ['for another namespace', () => signedWith(keys.sign('ed25519', payloadOf(), 'file')), 'not for git'],
    [
      'by a key of nobody',
      () => signedWith(keys.sign('other', payloadOf())),
      'not among the allowed signers',
    ],
    [
      'that is cut short',
      () => signedWith(keys.sign('ed25519', payloadOf()).replace(/\n.*\n-----END/, '\n-----END')),
      'truncated',
    ],
    [
      'without its end',
      () => signedWith(keys.sign('ed25519', payloadOf()).replace(/\n-----END[\s\S]*/, '')),
      'armor is malformed',
    ],
    [
      'twice',
      () => signedWith(keys.sign('ed25519', payloadOf()), signedWith(keys.sign('ed25519', payloadOf()))),
      'more than one',
    ],
    ['that is missing', () => payloadOf(), 'not signed'],
    ['that is S/MIME', () => signedWith('-----BEGIN SIGNED MESSAGE-----\nAAAA'), 'neither SSH nor PGP'],
  ] as const)('%s does not count', async (_, bytes, why) => {
    await expect(async () => whoSigned(bytes(), line('ed25519'))).rejects.toThrow(why);
  });

  it.each([
    ['valid-before=20261101095959Z ', 'had expired'],
    ['valid-after=20261101100001Z ', 'not valid yet'],
    ['namespaces="file" ', 'not allowed to sign for git'],
    ['namespaces="!git,*" ', 'not allowed to sign for git'],
  ] as const)('does not count under %s', async (options, why) => {
    const bytes = signedWith(keys.sign('ed25519', payloadOf()));
    await expect(whoSigned(bytes, line('ed25519', options))).rejects.toThrow(why);
    expect(await whoSigned(bytes, `${line('ed25519', options)}\n${line('ed25519')}`)).toContain('ada@');
  });

  it.each([
    ['cert-authority ', 'cert-authority is not supported'],
    ['valid-before=soon ', 'is not a time'],
    ['no-such-option ', 'is neither an option'],
    ['namespaces="file",namespaces="git" ', 'namespaces is given twice'],
  ] as const)('is looked at by nobody where a line says %s', async (options, why) => {
    const text = `# a comment\n${line('ed25519', options)}`;
    await expect(allowed(text)).rejects.toMatchObject({ code: 'SignersUnusable' });
    await expect(allowed(text)).rejects.toThrow(`allowed_signers of Secret shop/signers: line 2: `);
    await expect(allowed(text)).rejects.toThrow(why);
  });

  it('is not reported with the content of a Secret that has no signers', async () => {
    const message = allowed('correct horse battery staple\n').catch((error: Error) => error.message);

    expect(await message).toContain('line 1: ');
    expect(await message).not.toMatch(/correct|horse|battery|staple/);
    await expect(
      allowed(line('ed25519').replace('ssh-ed25519', 'sk-ssh-ed25519@openssh.com')),
    ).rejects.toThrow('sk-ssh-ed25519@openssh.com is not supported');
  });

  it('is not verified without signers', async () => {
    await expect(allowed('# nobody\n')).rejects.toThrow('contains no keys');
  });
});

describe('a PGP signature', () => {
  const created = new Date('2026-10-01T00:00:00Z');
  const signed = new Date('2026-11-01T10:00:00Z');

  async function keyOf(name: string, keyExpirationTime = 0) {
    const userIDs = [{ name, email: `${name}@example.com` }];
    const made = await openpgp.generateKey({ userIDs, date: created, keyExpirationTime, format: 'object' });
    return { privateKey: made.privateKey, publicKey: made.publicKey.armor() };
  }

  async function sign(privateKey: openpgp.PrivateKey, payload: Buffer, date = signed): Promise<string> {
    const message = await openpgp.createMessage({ binary: payload });
    const text = await openpgp.sign({ message, signingKeys: privateKey, detached: true, date });
    return String(text).replaceAll('\r\n', '\n');
  }

  async function who(bytes: Buffer, ...publicKeys: string[]): Promise<string> {
    const values = { 'people.asc': Buffer.from(publicKeys.join('\n')) };
    return signerOf(signedCommit(bytes), await readSigners('shop/signers', values));
  }

  /** As another program might write it; nothing in it is signed. */
  function unsignedKey(algorithm: number, ...numbers: Buffer[]): string {
    const packet = Buffer.concat([Buffer.from([4, 0x65, 0, 0, 0, algorithm]), ...numbers]);
    const bytes = Buffer.concat([Buffer.from([0x99, packet.length >> 8, packet.length & 255]), packet]);
    const userId = Buffer.from([0xb4, 3, ...Buffer.from('eve')]);
    return openpgp.armor(openpgp.enums.armor.publicKey, Buffer.concat([bytes, userId]));
  }

  it('counts by one of several keys', async () => {
    const [ada, eve] = [await keyOf('ada'), await keyOf('eve')];
    const bytes = signedWith(await sign(ada.privateKey, payloadOf()));
    expect(await who(bytes, eve.publicKey, ada.publicKey)).toMatch(
      /^ada <ada@example\.com> \([0-9A-F]{40}\)$/,
    );
    await expect(who(bytes, eve.publicKey)).rejects.toThrow('not among the keys');
  });

  it('does not count for other content, nor when cut short', async () => {
    const ada = await keyOf('ada');
    const other = signedWith(await sign(ada.privateKey, payloadOf('Another')));
    await expect(who(other, ada.publicKey)).rejects.toThrow('digest did not match');
    const whole = await sign(ada.privateKey, payloadOf());
    const cut = signedWith(whole.replace(/\n.{10,}\n(=.{4}\n)?-----END/, '\n-----END'));
    await expect(who(cut, ada.publicKey)).rejects.toThrow('PGP signature');
  });

  it('is not looked at with a key that says too much of itself', async () => {
    const [ada, eve] = [await keyOf('ada'), await keyOf('eve')];
    const key = await openpgp.readKey({ armoredKey: eve.publicKey });
    const [user] = key.users;
    user?.selfCertifications.push(...Array(200).fill(user.selfCertifications[0]));
    const commit = signedWith(await sign(ada.privateKey, payloadOf()));

    await expect(who(commit, key.armor(), ada.publicKey)).rejects.toThrow('export-minimal');
  });

  it.each<[string, number, number[]]>([
    ['a modulus of 16,384 bits', openpgp.enums.publicKey.rsaEncryptSign, [2_048, 3]],
    ['an exponent of 2,048 bits', openpgp.enums.publicKey.rsaEncryptSign, [256, 256]],
    ['a prime of 8,192 bits', openpgp.enums.publicKey.dsa, [1_024, 32, 256, 256]],
    ['an order of 2,048 bits', openpgp.enums.publicKey.dsa, [256, 256, 256, 256]],
  ])('is not looked at with a key that has %s', async (_, algorithm, numbers) => {
    const number = (bytes: number) =>
      Buffer.concat([Buffer.from([bytes >> 5, (bytes << 3) & 255]), Buffer.alloc(bytes, 0xff)]);
    const armored = unsignedKey(algorithm, ...numbers.map(number));
    const ada = await keyOf('ada');
    const commit = signedWith(await sign(ada.privateKey, payloadOf()));

    await expect(who(commit, armored, ada.publicKey)).rejects.toThrow('has a PGP key that is too large');
  });

  it('is not looked at with a key on a curve that cannot be computed with', async () => {
    const curve = Buffer.from('092b2403030208010107', 'hex');
    const point = Buffer.concat([Buffer.from([0x02, 0x03, 4]), Buffer.alloc(64, 1)]);
    const key = unsignedKey(openpgp.enums.publicKey.ecdsa, curve, point);
    const ada = await keyOf('ada');
    const commit = signedWith(await sign(ada.privateKey, payloadOf()));

    await expect(who(commit, key, ada.publicKey)).rejects.toThrow('brainpoolP256r1, which is not supported');
  });

  it('does not count where it is of a text, whose blanks may differ', async () => {
    const ada = await keyOf('ada');
    const signing = { signingKeys: ada.privateKey, detached: true, date: signed } as const;
    const text = await openpgp.createMessage({ text: payloadOf('Change').toString('latin1') });
    const ofText = signedWith(String(await openpgp.sign({ message: text, ...signing })), payloadOf('Change'));
    await expect(who(ofText, ada.publicKey)).rejects.toThrow('not the signature of a document');
  });

  it('does not count by a key that had expired, nor from the future', async () => {
    const dayS = 86_400;
    const endless = await keyOf('old');
    const { publicKey } = await openpgp.reformatKey({
      privateKey: endless.privateKey,
      userIDs: [{ name: 'old', email: 'old@example.com' }],
      date: created,
      keyExpirationTime: dayS,
    });
    const inTime = signedWith(await sign(endless.privateKey, payloadOf(), new Date('2026-10-01T12:00:00Z')));
    expect(await who(inTime, publicKey)).toContain('old');
    const tooLate = signedWith(await sign(endless.privateKey, payloadOf()));
    await expect(who(tooLate, publicKey)).rejects.toThrow('expired');
    const ada = await keyOf('ada');
    const future = signedWith(await sign(ada.privateKey, payloadOf(), new Date(Date.now() + dayS * 1000)));
    await expect(who(future, ada.publicKey)).rejects.toThrow('future');
  });

  it('does not count by a key that was revoked, in whichever order the Secret holds its copies', async () => {
    const ada = await keyOf('ada');
    const reasonForRevocation = { flag: openpgp.enums.reasonForRevocation.keyCompromised };
    const key = ada.privateKey;
    const { publicKey: revoked } = await openpgp.revokeKey({ key, reasonForRevocation, format: 'object' });
    const bytes = signedWith(await sign(ada.privateKey, payloadOf()));

    await expect(who(bytes, revoked.armor(), ada.publicKey)).rejects.toThrow('revoked');
    await expect(who(bytes, ada.publicKey, revoked.armor())).rejects.toThrow('revoked');
  });

  it('is valid with a key whose validity was extended, next to the former copy of the key', async () => {
    const endless = await keyOf('ada');
    const { publicKey: expiring } = await openpgp.reformatKey({
      privateKey: endless.privateKey,
      userIDs: [{ name: 'ada', email: 'ada@example.com' }],
      date: created,
      keyExpirationTime: 86_400,
    });
    const { publicKey: prolonged } = await openpgp.reformatKey({
      privateKey: endless.privateKey,
      userIDs: [{ name: 'ada', email: 'ada@example.com' }],
      date: new Date('2026-10-01T12:00:00Z'),
    });
    const bytes = signedWith(await sign(endless.privateKey, payloadOf()));

    expect(await who(bytes, expiring, prolonged)).toContain('ada@example.com');
    expect(await who(bytes, prolonged, expiring)).toContain('ada@example.com');
    await expect(who(bytes, expiring)).rejects.toThrow('expired');
  });
});
