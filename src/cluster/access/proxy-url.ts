import { localError } from '../errors.ts';

/** An HTTP or HTTPS proxy in front of the API server. Holds a secret: never log `authorization`. */
export interface ClusterProxy {
  /** `http://host:port`, without user and password, so that messages may show it. */
  readonly origin: string;
  /** Value of Proxy-Authorization, where the address had a user. */
  readonly authorization?: string;
}

/** Reads `proxy-url` of a kubeconfig. Throws a `configuration` error that never quotes it: it may hold a password. */
export function readProxyUrl(text: string): ClusterProxy {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol.startsWith('socks')) {
    throw unusable(`is a ${url.protocol.slice(0, -1)} proxy; only HTTP and HTTPS proxies are supported`);
  }
  if ((url?.protocol !== 'http:' && url?.protocol !== 'https:') || !url.hostname)
    throw unusable('must be http(s)://host:port');
  if (!url.username) return { origin: url.origin };
  const credentials = [url.username, url.password].map(decoded).join(':');
  return { origin: url.origin, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw unusable('has a user or password that is not percent-encoded');
  }
}

function unusable(problem: string) {
  return localError('configuration', `kubeconfig: proxy-url ${problem}`);
}
