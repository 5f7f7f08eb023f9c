/** Differences as text for a status: short, on one line, and without secrets. */
import { shorten } from '../../api/limits.ts';
import type { FieldDifference } from '../../health/workload-view.ts';
import type { Difference } from './semantic-compare.ts';

/** Replaces a secret value. */
export const redacted = '(hidden)';
/** Names of variables and annotations whose values are secret. */
const secretName = /pass|secret|token|credential|private|api[-_]?key|auth/i;

/** Whether a variable or annotation of this name holds a secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/** The password of a user in an address. */
const urlPassword = /(:\/\/[^\s:/?#@]*:)[^\s/]+@/g;

/** Where a Secret holds values, or a copy of its manifest. */
const secretPart = /^(data|stringData|metadata\.annotations)\b/;

/** How differences are written. */
interface DifferenceTextOptions {
  /** The object is a Secret, whose values are never shown. */
  readonly isSecret: boolean;
  /** Of one value. */
  readonly mostCharacters: number;
}

/** Bounds of the differences of one object that are reported: how many, and the characters of a value. */
export const reportedDifferences = { fields: 5, characters: 80 } as const;

/** The first differences of one object, within the bounds of what is reported. */
export function reportedChanges(differences: readonly Difference[], isSecret: boolean): FieldDifference[] {
  const { fields, characters } = reportedDifferences;
  return describeDifferences(differences.slice(0, fields), { isSecret, mostCharacters: characters });
}

/** Every difference as text. */
export function describeDifferences(
  differences: readonly Difference[],
  options: DifferenceTextOptions,
): FieldDifference[] {
  return differences.map((difference) => {
    const { path, live } = difference;
    // A variable is named by the key of its element: `env[DB_PASSWORD].value`.
    const name = /\benv\[([^\]]+)\]/.exec(path)?.[1] ?? /\bannotations\[([^\]]+)\]/.exec(path)?.[1] ?? '';
    if (!(options.isSecret && secretPart.test(path)) && !isSecretName(name))
      return describeDifference(difference, options.mostCharacters);
    return { path, expected: redacted, actual: live === undefined ? undefined : redacted };
  });
}

function describeDifference({ path, wanted, live }: Difference, most: number): FieldDifference {
  const textOf = (value: unknown): string => {
    const text = (typeof value === 'string' ? value : JSON.stringify(withoutSecrets(value))) ?? 'null';
    return shorten(text.replace(urlPassword, `$1${redacted}@`).replace(/\s+/g, ' ').trim(), most);
  };
  if (typeof wanted !== 'string' || typeof live !== 'string' || !/\n/.test(wanted + live))
    return {
      path,
      expected: textOf(wanted),
      actual: live === undefined ? undefined : textOf(live),
    };
  const [wantedLines, liveLines] = [wanted.split('\n'), live.split('\n')];
  const at = wantedLines.findIndex((line, index) => line !== liveLines[index]);
  const line = at < 0 ? wantedLines.length : at;
  const [expected, actual] = [wantedLines[line], liveLines[line]];
  return {
    path: `${path}:${line + 1}`,
    expected: textOf(expected ?? ''),
    actual: actual === undefined ? undefined : textOf(actual),
  };
}

/** A whole object may hold variables: the values of those with the name of a secret are left out. */
function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const { name } = value as { name?: unknown };
  const isSecret = typeof name === 'string' && isSecretName(name);
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [
      field,
      isSecret && field === 'value' ? redacted : withoutSecrets(inner),
    ]),
  );
}
