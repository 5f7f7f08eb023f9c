/** SSH addresses of Git repositories, and the HTTPS address of the same repository. */

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
 * under the same path; a server of one's own may not, so it is a proposal (ADR 26).
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

/** The message for an SSH address; undefined for any other. It repeats neither user nor password. */
export function sshProblem(address: string): string | undefined {
  const form = httpsFormOf(address);
  return (
    form && `is an SSH address, and Git is read over HTTPS only: write ${form}, and a token into the Secret`
  );
}
