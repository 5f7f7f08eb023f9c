/** SSH addresses of Git repositories, and the HTTPS address of the same repository: that of its forge. */

/** `ssh://`, its two older spellings, and `user@host:path`, which has no scheme. */
const SSH_URL = /^(?:ssh|git\+ssh|ssh\+git):\/\/(?:[^/@]*@)?([^/:@]+)(?::\d*)?\/+(.+)$/i;
const SCP = /^(?:[^/@:]+@)([^/:@]+):\/*(.+)$/;

/** Hosts that answer SSH under another name than HTTPS. */
const HTTPS_HOSTS: Readonly<Record<string, string>> = {
  'ssh.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
  'altssh.bitbucket.org': 'bitbucket.org',
};

/**
 * The https address of the repository behind an SSH address, without user and port; undefined for any other address. Forges have both
 * under the same path; a server of one's own may not.
 */
export function httpsFormOf(address: string): string | undefined {
  const [, host = '', path = ''] = SSH_URL.exec(address) ?? SCP.exec(address) ?? [];
  if (!host) return undefined;
  const name = host.toLowerCase();
  // Azure DevOps: v3/ORGANISATION/PROJECT/REPOSITORY.
  const azure = name === 'ssh.dev.azure.com' ? /^v3\/([^/]*)\/([^/]*)\/([^/]+)/.exec(path) : null;
  const form = azure
    ? `https://dev.azure.com/${azure[1]}/${azure[2]}/_git/${azure[3]}`
    : `https://${HTTPS_HOSTS[name] ?? name}/${path}`;
  return URL.canParse(form) ? form : undefined;
}

/** Where a repository is on a server of SSH. */
export interface SshAddress {
  /** Undefined: the address has no user. */
  readonly user: string | undefined;
  /** A name or an IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** As the program on the server gets it: `/srv/shop.git`, `~git/shop.git`, or what follows the colon. */
  readonly path: string;
}

/** Whether an address is one of SSH, also one that cannot be used. */
export function isSshAddress(address: string): boolean {
  return /^(ssh|git\+ssh|ssh\+git):\/\//i.test(address) || (!address.includes('://') && SCP.test(address));
}

/** Reads an address of SSH. What is wrong with it comes as text, which repeats nothing of it: it may hold a password. */
export function parseSshAddress(address: string): SshAddress | string {
  if (/[\p{Cc}\s]/u.test(address)) return 'contains a space or a control character';
  const scp = address.includes('://') ? undefined : /^([^/@:]+)@(\[[^\]]+\]|[^/@:]+):(.+)$/.exec(address);
  const read = scp ? { user: scp[1], host: scp[2] ?? '', port: 22, path: scp[3] ?? '' } : urlParts(address);
  if (typeof read === 'string') return read;
  const host = read.host.replace(/^\[|\]$/g, '');
  if (!/^[A-Za-z0-9_.:%-]+$/.test(host) || host.startsWith('-')) return 'has no host that can be reached';
  if (read.path === '' || read.path === '/') return 'names no repository: a path is missing';
  return { ...read, host };
}

function urlParts(address: string): SshAddress | string {
  // As a URL of HTTP: of other schemes Node reads less.
  const url = address.replace(/^[a-z+]+:/i, 'http:');
  if (!URL.canParse(url)) return 'cannot be read as ssh://user@host:port/path';
  const { hostname, username, password, port, pathname, search, hash } = new URL(url);
  if (password) return 'holds a password; SSH signs in with the key in the Secret of spec.secretRef';
  if (search || hash) return 'must not hold a query or fragment';
  const isDefault = port === '' && !/^[^/]*\/\/[^/]*:80(\/|$)/.test(url);
  try {
    const path = decodeURIComponent(pathname).replace(/^\/+/, '/').replace(/^\/~/, '~');
    const user = decodeURIComponent(username) || undefined;
    return { user, host: hostname, port: isDefault ? 22 : Number(port || 80), path };
  } catch {
    return 'holds a % that is not a valid escape';
  }
}
