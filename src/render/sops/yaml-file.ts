import { isAlias, isMap, isScalar, isSeq, type Pair, type Scalar } from 'yaml';
import type { RenderLimits } from '../rendered-object.ts';
import { readDocuments, type YamlDocument } from '../yaml/documents.ts';
import { documentValue, keyText } from '../yaml/values.ts';
import { type AgeKeys, type OpeningWork, SopsFault } from './age.ts';
import {
  createMac,
  dataKeyOf,
  type Envelope,
  envelopeOf,
  isSealed,
  type OpenedValue,
  openValue,
} from './envelope.ts';

/** A replacement of a part of the text. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface Walk {
  readonly source: string;
  readonly key: Uint8Array;
  readonly mac: ReturnType<typeof createMac>;
  readonly edits: Edit[];
  /** Texts and numbers that were encrypted. */
  readonly secrets: string[];
}

/** A YAML or JSON text with its values decrypted, every value on its old line, and what was secret in it. */
interface OpenedText {
  readonly text: string;
  readonly secrets: readonly string[];
}

/**
 * Says of a YAML or JSON text how it is encrypted; undefined when it is not, or asks to be left alone. Throws YamlFault, and SopsFault where
 * only some of its documents ask for that: SOPS's code is that of the whole file.
 */
export function envelopeIn(text: string, limits: RenderLimits): Envelope | undefined {
  const found: Envelope[] = [];
  let left = 0;
  for (const document of readDocuments(text, limits)) {
    const value = documentValue(document, text, limits) as
      | { kind?: unknown; sops?: unknown; metadata?: { annotations?: Record<string, unknown> } }
      | undefined;
    const envelope = envelopeOf(value?.sops);
    if (!envelope) continue;
    const annotations = value?.metadata?.annotations ?? {};
    const isOptedOut = optOutKeys.some((name) => annotations[name] === 'disabled');
    // A custom kind, which an operator decrypts in the cluster.
    if (isOptedOut || value?.kind === 'SopsSecret') left += 1;
    else found.push(envelope);
  }
  if (left > 0 && found.length > 0)
    throw new SopsFault(
      'is encrypted with SOPS, and some of its objects are to stay encrypted: put them into a file of their own',
    );
  return found[0];
}

/** Annotations, with the value `disabled`, by which an encrypted object stays as it is: Flux's and ours. */
const optOutKeys = ['kustomize.toolkit.fluxcd.io/decrypt', 'holdfast.dev/decrypt'];

/** Opens a text that `envelopeIn` knows. Throws SopsFault and YamlFault. */
export async function openYaml(
  text: string,
  envelope: Envelope,
  { keys, work, limits }: { keys: AgeKeys; work: OpeningWork; limits: RenderLimits },
): Promise<OpenedText> {
  const key = await dataKeyOf(envelope, keys, work);
  const walk: Walk = { source: text, key, mac: createMac(envelope, key), edits: [], secrets: [] };
  for (const document of readDocuments(text, limits)) {
    openNode(document.contents, [], walk);
    walk.edits.push(...withoutEnvelope(document, text));
  }
  walk.mac.check();
  return { text: edited(text, walk.edits), secrets: walk.secrets };
}

/** The text without what says how it is encrypted, values left as they are: all that can be looked at without a key. */
export function withoutEnvelopes(text: string, limits: RenderLimits): string {
  return edited(
    text,
    [...readDocuments(text, limits)].flatMap((document) => withoutEnvelope(document, text)),
  );
}

function openNode(node: unknown, path: readonly string[], walk: Walk): void {
  if (isMap(node)) {
    for (const { key, value } of node.items) {
      const name = keyText(key) ?? '';
      if (path.length > 0 || name !== 'sops') openNode(value, [...path, name], walk);
    }
  } else if (isSeq(node)) openList(node.items, path, walk);
  else if (isScalar(node)) openScalar(node, path, walk);
  else if (isAlias(node)) throw new SopsFault('holds an alias, which SOPS never writes', node.range?.[0]);
}

function isComment(item: unknown): boolean {
  const text = isScalar(item) ? String(item.value) : '';
  return isSealed(text) && text.endsWith(',type:comment]');
}

/** A list of which SOPS encrypted comments alone is left empty; without an item it would be nothing at all. */
function openList(items: readonly unknown[], path: readonly string[], walk: Walk): void {
  for (const item of items) openNode(item, path, walk);
  const last = walk.edits.at(-1);
  if (items.length === 0 || !items.every(isComment) || last?.text !== '#') return;
  // The blank keeps it inside its field where the items are not indented.
  walk.edits.splice(-1, 1, { ...last, text: ' []' });
}

