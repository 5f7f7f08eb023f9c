/** One request the sandbox answered. */
export interface LoggedRequest {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly query: string;
  readonly userAgent: string;
  /** Impersonate-User; empty: nobody. The sandbox asks for no rights. */
  readonly impersonated: string;
  /** HTTP status, 0 while the answer is still under way or when the connection was cut. */
  code: number;
}

/** The last requests, oldest first, for assertions such as "no write at all". */
export interface RequestLog {
  add(entry: LoggedRequest): void;
  all(): readonly LoggedRequest[];
  /** Requests that change something and are no dry run. */
  writes(): readonly LoggedRequest[];
  clear(): void;
}

/** A log of at most `limit` requests. */
export function createRequestLog(limit: number): RequestLog {
  const entries: LoggedRequest[] = [];
  return {
    add(entry) {
      entries.push(entry);
      if (entries.length > limit) entries.shift();
    },
    all: () => [...entries],
    writes: () => entries.filter((entry) => entry.method !== 'GET' && !entry.query.includes('dryRun=All')),
    clear: () => void entries.splice(0),
  };
}
