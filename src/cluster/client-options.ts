/** Options every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Act as this user, for instance `system:serviceaccount:shop:deployer` (S21). */
  readonly impersonate?: string;
  /** Asked at the last moment before anything is sent; see `ApiRequest`. */
  readonly maySend?: () => boolean;
}

/** Options of writes. */
export interface WriteOptions extends CallOptions {
  /** Field manager. */
  readonly manager: string;
  /** The server checks and answers, but stores nothing. */
  readonly dryRun?: boolean;
  /** Strict (default): unknown fields are refused. Ignore: create and patch drop them; apply refuses them all the same. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
}

/** Options of server-side apply. */
export interface ApplyOptions extends WriteOptions {
  /** Take over fields of other managers. Without it a clash is a `fieldConflict`. */
  readonly force: boolean;
  /**
   * Only if the object still has this version, else `conflict` (S17). Give the uid too: without it a server creates the object
   * anew when it was deleted meanwhile (seen on a real server).
   */
  readonly resourceVersion?: string;
  readonly uid?: string;
  readonly subresource?: string;
}

/** Options of merge and JSON patches. */
export interface PatchOptions extends WriteOptions {
  readonly type: 'merge' | 'json';
  readonly resourceVersion?: string;
  readonly subresource?: string;
}

/** Options of deletes; uid and resourceVersion are preconditions (`conflict` when they do not hold). */
export interface DeleteOptions extends CallOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
  readonly dryRun?: boolean;
}
