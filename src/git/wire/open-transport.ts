import { isSshAddress, parseSshAddress } from '../../api/source/git-address.ts';
import { GitError } from '../errors.ts';
import { createHttpTransport } from './http-transport.ts';
import { createSshTransport } from './ssh/ssh-transport.ts';
import type { GitTransport, TransportOptions } from './transport.ts';

/** A transport for one operation, by the scheme of the URL. Throws GitError Refused for a URL that is not allowed. */
export function createGitTransport(options: TransportOptions): GitTransport {
  if (!isSshAddress(options.url)) return createHttpTransport(options);
  const address = parseSshAddress(options.url);
  if (typeof address === 'string') throw new GitError('Refused', `spec.url ${address}`);
  return createSshTransport(options, address);
}
