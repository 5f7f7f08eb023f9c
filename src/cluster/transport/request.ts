/** Kubernetes' verbs as RBAC and metrics name them; `apply` is a patch that is counted apart. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'apply' | 'patch' | 'delete';

/** What the server serves under one apiVersion and kind. */
export interface ResourceInfo {
  readonly apiVersion: string;
  readonly kind: string;
  /** Name in paths, for instance `deployments`. */
  readonly plural: string;
  readonly namespaced: boolean;
}

/** One request to the API server. */
export interface ApiRequest {
  readonly verb: Verb;
  /** Path on the server, for instance `/api/v1/namespaces/shop/pods`, each part already encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /** How messages name what this is about, for instance `Deployment shop/web`. */
  readonly object: string;
  /** The answer may hold a Secret: the server's text stays out of messages. */
  readonly secret?: boolean;
  /** User to act as (Impersonate-User), for instance `system:serviceaccount:shop:deployer`. */
  readonly impersonate?: string;
  /** From sending to the last byte of the answer, all retries included; not used for watches. Default 30 s. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
  /** Asked when a connection is free and the first byte is about to be sent; while it says no, nothing is sent (`aborted`, S20). */
  readonly maySend?: (() => boolean) | undefined;
}

/** True for requests that change nothing and may therefore be sent again. */
export function isRead(verb: Verb): boolean {
  return verb === 'get' || verb === 'list' || verb === 'watch';
}

/** The HTTP method of a verb. */
export function methodOf(verb: Verb): 'GET' | 'POST' | 'PATCH' | 'DELETE' {
  switch (verb) {
    case 'create':
      return 'POST';
    case 'apply':
    case 'patch':
      return 'PATCH';
    case 'delete':
      return 'DELETE';
    default:
      return 'GET';
  }
}
