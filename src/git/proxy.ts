import { GitError } from './errors.ts';
import { lineOf, type SecretValues } from './secret-values.ts';

/**
 * The address of a Source's proxy from the Secret of `spec.proxySecretRef`, in Flux's format: `address`, and `username` with `password`
 * where the proxy wants them; these become user info of the answer. `name` is for messages. Throws GitError Unauthorized, which never
 * quotes the address: it may hold a password.
 */
export function proxyFromSecret(name: string, data: SecretValues): string {
  const address = lineOf(name, 'address', data.address)?.trim();
  if (!address) throw unusable(name, 'has no key address; it must be http(s)://host:port');
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol.startsWith('socks'))
    throw unusable(name, `address is a ${url.protocol} proxy; only HTTP and HTTPS proxies are supported`);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw unusable(name, 'address must be http(s)://host:port');
  const username = lineOf(name, 'username', data.username);
  const password = lineOf(name, 'password', data.password);
  if (password && !username && !url.username) throw unusable(name, 'holds a password without a username');
  if (username) url.username = encodeURIComponent(username);
  if (password) url.password = encodeURIComponent(password);
  return url.href;
}

function unusable(secret: string, problem: string): GitError {
  return new GitError('Unauthorized', `Secret ${secret} of spec.proxySecretRef: ${problem}`);
}
