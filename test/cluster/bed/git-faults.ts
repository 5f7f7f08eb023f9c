/** How the Git server misbehaves for one repository; set by a test, kept until it sets another. */
export type GitFault =
  /** Takes the request and never answers. */
  | { readonly kind: 'hang' }
  /** Answers with this status and nothing of use. */
  | { readonly kind: 'status'; readonly status: number }
  /** Answers 301 to the same path below `to`. */
  | { readonly kind: 'redirect'; readonly to: string }
  /** Cuts the connection after so many bytes of the answer's body. */
  | { readonly kind: 'truncate'; readonly afterBytes: number }
  /** Sends the answer's body at this speed. */
  | { readonly kind: 'trickle'; readonly bytesPerSecond: number };

/** Settings of one repository on the Git server. */
export interface RepositorySettings {
  readonly fault?: GitFault;
  /** The fault strikes only these requests; all of them when absent. */
  readonly faultOn?: GitRequestKind;
  /** Basic authentication is required with these when given. */
  readonly username?: string;
  readonly password?: string;
}

/** What one repository has been asked since the counts were last read with `reset`. */
export interface RepositoryCounts {
  /** GETs of info/refs: the list of refs, or in version 2 what the server can do. */
  refs: number;
  /** POSTs that list refs in version 2; with `refs` together what an idle poll costs. */
  listings: number;
  /** POSTs that fetch. */
  fetches: number;
  pushes: number;
  /** Requests answered 401. */
  refused: number;
  /** Bytes of answer bodies sent, in all and to requests that fetch. */
  bytes: number;
  packBytes: number;
}

/** Zero in every count. */
export function noCounts(): RepositoryCounts {
  return { refs: 0, listings: 0, fetches: 0, pushes: 0, refused: 0, bytes: 0, packBytes: 0 };
}

/** What a request asks for: the advertisement, a list of refs (version 2), a pack, or to take a push. */
export type GitRequestKind = 'refs' | 'listing' | 'fetch' | 'push';

/** Tells the kind by path and, for upload-pack, the uncompressed start of the body; undefined for anything else. */
export function kindOfRequest(path: string, body: Buffer): GitRequestKind | undefined {
  if (path.endsWith('/info/refs')) return 'refs';
  if (path.endsWith('/git-receive-pack')) return 'push';
  if (!path.endsWith('/git-upload-pack')) return undefined;
  return body.subarray(4, 40).toString('latin1').startsWith('command=ls-refs') ? 'listing' : 'fetch';
}

/** Adds one request to the counts. */
export function countRequest(counts: RepositoryCounts, kind: GitRequestKind): void {
  const names = { refs: 'refs', listing: 'listings', fetch: 'fetches', push: 'pushes' } as const;
  counts[names[kind]]++;
}
