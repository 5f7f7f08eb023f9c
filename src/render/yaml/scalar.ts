/**
 * What a YAML scalar means to Kubernetes (YAML 1.1 as its Go library reads it, without dates and base-60 numbers). Neither schema of the
 * yaml library agrees with it: see the golden table in scalar.test.ts, which is compared with kubectl itself.
 */

/** A scalar's value, or why it is refused. Reasons never quote it. */
type ScalarResult =
  | { value: string | number | boolean | null; problem?: never }
  | { value?: never; problem: string };

const words = new Map<string, boolean | null>([
  ...spread(['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'], true),
  ...spread(['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'], false),
  ...spread(['', '~', 'null', 'Null', 'NULL'], null),
]);
const noNumber = /^(?:\.(?:nan|NaN|NAN)|[-+]?\.(?:inf|Inf|INF))$/;
const integer = /^([-+]?)(0[bB][01]+|0[oO][0-7]+|0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
/** Read by another rule in Kubernetes: underscores only between digits. */
const dotFloat = /^\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?$/;

/** The value of a plain scalar without a tag. */
export function readPlain(text: string): ScalarResult {
  const word = words.get(text);
  if (word !== undefined) return { value: word };
  if (noNumber.test(text)) return { problem: 'is not a number in JSON: quote it' };
  if (text.startsWith('.'))
    return dotFloat.test(text) ? readFloat(text.replaceAll('_', ''), text) : { value: text };
  return /^[-+0-9]/.test(text) ? readNumber(text) : { value: text };
}

/** The value of a scalar with a core tag (`!!int` and so on, given without its prefix), plain or quoted. */
export function readTagged(tag: string, text: string): ScalarResult {
  if (tag === 'str') return { value: text };
  if (tag === 'binary') return readBinary(text);
  const read = readPlain(text);
  if (read.problem) return read;
  const fits = tag === 'int' ? isIntegerText(text) : typeFits(tag, read.value);
  return fits ? read : { problem: `cannot be read as !!${tag}` };
}

/** Whether Kubernetes takes a scalar that is a number for an integer, and not for a float of the same value (`1e6`). */
export function isIntegerText(text: string): boolean {
  return integer.test(text.replaceAll('_', ''));
}

function typeFits(tag: string, value: unknown): boolean {
  if (tag === 'null') return value === null;
  if (tag === 'bool') return typeof value === 'boolean';
  return tag === 'float' && typeof value === 'number';
}

/**
 * Underscores anywhere behind the first character are ignored; a leading zero means octal. Integers that would be written with other digits than
 * they were read with, since a JavaScript number rounds them, are refused, never changed.
 */
function readNumber(text: string): ScalarResult {
  const plain = text.replaceAll('_', '');
  const match = integer.exec(plain);
  if (!match) return float.test(plain) ? readFloat(plain, text) : { value: text };
  const [, sign, digits = ''] = match;
  const octal = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
  const value = Number(octal.toLowerCase());
  const isKept = value < 2 ** 63 && String(value) === digits;
  if (!Number.isSafeInteger(value) && !isKept)
    return { problem: 'is an integer of more than 53 bits, which would be rounded: quote it' };
  return { value: sign === '-' && value !== 0 ? -value : value };
}

/** A number too large for 64 bits stays a string, as in Kubernetes. */
function readFloat(plain: string, text: string): ScalarResult {
  const value = Number(plain);
  if (!Number.isFinite(value)) return { value: text };
  return { value: value === 0 ? 0 : value };
}

/** Base64 becomes the text it encodes; bytes that are no UTF-8 cannot be said in JSON. */
function readBinary(text: string): ScalarResult {
  const plain = text.replace(/[\r\n]/g, '');
  const wellFormed = plain.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(plain);
  if (!wellFormed) return { problem: 'is not base64' };
  try {
    return {
      value: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(plain, 'base64')),
    };
  } catch {
    return { problem: 'encodes bytes that are not UTF-8 text: use binaryData or data of a Secret' };
  }
}

function spread<Value>(texts: readonly string[], value: Value): Array<[string, Value]> {
  return texts.map((text) => [text, value]);
}
