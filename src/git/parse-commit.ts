/** What a commit's bytes say. */
export interface ParsedCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  /** Name, else address. */
  readonly author: string;
  /** Of the committer, in seconds since the epoch; NaN where it says none. */
  readonly time: number;
  readonly message: string;
}

/** Undefined when it names no tree. Anything may stand in the other lines. */
export function parseCommit(bytes: Uint8Array): ParsedCommit | undefined {
  const text = new TextDecoder().decode(bytes);
  const end = text.indexOf('\n\n');
  const lines = (end < 0 ? text : text.slice(0, end)).split('\n');
  const valuesOf = (field: string) =>
    lines.filter((line) => line.startsWith(`${field} `)).map((line) => line.slice(field.length + 1));
  const [tree] = valuesOf('tree');
  if (!tree || !/^[0-9a-f]{40}$/.test(tree)) return undefined;
  const parents = valuesOf('parent').filter((oid) => /^[0-9a-f]{40}$/.test(oid));
  const author = personOf(valuesOf('author')[0]);
  const { time } = personOf(valuesOf('committer')[0]);
  return {
    tree,
    parents,
    author: author.name || author.address,
    time,
    message: end < 0 ? '' : text.slice(end + 2),
  };
}

/** `Name <address> seconds zone`. */
function personOf(line = ''): { name: string; address: string; time: number } {
  const [, name = '', address = '', rest = ''] = /^(.*?) ?<([^>]*)> ?(.*)$/.exec(line) ?? [];
  return { name, address, time: Number.parseInt(rest, 10) };
}
