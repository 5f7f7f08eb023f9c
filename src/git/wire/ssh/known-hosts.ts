/** The file of known hosts of sshd(8) (its section SSH_KNOWN_HOSTS FILE FORMAT), as Flux and Argo CD read it. */
import { createHmac } from 'node:crypto';
import { limits } from '../../../api/limits.ts';
import { isListed } from '../../patterns.ts';

/** What the file says about host keys. Keys are in SSH's wire format. */
export interface KnownHosts {
  /** The types of keys that are known of this host, as `ssh-ed25519`. */
  typesOf(host: string, port: number): readonly string[];
  judge(host: string, port: number, key: Buffer): HostKeyVerdict;
}

/** `authority`: the host is known by a certificate authority alone, and host certificates are not supported. */
type HostKeyVerdict = 'known' | 'unknown' | 'changed' | 'revoked' | 'authority';

interface Line {
  readonly marker: '' | '@revoked' | '@cert-authority';
  readonly isFor: (host: string) => boolean;
  readonly type: string;
  readonly key: Buffer;
}

/**
 * Reads the file. Throws Error with the line that cannot be read: a line that is skipped silently may be a revocation. Text after the
 * key is a comment.
 */
export function parseKnownHosts(text: string): KnownHosts {
  if (text.length > limits.knownHostsBytes)
    throw new Error(`is larger than ${limits.knownHostsBytes / 1024} KiB`);
  const lines = text.split('\n').flatMap((line, index) => {
    const content = line.trim();
    if (content === '' || content.startsWith('#')) return [];
    const read = readLine(content);
    if (!read) throw new Error(`line ${index + 1} is not a line of known_hosts`);
    return [read];
  });
  const known = lines.filter(({ marker }) => marker === '');
  const authorities = lines.filter(({ marker }) => marker === '@cert-authority');
  const revoked = lines.filter(({ marker }) => marker === '@revoked');
  return {
    typesOf: (host, port) => [
      ...new Set(known.filter(({ isFor }) => isFor(hostName(host, port))).map(({ type }) => type)),
    ],
    judge(host, port, key) {
      // Revoked for any host: a key that leaked is valid for none.
      if (revoked.some((line) => line.key.equals(key))) return 'revoked';
      const ofHost = known.filter(({ isFor }) => isFor(hostName(host, port)));
      if (ofHost.some((line) => line.key.equals(key))) return 'known';
      if (ofHost.length > 0) return 'changed';
      return authorities.some(({ isFor }) => isFor(hostName(host, port))) ? 'authority' : 'unknown';
    },
  };
}

/** A host in the notation of the file. */
function hostName(host: string, port: number): string {
  const name = host.toLowerCase();
  return port === 22 ? name : `[${name}]:${port}`;
}

function readLine(content: string): Line | undefined {
  const words = content.split(/[ \t]+/);
  const marker = words[0]?.startsWith('@') ? words.shift() : '';
  const [hosts = '', type = '', encoded = ''] = words;
  if (marker !== '' && marker !== '@revoked' && marker !== '@cert-authority') return undefined;
  const key = Buffer.from(encoded, 'base64');
  // The key repeats its type in its first field.
  if (key.length < 4 + type.length || key.readUInt32BE() !== Buffer.byteLength(type)) return undefined;
  if (key.toString('latin1', 4, 4 + type.length) !== type) return undefined;
  const isFor = hosts.startsWith('|')
    ? hashed(hosts)
    : (host: string) => isListed(hosts.toLowerCase().split(','), host);
  return isFor && { marker, isFor, type, key };
}

/** `|1|salt|digest`: HMAC-SHA1 of the name. */
function hashed(hosts: string): Line['isFor'] | undefined {
  const [, salt = '', digest = ''] = /^\|1\|([A-Za-z0-9+/=]+)\|([A-Za-z0-9+/=]+)$/.exec(hosts) ?? [];
  if (!digest) return undefined;
  return (host) => createHmac('sha1', Buffer.from(salt, 'base64')).update(host).digest('base64') === digest;
}
