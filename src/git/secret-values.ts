import { GitError } from './errors.ts';

/** Bytes of a Secret's `data` after base64 decoding, by key. */
export type SecretValues = Readonly<Record<string, Uint8Array>>;

/** One value with the key it was found under, for messages. */
export interface NamedValue {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** The first of these keys that holds something. */
export function firstOf(data: SecretValues, keys: readonly string[]): NamedValue | undefined {
  for (const key of keys) {
    const bytes = data[key];
    if (bytes && bytes.length > 0) return { key, bytes };
  }
  return undefined;
}

/** Text without the line feeds at its end (`echo x | base64`); undefined for nothing. */
export function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && new TextDecoder().decode(bytes).replace(/[\r\n]+$/, '');
}

/** The same for what must be one line: a control character would break a header. Throws GitError Unauthorized without the value. */
export function lineOf(secret: string, key: string, bytes: Uint8Array | undefined): string | undefined {
  const text = textOf(bytes);
  if (text === undefined || !/\p{Cc}/u.test(text)) return text;
  throw new GitError(
    'Unauthorized',
    `Secret ${secret}: the Git ${key} holds a control character; write it anew`,
  );
}
