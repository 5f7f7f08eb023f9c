import type { HttpAuth } from './types.ts';

/** Characters that are looked at: text and secrets may both be made so that searching for one in the other takes minutes. */
const mostCharacters = 1_000;

/** What a server says, without the secrets that it was sent and may repeat. A long text loses its end, which may be that of a cut secret. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const longestFirst = [...new Set(secrets)].sort((left, right) => right.length - left.length);
  const read = text.slice(0, mostCharacters);
  const shown = longestFirst.reduce((rest, one) => rest.replaceAll(one, '***'), read);
  const longest = longestFirst[0]?.length ?? 0;
  return read.length < text.length && longest > 0 ? shown.slice(0, -longest) : shown;
}

/** What of these credentials a server may repeat: as they are, and as they are sent. */
export function secretsOf(auth: HttpAuth | undefined): string[] {
  if (!auth) return [];
  if (auth.kind === 'bearer') return [auth.token];
  const sent = Buffer.from(`${auth.username}:${auth.password}`).toString('base64');
  return [auth.password, sent];
}
