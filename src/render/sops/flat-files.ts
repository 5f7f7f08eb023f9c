import { type AgeKeys, type OpeningWork, SopsFault } from './age.ts';
import { createMac, dataKeyOf, type Envelope, envelopeOf, isSealed, openValue } from './envelope.ts';

/** Bytes that were decrypted, and what was secret in them. */
export interface OpenedBytes {
  readonly bytes: Uint8Array;
  readonly secrets: readonly string[];
}

const prefix = 'sops_';

/** Whether a text holds lines `NAME=value` alone, unlike a page about such files. */
export function isDotenv(text: string): boolean {
  return text.split('\n').every((line) => line.trim() === '' || line.startsWith('#') || line.includes('='));
}

/** How a file of lines `NAME=value` is encrypted; undefined when it is not. */
export function dotenvEnvelope(text: string): Envelope | undefined {
  const settings = new Map(pairsIn(text).filter(([name]) => name.startsWith(prefix)));
  const value = (name: string) => settings.get(`${prefix}${name}`)?.replaceAll('\\n', '\n');
  if (value('mac') === undefined) return undefined;
  const age: Array<{ recipient: string | undefined; enc: string | undefined }> = [];
  for (let index = 0; value(`age__list_${index}__map_enc`) !== undefined; index += 1)
    age.push({
      recipient: value(`age__list_${index}__map_recipient`),
      enc: value(`age__list_${index}__map_enc`),
    });
  const pgp = [...settings.keys()].some((name) => name.startsWith(`${prefix}pgp__`)) ? [{}] : [];
  return envelopeOf({
    age,
    pgp,
    mac: value('mac'),
    lastmodified: value('lastmodified'),
    mac_only_encrypted: value('mac_only_encrypted'),
  });
}

/** Opens such a file; comments are left out. Throws SopsFault. */
export async function openDotenv(
  text: string,
  envelope: Envelope,
  keys: AgeKeys,
  work: OpeningWork,
): Promise<OpenedBytes> {
  const key = await dataKeyOf(envelope, keys, work);
  const mac = createMac(envelope, key);
  const secrets: string[] = [];
  const lines = pairsIn(text)
    .filter(([name]) => !name.startsWith(prefix))
    .map(([name, value]) => {
      const written = value.replaceAll('\\n', '\n');
      const opened = isSealed(written) ? openValue(written, key, [name]) : { text: written };
      if (!opened)
        throw new SopsFault(`${name} was changed, or moved from another place, after SOPS encrypted it`);
      mac.add(opened.text, isSealed(written));
      if (isSealed(written)) secrets.push(opened.text);
      return `${name}=${opened.text.replaceAll('\n', '\\n')}\n`;
    });
  mac.check();
  return { bytes: Buffer.from(lines.join('')), secrets };
}

function pairsIn(text: string): Array<readonly [string, string]> {
  return text
    .split('\n')
    .filter((line) => line.includes('=') && !line.startsWith('#'))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const);
}

interface BinaryFile {
  readonly data?: unknown;
  readonly sops?: unknown;
}

/** How a file of any other kind is encrypted: as JSON with one value; undefined when it is not. */
export function binaryEnvelope(text: string): { envelope: Envelope; data: string } | undefined {
  if (!text.startsWith('{') || !text.includes('"sops"')) return undefined;
  try {
    const { data, sops, ...others } = JSON.parse(text) as BinaryFile;
    const envelope = envelopeOf(sops);
    const isWhole = typeof data === 'string' && Object.keys(others).length === 0;
    return envelope && isWhole ? { envelope, data } : undefined;
  } catch {
    return undefined;
  }
}

/** Opens such a file. Throws SopsFault. */
export async function openBinary(
  { envelope, data }: { envelope: Envelope; data: string },
  keys: AgeKeys,
  work: OpeningWork,
): Promise<OpenedBytes> {
  const key = await dataKeyOf(envelope, keys, work);
  const bytes = data === '' ? Buffer.alloc(0) : openValue(data, key, ['data'])?.bytes;
  if (!bytes) throw new SopsFault('was changed after SOPS encrypted it');
  const mac = createMac(envelope, key);
  mac.add(bytes, true);
  mac.check();
  return { bytes, secrets: [bytes.toString('utf8')] };
}
