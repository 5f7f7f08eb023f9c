import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto';
import { listOf, recordOf } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { type AgeKeys, type OpeningWork, SopsFault } from './age.ts';

/** What a file says about its own encryption. */
export interface Envelope {
  readonly age: ReadonlyArray<{ readonly recipient: string; readonly enc: string }>;
  readonly mac: string;
  readonly lastModified: string;
  /** The code covers encrypted values alone. */
  readonly macOnlyEncrypted: boolean;
  /** Other ways in which the data key was encrypted, for people. */
  readonly others: readonly string[];
}

/** Reads the `sops` part of a file; undefined when it is none. */
export function envelopeOf(value: unknown): Envelope | undefined {
  const found = recordOf(value);
  if (typeof found.mac !== 'string' || typeof found.lastmodified !== 'string') return undefined;
  const ways = {
    pgp: 'PGP',
    kms: 'AWS KMS',
    gcp_kms: 'GCP KMS',
    azure_kv: 'Azure Key Vault',
    hc_vault: 'Vault',
    key_groups: 'key groups',
  };
  return {
    age: listOf(found.age).map((entry) => {
      const { recipient, enc } = recordOf(entry);
      return { recipient: String(recipient ?? ''), enc: String(enc ?? '') };
    }),
    mac: found.mac,
    lastModified: found.lastmodified,
    macOnlyEncrypted: String(found.mac_only_encrypted) === 'true',
    others: Object.entries(ways).flatMap(([key, name]) => (listOf(found[key]).length > 0 ? [name] : [])),
  };
}

/** The key of the values. Throws SopsFault that says what the file needs. */
export async function dataKeyOf(
  { age, others }: Envelope,
  keys: AgeKeys,
  work: OpeningWork,
): Promise<Uint8Array> {
  if (age.length === 0) {
    const by = others.length > 0 ? others.join(', ') : 'no age key';
    throw new SopsFault(
      `is encrypted with SOPS and ${by}; only age is supported: add an age recipient ("sops updatekeys")`,
    );
  }
  for (const { enc } of age.slice(0, limits.ageEntriesPerFile)) {
    const key = await keys.open(enc, work);
    if (key?.length === 32) return key;
  }
  if (age.length > limits.ageEntriesPerFile)
    throw new SopsFault(
      `has ${age.length} age entries, and no key of spec.decryption opens one of the first ${limits.ageEntriesPerFile}`,
    );
  const recipients = age
    .map(({ recipient }) => recipient)
    .slice(0, 3)
    .join(', ');
  throw new SopsFault(`is encrypted with SOPS for ${recipients}, and no key of spec.decryption opens it`);
}

/** One decrypted value: its text, and what it is in YAML and JSON. */
export interface OpenedValue {
  readonly bytes: Buffer;
  readonly text: string;
  readonly type: string;
}

const form = /^ENC\[AES256_GCM,data:(?<data>[^,]*),iv:(?<iv>[^,]+),tag:(?<tag>[^,]+),type:(?<type>\w+)\]$/;

/** Whether a text has the form of an encrypted value. */
export function isSealed(text: string): boolean {
  return form.test(text);
}

/** Opens one value; `path`: the names of the fields it stands under, which it is bound to. Undefined when it was changed or moved. */
export function openValue(sealed: string, key: Uint8Array, path: readonly string[]): OpenedValue | undefined {
  return openBound(sealed, key, `${path.join(':')}:`);
}

function openBound(sealed: string, key: Uint8Array, bound: string): OpenedValue | undefined {
  const { data = '', iv = '', tag = '', type = '' } = form.exec(sealed)?.groups ?? {};
  const code = Buffer.from(tag, 'base64');
  if (code.length !== 16) return undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64'), { authTagLength: 16 });
    decipher.setAAD(Buffer.from(bound));
    decipher.setAuthTag(code);
    const bytes = Buffer.concat([decipher.update(Buffer.from(data, 'base64')), decipher.final()]);
    return { bytes, text: bytes.toString('utf8'), type };
  } catch {
    return undefined;
  }
}

const onlyEncryptedStart = createHash('sha256').update('sops').digest();

/** Gathers the values of a file in order and compares them with the file's own code, so that none is added, removed or moved. */
export function createMac(
  envelope: Envelope,
  key: Uint8Array,
): { add(value: string | Buffer, isSealedValue: boolean): void; check(): void } {
  const hash = createHash('sha512');
  if (envelope.macOnlyEncrypted) hash.update(onlyEncryptedStart);
  return {
    add(value, isSealedValue) {
      if (isSealedValue || !envelope.macOnlyEncrypted) hash.update(value);
    },
    check() {
      const wanted = openBound(envelope.mac, key, envelope.lastModified)?.text ?? '';
      const found = hash.digest('hex').toUpperCase();
      const isEqual =
        wanted.length === found.length && timingSafeEqual(Buffer.from(wanted), Buffer.from(found));
      if (!isEqual)
        throw new SopsFault(
          'was changed after SOPS encrypted it (MAC mismatch): encrypt it again with "sops edit"',
        );
    },
  };
}
