/** The allowed signers file of ssh-keygen (its section ALLOWED SIGNERS). */
import { isListed } from '../patterns.ts';

/** One line: who may sign with which key, for what and when. Times are milliseconds since the epoch. */
export interface AllowedSigner {
  readonly principals: string;
  /** The public key in SSH's wire format. */
  readonly key: Buffer;
  readonly namespaces: readonly string[] | undefined;
  readonly validAfterMs: number | undefined;
  readonly validBeforeMs: number | undefined;
}

const maxLines = 2000;

/**
 * Reads the file. Throws Error with the line that cannot be read, and for certificate authorities, which are not supported: to skip a line
 * silently could lock the wrong people out or in.
 */
export function parseAllowedSigners(text: string): AllowedSigner[] {
  const lines = text.split('\n');
  if (lines.length > maxLines) throw new Error(`more than ${maxLines} lines`);
  return lines.flatMap((line, index) => {
    if (line.trim() === '' || line.trimStart().startsWith('#')) return [];
    try {
      return [parseLine(line.trim())];
    } catch (error) {
      throw new Error(`line ${index + 1}: ${error instanceof Error ? error.message : 'cannot be read'}`);
    }
  });
}

/** May this line's key sign this at that time? The reason why not, else undefined. */
export function validityProblem(
  signer: AllowedSigner,
  namespace: string,
  timeMs: number,
): string | undefined {
  const { namespaces, validAfterMs, validBeforeMs } = signer;
  if (namespaces && !isListed(namespaces, namespace))
    return `its key is not allowed to sign for ${namespace}`;
  if (validAfterMs !== undefined && timeMs < validAfterMs) return 'its key was not valid yet at that time';
  if (validBeforeMs !== undefined && timeMs >= validBeforeMs) return 'its key had expired by that time';
  return undefined;
}

const keyType = /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521))$/;

function parseLine(line: string): AllowedSigner {
  // Split at blanks outside double quotes.
  const [principals = '', first = '', ...others] = line.match(/(?:"[^"]*"|[^\s"])+/g) ?? [];
  const hasOptions = !keyType.test(first);
  const options = hasOptions ? optionsOf(first) : new Map<string, string>();
  const [type = '', key = ''] = hasOptions ? others : [first, ...others];
  if (options.has('cert-authority'))
    throw new Error('cert-authority is not supported; list the keys themselves');
  if (!keyType.test(type))
    throw new Error('no key of type ssh-ed25519, ssh-rsa or ecdsa-sha2-nistp256, 384 or 521');
  const namespaces = options.get('namespaces')?.split(',');
  return {
    principals: unquoted(principals),
    key: decodeKey(type, key),
    namespaces,
    validAfterMs: timeOption(options, 'valid-after'),
    validBeforeMs: timeOption(options, 'valid-before'),
  };
}

function unquoted(text: string): string {
  return text.replaceAll('"', '');
}

/** Security keys, DSA and certificates. */
const otherKeyType = /^(sk-)?(ssh|ecdsa-sha2)-[a-z0-9-]{1,40}(@openssh\.com)?$/;
const knownOptions = new Set(['cert-authority', 'namespaces', 'valid-after', 'valid-before']);

function optionsOf(text: string): Map<string, string> {
  const options = new Map<string, string>();
  for (const option of text.match(/(?:"[^"]*"|[^,"])+/g) ?? []) {
    const [name = '', ...value] = option.split('=');
    const known = name.toLowerCase();
    if (otherKeyType.test(known)) throw new Error(`${known.slice(0, 40)} is not supported; list another key`);
    // Its words are not repeated: the Secret may be another one, with a passphrase in it.
    if (!knownOptions.has(known)) throw new Error('its second word is neither an option nor a key type');
    if (options.has(known)) throw new Error(`${known} is given twice`);
    options.set(known, unquoted(value.join('=')));
  }
  return options;
}

function decodeKey(type: string, text: string): Buffer {
  if (!/^[A-Za-z0-9+/]{16,4096}={0,2}$/.test(text)) throw new Error('the key is not base64');
  const key = Buffer.from(text, 'base64');
  const length = key.length >= 4 ? key.readUInt32BE() : 0;
  if (key.subarray(4, 4 + length).toString('latin1') !== type)
    throw new Error(`the key is not of type ${type}`);
  return key;
}

/** `YYYYMMDD[HHMM[SS]][Z]`; always UTC: the time zone of the controller says nothing about the file. */
function timeOption(options: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = options.get(name);
  if (text === undefined) return undefined;
  const [, year, month, day, hour = '00', minute = '00', second = '00'] =
    /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?Z?$/.exec(text) ?? [];
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(ms)) throw new Error(`${name} is not a time in the format YYYYMMDDHHMMSSZ`);
  return ms;
}
