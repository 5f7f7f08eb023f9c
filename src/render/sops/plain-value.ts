import type { Scalar } from 'yaml';

/**
 * The bytes by which a value that is not encrypted enters SOPS's code: as its own reader (Go's yaml.v3) takes it. Undefined: it does not
 * enter (null). What is read otherwise here only makes the code differ, so that the file is refused.
 */
export function plainBytes({ type, value, source }: Scalar): string | undefined {
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

function wholeText(text: string): string {
  const plain = text.replaceAll('_', '');
  const isNegative = plain.startsWith('-');
  const digits = plain.replace(/^[-+]/, '').replace(/^0(?=[0-7]+$)/, '0o');
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
