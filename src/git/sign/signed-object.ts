/** Which bytes of a commit or tag a signature was made over, as Git itself takes them. */

/** What was signed, by what, and when its author says. */
export interface Signed {
  /** The object without its signature, byte for byte. */
  readonly payload: Buffer;
  /** Armoured; undefined: it is not signed. */
  readonly signature: string | undefined;
  /** Time of the committer or tagger; milliseconds since the epoch. */
  readonly timeMs: number;
}

/** Longest commit or tag whose signature is looked at, in bytes. */
const maxSignedBytes = 1_048_576;
const maxSignatureCharacters = 32_768;

const signatureHeader = 'gpgsig';
const beginnings = [
  '-----BEGIN PGP SIGNATURE-----',
  '-----BEGIN PGP MESSAGE-----',
  '-----BEGIN SIGNED MESSAGE-----',
  '-----BEGIN SSH SIGNATURE-----',
];

/**
 * A commit's signature is in the header `gpgsig`; it covers everything except the headers whose names begin with that. Throws Error for an
 * object that is ambiguous.
 */
export function signedCommit(bytes: Uint8Array): Signed {
  const { headers, body } = split(bytes);
  const kept: string[] = [];
  const signatures: string[] = [];
  let skips = false;
  for (const line of headers) {
    if (!line.startsWith(' ')) {
      skips = line.startsWith(signatureHeader);
      if (line.startsWith(`${signatureHeader} `)) signatures.push(line.slice(signatureHeader.length + 1));
    } else if (skips && signatures.length > 0) signatures.push(line.slice(1));
    if (!skips) kept.push(line);
  }
  const count = headers.filter((line) => line.startsWith(signatureHeader)).length;
  if (count > 1) throw new Error('it has more than one signature');
  const signature = signatures.length > 0 ? bounded(signatures.join('\n')) : undefined;
  return { payload: latin1(`${kept.join('\n')}\n${body}`), signature, timeMs: timeOf(kept, 'committer') };
}

/** A tag's signature is at the end of its message and covers everything before it. Throws Error as `signedCommit` does. */
export function signedTag(
  bytes: Uint8Array,
): Signed & { readonly object: string; readonly type: string; readonly name: string } {
  const { headers } = split(bytes);
  const text = textOf(bytes);
  const found = beginnings.map((beginning) => text.lastIndexOf(`\n${beginning}`)).filter((at) => at >= 0);
  const at = found.length > 0 ? Math.max(...found) + 1 : undefined;
  const header = (name: string) =>
    headers.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? '';
  return {
    payload: latin1(at === undefined ? text : text.slice(0, at)),
    signature: at === undefined ? undefined : bounded(text.slice(at)),
    timeMs: timeOf(headers, 'tagger'),
    object: header('object'),
    type: header('type'),
    name: Buffer.from(header('tag'), 'latin1').toString('utf8'),
  };
}

/** Latin-1: one character for each byte, so that the conversion is lossless. */
function textOf(bytes: Uint8Array): string {
  if (bytes.length > maxSignedBytes) throw new Error(`it is longer than ${maxSignedBytes} bytes`);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

function split(bytes: Uint8Array): { headers: string[]; body: string } {
  const text = textOf(bytes);
  const end = text.indexOf('\n\n');
  if (end < 0) throw new Error('its headers do not end');
  return { headers: text.slice(0, end).split('\n'), body: text.slice(end + 1) };
}

function timeOf(headers: readonly string[], who: string): number {
  const line = headers.find((header) => header.startsWith(`${who} `)) ?? '';
  const seconds = Number(/ (\d{1,11}) [+-]\d{4}$/.exec(line)?.[1] ?? Number.NaN);
  if (Number.isNaN(seconds)) throw new Error(`it has no ${who} time`);
  return seconds * 1000;
}

function bounded(signature: string): string {
  if (signature.length > maxSignatureCharacters) throw new Error('its signature is too long');
  return signature;
}
