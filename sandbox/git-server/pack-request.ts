import {
  type Commit,
  createObjectReader,
  entriesOf,
  type GitObject,
  peel,
  type ReadObject,
  readCommit,
  SUBMODULE,
} from './objects.ts';
import { FLUSH, packet, packetsOfPack, valuesOf } from './packets.ts';
import { readRefs } from './refs.ts';

interface PackRequest {
  readonly wants: readonly string[];
  readonly haves: readonly string[];
  /** Commits whose parents the client does not have. */
  readonly shallow: readonly string[];
  /** Length of the history that it wants; undefined: all of it. */
  readonly depth: number | undefined;
}

/** What Holdfast says that it understands; an answer to other capabilities may have to look otherwise. */
const CAPABILITY = /^(multi_ack_detailed|side-band-64k|ofs-delta|no-progress|agent=.*)$/;
const LINE = /^(want|shallow|have) [0-9a-f]{40}$|^deepen [1-9][0-9]*$|^flush$|^done$/;

/** Undefined for one that is in the middle of its negotiation, or says what Holdfast does not. */
function parseRequest([first = '', ...others]: readonly string[]): PackRequest | undefined {
  const [word, want, ...capabilities] = first.split(' ');
  const lines = [`${word} ${want}`, ...others];
  const isUnderstood =
    capabilities.includes('side-band-64k') &&
    capabilities.includes('multi_ack_detailed') &&
    capabilities.every((name) => CAPABILITY.test(name)) &&
    lines.every((line) => LINE.test(line));
  const isWhole = lines.filter((line) => line === 'flush').length === 1 && lines.at(-1) === 'done';
  if (!isUnderstood || !isWhole) return undefined;
  const [wants = [], haves = [], shallow = []] = ['want', 'have', 'shallow'].map((name) =>
    valuesOf(name, lines),
  );
  return { wants, haves, shallow, depth: valuesOf('deepen', lines).map(Number)[0] };
}

/** What `git upload-pack` answers to a request of one round in version 0. Undefined where git itself must answer. */
export async function fetchPack(repository: string, lines: readonly string[]): Promise<Buffer | undefined> {
  const request = parseRequest(lines);
  if (!request) return undefined;
  const read = createObjectReader(repository);
  const refused = await firstRefused(repository, read, request.wants);
  if (refused) return Buffer.from(packet(`ERR upload-pack: not our ref ${refused}`));
  const wanted = await Promise.all(request.wants.map((want) => peel(read, want)));
  const wants = wanted.map(({ oid }) => oid);
  const { shallow, unshallow } = await boundaryOf(read, wants, request);
  const edges = new Set([...request.shallow, ...shallow]);
  const parents = await Promise.all(unshallow.map(async (oid) => (await readCommit(read, oid)).parents));
  const common = await holding(read, request.haves);
  const known = await history(read, [...common, ...unshallow], { edges });
  const sent = await history(read, [...wants, ...parents.flat()], { edges, without: known });
  const objects = new Map(wanted.flatMap(({ tags }) => [...tags]));
  await addObjects(read, { sent, known, edges, objects });
  const boundary = [
    ...shallow.map((oid) => packet(`shallow ${oid}`)),
    ...unshallow.map((oid) => packet(`unshallow ${oid}`)),
    ...(request.depth === undefined ? [] : [FLUSH]),
  ];
  const acknowledged = common.map((oid) => packet(`ACK ${oid} common\n`));
  const last = packet(common.length > 0 ? `ACK ${common.at(-1)}\n` : 'NAK\n');
  const head = [...boundary, ...acknowledged, last].join('');
  return Buffer.concat([Buffer.from(head), packetsOfPack([...objects.values()]), Buffer.from(FLUSH)]);
}

/** As over HTTP git gives out what a ref names and every commit below it, but nothing that was rewritten. */
async function firstRefused(
  repository: string,
  read: ReadObject,
  wants: readonly string[],
): Promise<string | undefined> {
  const tips = new Set(readRefs(repository).values());
  const others = wants.filter((want) => !tips.has(want));
  if (others.length === 0) return undefined;
  const served = await Promise.all([...tips].map(async (tip) => (await peel(read, tip)).oid));
  const reachable = await history(read, served);
  return others.find((want) => !reachable.has(want));
}

/** Where the client's history will end that did not end there before, and the reverse. */
async function boundaryOf(
  read: ReadObject,
  wants: readonly string[],
  { shallow, depth }: PackRequest,
): Promise<{ shallow: string[]; unshallow: string[] }> {
  if (depth === undefined) return { shallow: [], unshallow: [] };
  const within = await history(read, wants, { depth });
  const above = await history(read, wants, { depth: depth - 1 });
  const ends = [...within.keys()].filter((oid) => !above.has(oid));
  return {
    shallow: ends.filter((oid) => !shallow.includes(oid)),
    unshallow: shallow.filter((oid) => above.has(oid)),
  };
}

/** The commits among them that the repository holds. */
async function holding(read: ReadObject, oids: readonly string[]): Promise<string[]> {
  const held = await Promise.all(oids.map((oid) => readCommit(read, oid).catch(() => undefined)));
  return oids.filter((_, index) => held[index]);
}

interface HistoryOptions {
  /** Commits whose parents do not count. */
  readonly edges?: ReadonlySet<string>;
  readonly without?: ReadonlyMap<string, Commit>;
  /** Generations, the first ones included. */
  readonly depth?: number;
}

/** The commits and all before them, by id. */
async function history(
  read: ReadObject,
  from: readonly string[],
  { edges, without, depth = Number.POSITIVE_INFINITY }: HistoryOptions = {},
): Promise<Map<string, Commit>> {
  const found = new Map<string, Commit>();
  let generation = [...from];
  for (let passed = 0; generation.length > 0 && passed < depth; passed += 1) {
    const next: string[] = [];
    for (const oid of generation) {
      if (found.has(oid) || without?.has(oid)) continue;
      const commit = await readCommit(read, oid);
      found.set(oid, commit);
      if (!edges?.has(oid)) next.push(...commit.parents);
    }
    generation = next;
  }
  return found;
}

interface Sending {
  readonly sent: ReadonlyMap<string, Commit>;
  /** Commits that the client holds with all that they reach. */
  readonly known: ReadonlyMap<string, Commit>;
  readonly edges: ReadonlySet<string>;
  readonly objects: Map<string, GitObject>;
}

/** As git: what is in a folder of the client's nearest commits is left out, older ones are not looked through. */
async function addObjects(read: ReadObject, { sent, known, edges, objects }: Sending): Promise<void> {
  const held = new Map<string, GitObject>();
  for (const [oid, { parents }] of sent)
    for (const parent of edges.has(oid) ? [] : parents) {
      const tree = known.get(parent)?.tree;
      if (tree) await addTree(read, tree, held, held);
    }
  for (const [oid, { tree }] of sent) {
    objects.set(oid, await read(oid));
    await addTree(read, tree, objects, held);
  }
}

/** Adds a folder and all in it, except for what is held already. */
async function addTree(
  read: ReadObject,
  oid: string,
  objects: Map<string, GitObject>,
  held: ReadonlyMap<string, GitObject>,
): Promise<void> {
  if (objects.has(oid) || held.has(oid)) return;
  const object = await read(oid);
  objects.set(oid, object);
  if (object.type !== 'tree') return;
  for (const entry of entriesOf(object))
    if (entry.mode !== SUBMODULE) await addTree(read, entry.oid, objects, held);
}
