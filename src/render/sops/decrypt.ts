import { createHash } from 'node:crypto';
import { isManifest } from '../render.ts';
import type { FileProblem, RenderLimits } from '../rendered-object.ts';
import { decodeText, lineFinder, YamlFault } from '../yaml/documents.ts';
import { type AgeKeys, ageKeysIn, type OpeningWork, openingWork, SopsFault } from './age.ts';
import {
  binaryEnvelope,
  dotenvEnvelope,
  isDotenv,
  type OpenedBytes,
  openBinary,
  openDotenv,
} from './flat-files.ts';
import { envelopeIn, openYaml, withoutEnvelopes } from './yaml-file.ts';

/** How files that are encrypted with SOPS are read. */
export interface Decryption {
  /** Part of the cache keys of renderings: another set of keys may give other content. Reveals nothing about the keys. */
  readonly id: string;
  /** Opens a file; `undefined`: it is not encrypted, or opts out. Throws what `pause` throws. */
  open(file: SourceBytes, limits: RenderLimits, pause?: () => Promise<void>): Promise<Opened | undefined>;
}

interface SourceBytes {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** A file's content without encryption, or why it cannot be had. */
type Opened =
  | { readonly bytes: Uint8Array; readonly secrets: readonly string[]; readonly problem?: never }
  | { readonly bytes?: never; readonly problem: FileProblem };

/** Every encrypted file contains it, and looking for it is cheap. */
const mark = Buffer.from('ENC[AES256_GCM,');

/**
 * Opens files with the age keys of a Secret (entries whose name ends in `.agekey`, as under Flux). Throws RangeError if it holds none;
 * the message contains nothing but the names of its entries.
 */
export async function decryptionWith(entries: Readonly<Record<string, Uint8Array>>): Promise<Decryption> {
  const texts = Object.entries(entries)
    .filter(([name]) => name.endsWith('.agekey'))
    .map(([, bytes]) => new TextDecoder().decode(bytes));
  const keys = await ageKeysIn(texts);
  if (keys.recipients.length === 0)
    throw new RangeError(
      Object.keys(entries).some((name) => name.endsWith('.asc'))
        ? 'holds PGP keys only, which are not supported: add an age key under a name that ends in .agekey'
        : 'holds no age key (X25519) under a name that ends in .agekey',
    );
  const id = createHash('sha256')
    .update([...keys.recipients].sort().join())
    .digest('hex');
  return {
    id,
    open: (file, limits, pause) =>
      guarded(file, async () => openerOf(file, limits)?.(keys, openingWork(pause))),
  };
}

/** Refuses what is encrypted: bytes that only look like content must never be applied. */
export const withoutKeys: Decryption = {
  id: '',
  open: (file, limits) =>
    guarded(file, () => {
      if (!isEncrypted(file, limits)) return undefined;
      throw new SopsFault('is encrypted with SOPS; set spec.decryption to the Secret with its age key');
    }),
};

/** Reads only the plain parts of encrypted files, for checks without a key. A file that is encrypted as a whole is empty. */
export const unopened: Decryption = {
  id: 'unopened',
  open: (file, limits) =>
    guarded(file, () => {
      if (!isEncrypted(file, limits)) return undefined;
      const text = textOf(file.bytes) ?? '';
      if (!isManifest(file.path)) return { bytes: file.bytes, secrets: [] };
      const isWhole = /^"?kind"?: *"?ENC\[/m.test(text);
      return { bytes: Buffer.from(isWhole ? '' : withoutEnvelopes(text, limits)), secrets: [] };
    }),
};

function isEncrypted(file: SourceBytes, limits: RenderLimits): boolean {
  return openerOf(file, limits) !== undefined;
}

type Opener = (keys: AgeKeys, work: OpeningWork) => Promise<OpenedBytes>;

/**
 * How a file is opened; undefined: it is not encrypted, or opts out. Found by the content where the name does not say. Throws
 * SopsFault for what is encrypted and cannot be read, and YamlFault.
 */
function openerOf({ path, bytes }: SourceBytes, limits: RenderLimits): Opener | undefined {
  const text = textOf(bytes);
  if (text === undefined) return undefined;
  if (isManifest(path)) return yamlOpener(text, limits, saysSops.test(text) && saysMac.test(text));
  const variables = path.endsWith('.env') || isDotenv(text) ? dotenvEnvelope(text) : undefined;
  if (variables) return (keys, work) => openDotenv(text, variables, keys, work);
  const binary = binaryEnvelope(text);
  if (binary) return (keys, work) => openBinary(binary, keys, work);
  if (hasSection(text)) throw new SopsFault('is encrypted with SOPS as INI, which is not supported');
  const isWhole = endsInMapping(text) || (/^\s*\{/.test(text) && saysSops.test(text));
  try {
    return yamlOpener(text, limits, isWhole && saysMac.test(text));
  } catch (error) {
    // Most files of other names are none of YAML: a page may show how an encrypted one looks.
    if (error instanceof YamlFault) return undefined;
    throw error;
  }
}

/** `saysSo`: it is known to be encrypted even if it cannot be read. */
function yamlOpener(text: string, limits: RenderLimits, saysSo: boolean): Opener | undefined {
  try {
    const envelope = envelopeIn(text, limits);
    if (!envelope) return undefined;
    return async (keys, work) => {
      const opened = await openYaml(text, envelope, { keys, work, limits });
      return { bytes: Buffer.from(opened.text), secrets: opened.secrets };
    };
  } catch (error) {
    if (!(error instanceof YamlFault) || !saysSo) throw error;
    throw new SopsFault(`is encrypted with SOPS, and cannot be read: ${error.message}`, error.offset);
  }
}

// What SOPS adds, in a text that may be cut or too large to be read.

const saysSops = /^sops:|"sops"\s*:/m;
const saysMac = /(?:^[ \t]+mac: |"mac"\s*:\s*")ENC\[AES256_GCM,/m;

/** The last field of the text is `sops`. */
function endsInMapping(text: string): boolean {
  const [, ...fields] = text.slice(text.lastIndexOf('\nsops:') + 1).split('\n');
  return text.includes('\nsops:') && fields.every((line) => line === '' || line.startsWith(' '));
}

/** An INI file with a section `sops`. */
function hasSection(text: string): boolean {
  const lines = text.split('\n').map((line) => line.trim());
  const isIni = lines.every((line) => line === '' || /^[;#[]/.test(line) || line.includes('='));
  return isIni && lines.includes('[sops]') && lines.some((line) => /^mac\s*=\s*ENC\[/.test(line));
}

async function guarded(
  file: SourceBytes,
  work: () => OpenedBytes | undefined | Promise<OpenedBytes | undefined>,
): Promise<Opened | undefined> {
  if (!Buffer.from(file.bytes.buffer, file.bytes.byteOffset, file.bytes.length).includes(mark))
    return undefined;
  try {
    return await work();
  } catch (error) {
    // The next reader of the file reports that it is no YAML.
    if (error instanceof YamlFault) return undefined;
    // Thrown by a parser for an unexpected value: that concerns this file alone, and the message may quote the value.
    if (error instanceof RangeError || error instanceof SyntaxError || error instanceof TypeError)
      return { problem: { file: file.path, line: 0, message: 'is encrypted with SOPS, and cannot be read' } };
    if (!(error instanceof SopsFault)) throw error;
    const text = textOf(file.bytes) ?? '';
    const line = error.offset > 0 ? lineFinder(text)(error.offset) : 0;
    return { problem: { file: file.path, line, message: error.message } };
  }
}

function textOf(bytes: Uint8Array): string | undefined {
  return decodeText(bytes).text;
}
