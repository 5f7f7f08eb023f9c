/** The table of forges: a further one is one more file and one more line here. */
import { bitbucket } from './bitbucket.ts';
import { gitea } from './gitea.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import type { ForgeDialect, ForgeKind } from './types.ts';

/** Every forge's dialect by its kind. */
export const dialects: Readonly<Record<ForgeKind, ForgeDialect>> = { github, gitlab, gitea, bitbucket };

/** Other names a Secret's key `forge` may use. */
const ALIASES: Readonly<Record<string, ForgeKind>> = { forgejo: 'gitea', 'github-enterprise': 'github' };

const KNOWN_HOSTS: Readonly<Record<string, ForgeKind>> = {
  'github.com': 'github',
  'www.github.com': 'github',
  'gitlab.com': 'gitlab',
  'bitbucket.org': 'bitbucket',
  'codeberg.org': 'gitea',
  'gitea.com': 'gitea',
};

/** The forge of a public host, undefined for any other. */
export function forgeOfHost(hostname: string): ForgeKind | undefined {
  return Object.hasOwn(KNOWN_HOSTS, hostname) ? KNOWN_HOSTS[hostname] : undefined;
}

/** The forge that somebody named; undefined when there is none of that name. */
export function forgeOfName(name: string): ForgeKind | undefined {
  const given = name.toLowerCase();
  if (Object.hasOwn(ALIASES, given)) return ALIASES[given];
  return Object.hasOwn(dialects, given) ? (given as ForgeKind) : undefined;
}

/** Names for messages. */
export function forgeNames(): string {
  return [...Object.keys(dialects), ...Object.keys(ALIASES)].sort().join(', ');
}
