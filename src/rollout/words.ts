/** `1a2b3c4 subject`: how a release, or the run that tries it, is named to people. */
export function describe({
  digest,
  commit,
  subject = '',
}: {
  readonly digest: string;
  readonly commit: string | { readonly commit: string; readonly subject: string };
  readonly subject?: string;
}): string {
  const known = typeof commit === 'string' ? { commit, subject } : commit;
  const id = known.commit ? known.commit.slice(0, 7) : digest.slice(0, 10);
  return known.subject ? `${id} "${known.subject}"` : id;
}
