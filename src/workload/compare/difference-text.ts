/** Differences in words that may stand in a status: short, on one line, and without anything secret. */
import { shorten } from '../../api/text.ts';
import type { FieldDifference } from '../../health/workload-view.ts';
import type { Difference } from './semantic-compare.ts';

/** Stands for a value that nobody should read. */
export const redacted = '(hidden)';
/** Names of variables and annotations whose values nobody should read in a message. */
const secretName = /pass|secret|token|credential|private|api[-_]?key|auth/i;

/** Whether a variable or annotation of this name holds what nobody should read. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/** Where a Secret holds values, or a copy of its manifest. */
const secretPart = /^(data|stringData|metadata\.annotations)\b/;

/** How differences are told. */
interface DifferenceTextOptions {
  /** The object is a Secret, whose values are never told. */
  readonly isSecret: boolean;
  /** Of one value. */
  readonly mostCharacters: number;
}

/** Every difference in words. */
export function describeDifferences(
  differences: readonly Difference[],
  wording: DifferenceTextOptions,
): FieldDifference[] {
  return differences.map((difference) => {
    const isSecret = (wording.isSecret && secretPart.test(difference.path)) || namesSecret(difference.path);
    return isSecret ? redactedDifference(difference) : describeDifference(difference, wording.mostCharacters);
  });
}

function describeDifference({ path, wanted, live }: Difference, most: number): FieldDifference {
  if (typeof wanted !== 'string' || typeof live !== 'string' || !/\n/.test(wanted + live))
    return {
      path,
      expected: textOf(wanted, most),
      actual: live === undefined ? undefined : textOf(live, most),
    };
  const [wantedLines, liveLines] = [wanted.split('\n'), live.split('\n')];
  const at = wantedLines.findIndex((line, index) => line !== liveLines[index]);
  const line = at < 0 ? wantedLines.length : at;
  const [expected, actual] = [wantedLines[line], liveLines[line]];
  return {
    path: `${path}:${line + 1}`,
    expected: textOf(expected ?? '', most),
    actual: actual === undefined ? undefined : textOf(actual, most),
  };
}

function redactedDifference({ path, live }: Difference): FieldDifference {
  return { path, expected: redacted, actual: live === undefined ? undefined : redacted };
}

/** A variable is named by the key of its element: `env[DB_PASSWORD].value`. */
function namesSecret(path: string): boolean {
  const name = /\benv\[([^\]]+)\]/.exec(path)?.[1] ?? /\bannotations\[([^\]]+)\]/.exec(path)?.[1];
  return name !== undefined && isSecretName(name);
}

function textOf(value: unknown, most: number): string {
  const text = (typeof value === 'string' ? value : JSON.stringify(withoutSecrets(value))) ?? 'null';
  const line = text.replace(/\s+/g, ' ').trim();
  return shorten(line, most);
}

/** A whole object may hold variables: those with a value of their own are told by name alone where the name says so. */
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
