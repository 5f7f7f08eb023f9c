import { limits } from '../../api/limits.ts';

/** Private keys of age (X25519). Passphrases are never tried: their cost is set by the file. */
export interface AgeKeys {
  /** Their public keys, as age writes them. */
  readonly recipients: readonly string[];
  /**
   * Opens a short armored file of age (C2SP age-encryption.org/v1) with the first key that fits. Undefined when none fits, or when it is no such
   * file or was changed. Throws SopsFault when it is beyond `limits`.
   */
  open(armored: string): Promise<Uint8Array | undefined>;
}

/** The keys in key files as age-keygen writes them; comments and keys of other kinds are left out. */
export async function ageKeysIn(texts: readonly string[]): Promise<AgeKeys> {
  const { armor, Decrypter, identityToRecipient } = await import('age-encryption');
  const decrypter = new Decrypter();
  const recipients: string[] = [];
  for (const identity of texts.flatMap((text) => text.split('\n')).map((line) => line.trim())) {
    if (!identity.startsWith('AGE-SECRET-KEY-1')) continue;
    const recipient = await orNothing(() => identityToRecipient(identity));
    if (recipient === undefined) continue;
    recipients.push(recipient);
    decrypter.addIdentity(identity);
  }
  return {
    recipients,
    async open(armored) {
      checkCount(armored.length, limits.ageCharacters, 'characters');
      const file = await orNothing(() => armor.decode(armored));
      if (!file) return undefined;
      checkCount(stanzasIn(file), limits.ageStanzas, 'stanzas');
      return orNothing(() => decrypter.decrypt(file));
    },
  };
}

function checkCount(count: number, most: number, what: string): void {
  if (count > most) throw new SopsFault(`has an age entry of ${count} ${what}; at most ${most} are read`);
}

/** Whatever is wrong with a file or a key, the library throws; which of its errors it is helps nobody. */
async function orNothing<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}

/** Each costs a multiplication on the curve with each key. */
function stanzasIn(file: Uint8Array): number {
  const [header = ''] = Buffer.from(file).toString('latin1').split('\n---', 1);
  return header.split('\n-> ').length - 1;
}

/** Why an encrypted file is not opened. The message never holds a value; `offset`, in characters, is 0 when the file as a whole is meant. */
export class SopsFault extends Error {
  readonly offset: number;
  constructor(message: string, offset = 0) {
    super(message);
    this.name = 'SopsFault';
    this.offset = offset;
  }
}