function openScalar(node: Scalar, path: readonly string[], { source, key, mac, edits, secrets }: Walk): void {
  const text = String(node.value ?? '');
  const [start, end] = node.range ?? [0, 0];
  if (!isSealed(text)) {
    const bytes = plainBytes(node);
    if (bytes !== undefined) mac.add(bytes, false);
    return;
  }
  const opened = openValue(text, key, path);
  if (!opened)
    throw new SopsFault(
      `${path.join('.')} was changed, or moved from another place, after SOPS encrypted it`,
      start,
    );
  const { text: plain, type } = opened;
  const dash = type === 'comment' ? /-[ \t]+$/.exec(source.slice(Math.max(0, start - 20), start)) : null;
  if (dash) {
    // SOPS writes a comment between the items of a list as one more item, which does not enter its code.
    edits.push({ start: start - dash[0].length, end, text: '#' });
    return;
  }
  const isTruth = type === 'bool';
  mac.add(isTruth ? plain.slice(0, 1).toUpperCase() + plain.slice(1).toLowerCase() : plain, true);
  // These two words cannot be removed from messages, and reveal little.
  if (!isTruth) secrets.push(plain);
  edits.push({ start, end, text: written(opened) });
}

/** A value as YAML and JSON both read it. */
function written({ text, type }: OpenedValue): string {
  if (type === 'int' || type === 'float') return text;
  if (type === 'bool') return text.toLowerCase();
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Removes `sops` from a document but not its line ends; in a flow mapping also the comma before it. */
function withoutEnvelope({ contents }: YamlDocument, text: string): Edit[] {
  if (!isMap(contents)) return [];
  const index = contents.items.findIndex(({ key }) => keyText(key) === 'sops');
  const pair = contents.items[index];
  if (!pair) return [];
  const before = contents.items[index - 1];
  const after = contents.items[index + 1];
  const isFlow = contents.flow === true;
  const start = isFlow && before ? endOf(before) : startOf(pair);
  const end = isFlow && !before && after ? startOf(after) : endOf(pair);
  return [{ start, end, text: text.slice(start, end).replace(/[^\n]/g, '') }];
}

function startOf({ key }: Pair): number {
  return (key as { range?: [number, number, number] } | null)?.range?.[0] ?? 0;
}

function endOf({ key, value }: Pair): number {
  const range = ((value ?? key) as { range?: [number, number, number] } | null)?.range;
  return range?.[1] ?? 0;
}

function edited(text: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const { start, end, text: piece } of [...edits].sort((a, b) => a.start - b.start)) {
    result += text.slice(at, start) + piece;
    at = end;
  }
  return result + text.slice(at);
}

/**
 * The bytes by which a value that is not encrypted enters SOPS's code: as its own reader (Go's yaml.v3) takes it. Undefined: it does not
 * enter (null). What is read otherwise here only makes the code differ, so that the file is refused.
 */
function plainBytes({ type, value, source }: Scalar): string | undefined {
  const text = String(value ?? source ?? '');
  if (type !== 'PLAIN') return text;
  if (/^(~|null|Null|NULL)?$/.test(text)) return undefined;
  if (/^(true|True|TRUE)$/.test(text)) return 'True';
  if (/^(false|False|FALSE)$/.test(text)) return 'False';
  if (/^[-+]?(0x[0-9a-fA-F_]+|0o?[0-7_]+|0b[01_]+|[0-9][0-9_]*)$/.test(text)) return wholeText(text);
  if (/^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/.test(text)) return floatText(Number(text));
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : undefined;
  return date ?? text;
}

/** Characters of a number of 64 bits in any notation, and some. */
const longestNumber = 70;

function wholeText(text: string): string {
  const plain = text.replaceAll('_', '');
  const isNegative = plain.startsWith('-');
  const digits = plain.replace(/^[-+]/, '').replace(/^0(?=[0-7]+$)/, '0o');
  // No whole number to Go either: `0x_`, or more digits than it has bits for.
  if (!/^(0x[0-9a-f]+|0o[0-7]+|0b[01]+|[0-9]+)$/i.test(digits) || digits.length > longestNumber) return text;
  return `${isNegative ? '-' : ''}${BigInt(digits)}`;
}

/** As short as it can be without an exponent. */
export function floatText(value: number): string {
  const short = String(value);
  const found = /^(?<sign>-?)(?<first>\d)(?:\.(?<rest>\d+))?e(?<exponent>[-+]\d+)$/.exec(short)?.groups;
  if (!found) return short;
  const { sign = '', first = '', rest = '' } = found;
  const exponent = Number(found.exponent);
  const digits = first + rest;
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  return sign + digits.padEnd(exponent + 1, '0');
}
