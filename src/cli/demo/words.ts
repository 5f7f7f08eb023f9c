/** Turns Holdfast's own words into the demo's: commits by the names of the releases. */
export interface Words {
  /** A commit was made: from now on it is called by this name. */
  learn(commit: { readonly name: string; readonly commit: string; readonly subject: string }): void;
  /** The message with names for commits. */
  plain(message: string): string;
  /** Release of a commit. */
  nameOf(commit: string): string;
}

/** Knows no commit yet. */
export function createWords(): Words {
  const known: Array<{ commit: string; name: string; subject: string }> = [];
  const called = (name: string) => (name === 'revert' ? 'the revert' : name);
  return {
    learn: (entry) => {
      known.push(entry);
    },
    plain(message) {
      return known.reduce((text, { commit, name, subject }) => {
        const short = commit.slice(0, 7);
        return text.replaceAll(`${short} "${subject}"`, called(name)).replaceAll(short, called(name));
      }, message);
    },
    nameOf(commit) {
      const found = known.find((entry) => entry.commit === commit)?.name;
      return found === 'revert' ? 'v2' : (found ?? commit.slice(0, 7));
    },
  };
}
