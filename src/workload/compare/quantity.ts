/** Kubernetes quantities (`500m`, `0.5`, `1Gi`, `1e3`) as exact numbers, so that two spellings of one amount compare equal. */

const binaryUnits: Readonly<Record<string, bigint>> = {
  Ki: 1024n,
  Mi: 1024n ** 2n,
  Gi: 1024n ** 3n,
  Ti: 1024n ** 4n,
  Pi: 1024n ** 5n,
  Ei: 1024n ** 6n,
};
const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const pattern =
  /^(?<sign>[+-]?)(?<whole>\d{0,30})(?:\.(?<part>\d{0,30}))?(?<suffix>[eE][+-]?\d{1,2}|[A-Za-z]{0,2})$/;
/** Amounts are counted in units of 10^-40, far below anything that can be written within the pattern's limits. */
const scaleExponent = 40;

/** The amount in 10^-40 units, or undefined when the text is no quantity. */
export function parseQuantity(value: unknown): bigint | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const groups = pattern.exec(String(value))?.groups;
  if (!groups) return undefined;
  const { sign, whole = '', part = '', suffix = '' } = groups;
  if (whole === '' && part === '') return undefined;
  const digits = BigInt(`${sign}${whole}${part}`);
  const power = scaleExponent - part.length;
  const binary = binaryUnits[suffix];
  if (binary !== undefined) return digits * binary * 10n ** BigInt(power);
  const scientific = /^[eE][+-]?\d+$/.test(suffix) ? Number(suffix.slice(1)) : undefined;
  const exponent = decimalExponents[suffix] ?? scientific;
  if (exponent === undefined || power + exponent < 0) return undefined;
  return digits * 10n ** BigInt(power + exponent);
}

/** Whether two values are the same amount; false when either is no quantity. */
export function sameQuantity(left: unknown, right: unknown): boolean {
  const amount = parseQuantity(left);
  return amount !== undefined && amount === parseQuantity(right);
}
