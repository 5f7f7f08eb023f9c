import { sshProblem } from '../api/git-address.ts';
import { GitError } from './errors.ts';

/**
 * Checks a Source's URL and returns it without trailing slashes. Throws GitError Refused for anything but
 * http(s), and for user info: credentials belong in a Secret (a URL ends up in logs, status and events).
 */
export function checkGitUrl(url: string): string {
  const ssh = sshProblem(url);
  if (ssh !== undefined) throw new GitError('Refused', `spec.url ${ssh}`);
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) {
    throw new GitError('Refused', 'spec.url must be http(s)://host/path; local paths are not supported');
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed) throw new GitError('Refused', 'spec.url cannot be read as a URL');
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    throw new GitError(
      'Refused',
      `spec.url uses ${parsed.protocol}// which is not supported; use https://${parsed.host}/...`,
    );
  }
  if (parsed.username || parsed.password) {
    throw new GitError(
      'Refused',
      `spec.url holds credentials for ${parsed.host}; move them to the Secret of spec.secretRef`,
    );
  }
  if (parsed.search || parsed.hash) {
    throw new GitError(
      'Refused',
      `spec.url must not hold a query or fragment (${parsed.host}${parsed.pathname})`,
    );
  }
  return parsed.href.replace(/\/+$/, '');
}
