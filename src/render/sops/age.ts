import { limits } from '../../api/limits.ts';

/** Private keys of age (X25519). Passphrases are never tried: their cost is set by the file. */
export interface AgeKeys {
  /** Their public keys, as age writes them. */
  readonly recipients: readonly string[];
  /**
   * Opens a short armored file of age (C2SP age-encryption.org/v1) with the first key that fits. Undefined when none fits, or when it is no such
   * file or was changed. Throws SopsFault when it is beyond `limits`, and what `work.pause` throws.
   */
  open(armored: string, work?: OpeningWork): Promise<Uint8Array | undefined>;
}

/** What opening one encrypted file may take. */
export interface OpeningWork {
  /** Awaited between pieces: each key on each stanza costs a multiplication on a curve. */
  readonly pause: () => Promise<void>;
  /** Stanzas that may still be tried. */
  stanzas: number;
}

/** For one file. */
export function openingWork(pause: () => Promise<void> = async () => undefined): OpeningWork {
  return { pause, stanzas: limits.ageStanzasPerFile };
}

/** The keys in key files as age-keygen writes them; comments and keys of other kinds are left out. Throws RangeError for too many. */
export async function ageKeysIn(texts: readonly string[]): Promise<AgeKeys> {
  const { armor, Decrypter, identityToRecipient } = await import('age-encryption');
  const decrypters: Array<InstanceType<typeof Decrypter>> = [];
  const recipients: string[] = [];
  for (const identity of texts.flatMap((text) => text.split('\n')).map((line) => line.trim())) {
    if (!identity.startsWith('AGE-SECRET-KEY-1')) continue;
    const recipient = await orNothing(() => identityToRecipient(identity));
    if (recipient === undefined) continue;
    recipients.push(recipient);
    if (recipients.length > limits.ageKeys)
      throw new RangeError(`holds more than ${limits.ageKeys} age keys; leave out those that no file needs`);
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    decrypters.push(decrypter);
  }
  return {
    recipients,
    async open(armored, work = openingWork()) {
      checkCount(armored.length, limits.ageCharacters, 'characters');
      const file = await orNothing(() => armor.decode(armored));
      if (!file) return undefined;
      // Each costs a multiplication on the curve with each key.
      const [header = ''] = Buffer.from(file).toString('latin1').split('\n---', 1);
      const stanzas = header.split('\n-> ').length - 1;
      checkCount(stanzas, limits.ageStanzas, 'stanzas');
      work.stanzas -= stanzas;
      if (work.stanzas < 0)
        throw new SopsFault(`has age entries of more than ${limits.ageStanzasPerFile} stanzas together`);
      for (const decrypter of decrypters) {
        await work.pause();
        const opened = await orNothing(() => decrypter.decrypt(file));
        if (opened) return opened;
      }
      return undefined;
    },
  };
}

function checkCount(count: number, most: number, what: string): void {
  if (count > most) throw new SopsFault(`has an age entry of ${count} ${what}; at most ${most} are read`);
}

/** Whatever is wrong with a file or a key, the library throws; its error messages are of no use to users. */
async function orNothing<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
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
