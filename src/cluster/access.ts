import type { ClusterProxy } from './proxy-url.ts';

/** How the transport learns where the API server is and who we are. */

/** What a TLS connection needs; PEM texts. Two requests with equal material share connections. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
  /** Do not verify the server. Only loopback, or when explicitly allowed. */
  readonly insecure: boolean;
}

/** Headers and TLS material for one request. Holds secrets: never log it. */
export interface Authentication {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
}

/** One API server and the means to be somebody there. */
export interface ClusterAccess {
  /** Origin without a trailing slash; may have a path (`https://host:6443/k8s/clusters/a`). */
  readonly server: string;
  /** Namespace of the context or of the pod; `default` when neither says. */
  readonly namespace: string;
  /** Everything that goes to the server goes through it. */
  readonly proxy?: ClusterProxy;
  /** Current credentials; files and plug-ins are asked again when they may have changed. Throws `configuration` errors. */
  authenticate(): Promise<Authentication>;
  /** The server refused the credentials: the next `authenticate` reads everything anew. */
  refresh(): void;
}
