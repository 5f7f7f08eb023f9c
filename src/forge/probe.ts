import type { HttpClient, HttpResponse } from '../http/types.ts';
import { forgeErrorOf } from './errors.ts';
import type { ForgeWay } from './send.ts';
import { dialects } from './table.ts';
import type { ForgeKind } from './types.ts';

/** Finds out which forge serves a repository's address; undefined: none that we know. Throws ForgeError when nobody answers. */
export type ForgeProbe = (url: URL, path: string, way: ForgeWay) => Promise<ForgeKind | undefined>;

interface Sign {
  readonly kind: ForgeKind;
  /** A page that everybody may ask for. */
  readonly path: string;
  readonly fits: (answer: HttpResponse, value: Readonly<Record<string, unknown>>) => boolean;
}

const KEEP_MS = 3_600_000;
const MAX_KEPT = 500;

const SIGNS: readonly Sign[] = [
  {
    kind: 'gitea',
    path: '/version',
    fits: ({ status }, { version }) => status === 200 && typeof version === 'string',
  },
  {
    kind: 'gitlab',
    path: '/version',
    // Without a token it says 401, and its own header says who it is.
    fits: ({ status, headers }, { version }) =>
      'x-gitlab-meta' in headers && (status === 401 || (status === 200 && typeof version === 'string')),
  },
  {
    kind: 'github',
    path: '/meta',
    fits: ({ status, headers }) => 'x-github-request-id' in headers && (status === 200 || status === 401),
  },
];

/** Asks for the version pages of the forges, without credentials; an answer counts for an hour. */
export function createForgeProbe(http: Pick<HttpClient, 'send'>, nowMs: () => number): ForgeProbe {
  const kept = new Map<string, { readonly kind: ForgeKind | undefined; readonly untilMs: number }>();
  return async (url, path, way) => {
    const key = `${url.origin}/${path}`;
    const known = kept.get(key);
    if (known && known.untilMs > nowMs()) return known.kind;
    const kind = await ask(http, url, path, way);
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(key, { kind, untilMs: nowMs() + KEEP_MS });
    return kind;
  };
}

async function ask(
  http: Pick<HttpClient, 'send'>,
  url: URL,
  path: string,
  way: ForgeWay,
): Promise<ForgeKind | undefined> {
  for (const sign of SIGNS) {
    const { api } = dialects[sign.kind].place(url, path);
    const request = { url: `${api}${sign.path}`, headers: { accept: 'application/json' } };
    const answer = await http
      .send({ ...request, redirect: 'return', ...way })
      .catch((error: unknown) => Promise.reject(forgeErrorOf(`find out which forge ${url.host} is`, error)));
    if (sign.fits(answer, objectOf(answer.body))) return sign.kind;
  }
  return undefined;
}

function objectOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
