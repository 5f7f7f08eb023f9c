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
  readonly faultOn?: 'refs' | 'upload-pack' | 'receive-pack';
  /** Basic authentication is required with these when given. */
  readonly username?: string;
  readonly password?: string;
}

/** What one repository has been asked since the counts were last read with `reset`. */
export interface RepositoryCounts {
  /** Requests for the list of refs: what an idle poll costs. */
  refs: number;
  /** Requests of the protocol's second half: 'ls-refs' and 'fetch' in version 2. */
  uploadPack: number;
  receivePack: number;
  refused: number;
  /** Bytes of answer bodies sent, in all and as packs (answers to requests that fetch). */
  bytes: number;
  packBytes: number;
}

/** Zero in every count. */
export function noCounts(): RepositoryCounts {
  return { refs: 0, uploadPack: 0, receivePack: 0, refused: 0, bytes: 0, packBytes: 0 };
}

/** Which part of the smart protocol a path asks for; undefined for anything else. */
export function serviceOf(path: string): 'refs' | 'upload-pack' | 'receive-pack' | undefined {
  if (path.endsWith('/info/refs')) return 'refs';
  if (path.endsWith('/git-upload-pack')) return 'upload-pack';
  return path.endsWith('/git-receive-pack') ? 'receive-pack' : undefined;
}
