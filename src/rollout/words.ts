import type { Run } from './run.ts';

/** `1a2b3c4 subject`: how a release is named to people. */
export function describe(release: { commit: { commit: string; subject: string }; digest: string }): string {
  const id = release.commit.commit ? release.commit.commit.slice(0, 7) : release.digest.slice(0, 10);
  return release.commit.subject ? `${id} "${release.commit.subject}"` : id;
}

/** The release under way, as people know it. */
export function nameOf(run: Run): string {
  return describe({ digest: run.digest, commit: { commit: run.commit, subject: run.subject } });
}
