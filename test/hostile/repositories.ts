import type { GitReference } from '../../src/git/types.ts';
import { newObject } from '../../src/git/write/new-objects.ts';
import { band, FLUSH, line, packAnswer, type Served } from './git-server.ts';
import {
  appendDelta,
  BLOB,
  blob,
  commit,
  copyDelta,
  type Entry,
  manifest,
  OFS_DELTA,
  packOf,
  REF_DELTA,
  rawPack,
  sameDelta,
  sealed,
  serving,
  tree,
  withEntries,
} from './objects.ts';

/** A repository or a server of which nothing, or nothing but `a.yaml`, may be read. */
export interface Hostile {
  readonly name: string;
  /** Made when it is its turn: some are large. */
  readonly make: () => Served;
  readonly reference?: GitReference;
  readonly path?: string;
  /** The whole is refused with this code. */
  readonly code?: string;
  /** `a.yaml` is read, and there is one problem for each of these. */
  readonly problems?: readonly RegExp[];
  /** What the refusal says. */
  readonly says?: RegExp;
  /** Files that are read, where it is not `a.yaml` alone. */
  readonly reads?: readonly string[];
}

const MIB = 1_048_576;
const nobody = 'a'.repeat(40);
const root = tree([{ name: 'a.yaml', oid: manifest.oid }]);
const head = commit(root.oid);
const honest = packOf([head, root, manifest]);

/** Entries whose name is wrong; each is a problem of its own. */
function names(...given: ReadonlyArray<string | Buffer>): Pick<Hostile, 'make' | 'problems'> {
  const entries = given.map((name): Entry => ({ name, oid: manifest.oid }));
  return {
    make: () => withEntries(entries),
    problems: given.map(() => /name is not safe on every file system/),
  };
}

function many<T>(count: number, entry: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => entry(index));
}

function answering(answer: NonNullable<Served['answer']>): Served {
  return { refs: [['refs/heads/main', head.oid]], answer };
}

function sending(pack: Buffer): Served {
  return serving(head, [], pack);
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0xff;
  return copy;
}

const zeros = { type: BLOB, size: 8 * MIB, content: Buffer.alloc(8 * MIB) };

/** Deltas that each make 8 MiB of 20 bytes. */
function deltas(count: number, baseOf: (index: number) => number) {
  return Array.from({ length: count }, (_, index) => {
    const base = baseOf(index);
    const content = copyDelta(base === 0 ? 8 * MIB : 8 * MIB + 4, 8 * MIB, index);
    return { type: OFS_DELTA, size: content.length, content, base };
  });
}

/** Deltas by id on `zeros`, each of which makes 8 MiB; `baseOf`: which one it starts from, 0 for `zeros`. */
function deltasById(count: number, baseOf: (index: number) => number) {
  const ids = [newObject('blob', zeros.content).oid];
  return Array.from({ length: count }, (_, index) => {
    const base = baseOf(index);
    const content = copyDelta(base === 0 ? 8 * MIB : 8 * MIB + 4, 8 * MIB, index);
    ids.push(newObject('blob', Buffer.concat([zeros.content, content.subarray(-4)])).oid);
    return { type: REF_DELTA, size: content.length, content, baseId: ids[base] ?? '' };
  });
}

/** Small deltas by id, each on the one before it. */
function smallDeltas(count: number) {
  let content: Buffer = Buffer.from(manifest.bytes);
  return Array.from({ length: count }, () => {
    const baseId = newObject('blob', content).oid;
    const delta = appendDelta(content.length, 'x');
    content = Buffer.concat([content, Buffer.from('x')]);
    return { type: REF_DELTA, size: delta.length, content: delta, baseId };
  });
}

const objects: readonly Hostile[] = [
  {
    name: '1,000,000 files in one folder',
    make() {
      const large = tree(
        many(1_000_000, (index) => ({ name: `${index}.yaml`.padStart(13, '0'), oid: manifest.oid })),
      );
      return withEntries([{ mode: '40000', name: 'd', oid: large.oid }], [large]);
    },
    code: 'TooLarge',
    says: /folder of tree [0-9a-f]{40} holds more than 100000 entries/,
  },
  {
    name: '1,000,000 files in folders that are one',
    make() {
      const inner = tree(many(1_000, (index) => ({ name: `${index}.yaml`, oid: manifest.oid })));
      const entries = many(1_000, (index) => ({ mode: '40000', name: `d${index}`, oid: inner.oid }));
      return withEntries(entries, [inner]);
    },
    code: 'TooLarge',
    says: /more than 10000 manifests below the path/,
  },
  {
    name: 'folders 10,000 deep',
    make() {
      const folders = [tree([{ name: 'a.yaml', oid: manifest.oid }])];
      for (let depth = 0; depth < 10_000; depth += 1)
        folders.push(tree([{ mode: '40000', name: 'd', oid: folders.at(-1)?.oid ?? '' }]));
      return withEntries([{ mode: '40000', name: 'd', oid: folders.at(-1)?.oid ?? '' }], folders);
    },
    code: 'TooLarge',
    says: /nested deeper than 64 at d\/d\//,
  },
  {
    name: 'a file of 1 GB',
    make: () =>
      sending(rawPack([head, root, manifest], [{ type: BLOB, size: 2 ** 30, content: Buffer.alloc(9) }])),
    code: 'TooLarge',
    says: /an object of 1073741824 bytes, at byte \d+ of its pack/,
  },
  {
    name: 'a file of 64 MB that says it has 100 bytes',
    make: () =>
      sending(rawPack([head, root, manifest], [{ type: BLOB, size: 100, content: Buffer.alloc(64 * MIB) }])),
    code: 'Unreachable',
    says: /cannot be inflated to the size it states/,
  },
  {
    name: 'a delta that says it makes 1 GB',
    make() {
      const content = copyDelta(8 * MIB, 2 ** 30, 1);
      return sending(
        rawPack([head, root, manifest], [zeros, { type: OFS_DELTA, size: content.length, content, base: 0 }]),
      );
    },
    code: 'TooLarge',
    says: /an object of 1073741828 bytes, at byte \d+ of its pack/,
  },
  {
    name: 'a chain of deltas that makes 8 GB',
    make: () => sending(rawPack([head, root, manifest], [zeros, ...deltas(1_000, (index) => index)])),
    code: 'TooLarge',
    says: /objects of more than 1073741824 bytes together/,
  },
  {
    name: 'a chain of deltas by id, of 13 kB, that makes 640 MB',
    make: () => sending(rawPack([head, root, manifest], [zeros, ...deltasById(80, (index) => index)])),
    problems: [],
  },
  {
    name: 'deltas by id that branch at each level',
    // Whichever of three is made first, its base is needed again after it.
    make: () => {
      const twig = (index: number) => (index < 3 ? 0 : Math.floor((index - 3) / 3) * 3 + 2);
      return sending(rawPack([head, root, manifest], [zeros, ...deltasById(60, twig)]));
    },
    code: 'TooLarge',
    says: /deltas that need more than 100663296 bytes at once/,
  },
  {
    name: 'a chain of 1,000 deltas by id',
    make: () => sending(rawPack([head, root, manifest], smallDeltas(1_000))),
    code: 'TooLarge',
    says: /a chain of more than 250 deltas/,
  },
  {
    name: 'deltas of one file that make 8 GB',
    make: () => sending(rawPack([head, root, manifest], [zeros, ...deltas(1_000, () => 0)])),
    code: 'TooLarge',
    says: /objects of more than 1073741824 bytes together/,
  },
  {
    name: 'a delta whose base is itself',
    make() {
      const content = copyDelta(8 * MIB, MIB, 1);
      return sending(
        rawPack([head, root, manifest], [{ type: OFS_DELTA, size: content.length, content, base: 0 }]),
      );
    },
    code: 'Unreachable',
    says: /pack from the Git server is damaged/,
  },
  {
    name: 'a delta whose base is itself by its id',
    make() {
      const content = sameDelta(manifest.bytes.length);
      const delta = { type: REF_DELTA, size: content.length, content, baseId: manifest.oid };
      return sending(rawPack([head, root, manifest], [delta]));
    },
    code: 'Unreachable',
    says: /pack from the Git server is damaged/,
  },
  {
    name: 'a delta whose base is not sent',
    make() {
      const content = sameDelta(manifest.bytes.length);
      const delta = { type: REF_DELTA, size: content.length, content, baseId: manifest.oid };
      return sending(rawPack([head, root], [delta]));
    },
    code: 'Unreachable',
    says: /pack from the Git server is damaged/,
  },
  {
    name: 'more objects than there may be',
    make: () => sending(rawPack([head, root, manifest], [], 4_000_000_000)),
    code: 'TooLarge',
    says: /4000000000 objects/,
  },
  {
    name: 'symbolic links out, in, to themselves and to a folder',
    make() {
      const targets = ['/etc/passwd', 'a.yaml', 'loop.yaml', '../..'].map(blob);
      const at = (index: number) => targets[index]?.oid ?? '';
      return withEntries(
        [
          { mode: '120000', name: 'folder', oid: at(3) },
          { mode: '120000', name: 'in.yaml', oid: at(1) },
          { mode: '120000', name: 'loop.yaml', oid: at(2) },
          { mode: '120000', name: 'out.yaml', oid: at(0) },
        ],
        targets,
      );
    },
    problems: ['folder', 'in.yaml', 'loop.yaml', 'out.yaml'].map(
      (name) => new RegExp(`^${name}: symbolic links are not followed`),
    ),
  },
  {
    name: 'a path through a symbolic link',
    make: () => withEntries([{ mode: '120000', name: 'prod', oid: blob('/etc').oid }], [blob('/etc')]),
    path: 'prod',
    code: 'PathNotFound',
    says: /prod is a symlink, not a folder/,
  },
  {
    name: 'a submodule',
    make: () => withEntries([{ mode: '160000', name: 'vendor', oid: nobody }]),
    problems: [/^vendor: submodules are not read/],
  },
  {
    name: 'a pointer of Git LFS',
    make() {
      const pointer = blob(
        `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12\n`,
      );
      return withEntries([{ name: 'big.yaml', oid: pointer.oid }], [pointer]);
    },
    problems: [/^big\.yaml: is a Git LFS pointer/],
  },
  { name: '.. and what leads up', ...names('..', '../up.yaml', '../../etc/cron.d/x.yaml', '/abs.yaml') },
  { name: '.git in the spellings of Unix and HFS+', ...names('.git', '.GIT', '.g\u200cit', '.git\u200f') },
  {
    name: '.git in the spellings of NTFS',
    ...names('git~1', '.git ', '.git.', '.git::$INDEX_ALLOCATION', '.git\\x'),
  },
  {
    name: 'names with control characters',
    ...names('a\nb.yaml', 'a\u001b[2J.yaml', 'a\u0000.yaml'.replace('\u0000', '\u0007')),
  },
  { name: 'names that are not UTF-8', ...names(Buffer.from('lat\xe5n.yaml', 'latin1')) },
  { name: 'a name of 1 MB', ...names(`${'n'.repeat(MIB)}.yaml`) },
  {
    name: 'names of 1 MB of dots and of colons',
    ...names(`${'. '.repeat(MIB / 2)}x`, `${':'.repeat(MIB)}\n`),
  },
  {
    name: 'names that differ in case only',
    make: () => withEntries([{ name: 'A.yaml', oid: manifest.oid }]),
    reads: ['A.yaml', 'a.yaml'],
    problems: [],
  },
  {
    name: 'a mode that is none',
    make: () => withEntries([{ mode: '777', name: 'odd.yaml', oid: manifest.oid }]),
    problems: [],
  },
  {
    name: 'a file that is not UTF-8',
    make: () =>
      withEntries([{ name: 'latin.yaml', oid: blob(Buffer.from([0xe5])).oid }], [blob(Buffer.from([0xe5]))]),
    problems: [/^latin\.yaml: the file is not UTF-8/],
  },
  {
    name: 'a file of 20 MB',
    make() {
      const large = blob(Buffer.alloc(20 * MIB, 'a: b\n'));
      return withEntries([{ name: 'big.yaml', oid: large.oid }], [large]);
    },
    problems: [/^big\.yaml: 20971520 bytes are more than the limit/],
  },
  {
    name: 'a file of 50 MB under 60 names',
    make() {
      const large = blob(Buffer.alloc(50 * MIB, 'a: b\n'));
      return withEntries(
        many(60, (index) => ({ name: `b${index + 10}.yaml`, oid: large.oid })),
        [large],
      );
    },
    problems: many(60, (index) => index).map((index) => new RegExp(`^b${index + 10}\\.yaml: 52428800 bytes`)),
  },
  {
    name: 'a file that is not there',
    make: () => withEntries([{ name: 'gone.yaml', oid: nobody }]),
    code: 'Corrupt',
    says: new RegExp(`blob ${nobody} is missing`),
  },
  {
    name: 'a tree that is cut',
    make() {
      const cut = newObject('tree', root.bytes.subarray(0, -3));
      return serving(commit(cut.oid), [cut, manifest]);
    },
    code: 'Corrupt',
    says: /tree [0-9a-f]{40} cannot be read/,
  },
  {
    name: 'a commit whose tree is a path',
    make: () => serving(commit('../../../../../../etc/passwd'), []),
    code: 'Corrupt',
    says: /commit [0-9a-f]{40} cannot be read/,
  },
  {
    name: 'a commit whose tree is a file',
    make: () => serving(commit(manifest.oid), [manifest]),
    code: 'NotFound',
    says: /did not send commit [0-9a-f]{40}/,
  },
  {
    name: 'a commit that says nothing',
    make: () => serving(newObject('commit', Buffer.from('\n')), []),
    code: 'Corrupt',
    says: /commit [0-9a-f]{40} cannot be read/,
  },
  {
    name: 'a branch that is a file',
    make: () => serving(manifest, []),
    code: 'NotFound',
    says: new RegExp(`did not send commit ${manifest.oid}`),
  },
  {
    name: 'a commit of the year 292277026596',
    make: () => serving(commit(root.oid, '9223372036854775807 +9999'), [root, manifest]),
    problems: [],
  },
  {
    name: 'a commit whose author is 1 MB of brackets',
    make: () => serving(commit(root.oid, undefined, 'Change\n', '<'.repeat(MIB - 1_000)), [root, manifest]),
    problems: [],
  },
  {
    name: 'a commit of 10 MB',
    make: () => serving(commit(root.oid, undefined, 'word '.repeat(2 * MIB)), [root, manifest]),
    code: 'TooLarge',
    says: /^commit [0-9a-f]{40} has 104\d+ bytes/,
  },
];

const servers: readonly Hostile[] = [
  {
    name: 'another commit than was asked for',
    make: () => serving(newObject('commit', Buffer.from(commit(root.oid).bytes).subarray(1)), [], honest),
    code: 'NotFound',
    says: /did not send commit [0-9a-f]{40}/,
  },
  {
    name: 'no pack',
    make: () => answering((response) => response.end(packAnswer(Buffer.alloc(0)))),
    code: 'Unreachable',
    says: /ended before the pack/,
  },
  {
    name: 'a pack that is cut',
    make: () => sending(honest.subarray(0, -60)),
    code: 'Unreachable',
    says: /damaged or truncated/,
  },
  {
    name: 'a pack with a flipped byte',
    make: () => sending(flipped(honest, 40)),
    code: 'Unreachable',
    says: /checksum is wrong/,
  },
  {
    name: 'a pack with a flipped byte and its checksum',
    make: () => sending(sealed(flipped(honest, 20).subarray(0, -20))),
    code: 'Unreachable',
    says: /damaged/,
  },
  {
    name: 'a pack with more than its objects',
    make: () => sending(sealed(Buffer.concat([honest.subarray(0, -20), Buffer.alloc(99)]))),
    code: 'Unreachable',
    says: /trailing data/,
  },
  {
    name: 'a pack of another version',
    make: () => sending(sealed(flipped(honest, 7).subarray(0, -20))),
    code: 'Unreachable',
    says: /not a version 2 pack/,
  },
  {
    name: 'a pack without end',
    make: () =>
      answering((response) => {
        response.write(line('NAK\n'));
        const more = band(1, Buffer.alloc(60_000));
        const pump = () => {
          while (!response.destroyed && response.write(more));
        };
        response.on('drain', pump);
        pump();
      }),
    code: 'TooLarge',
    says: /52428800|50 MiB|bytes/,
  },
  {
    name: '1,000,000 commits at which history ends',
    make() {
      const lines = many(1_000_000, (index) => line(`shallow ${index.toString(16).padStart(40, '0')}`));
      const body = Buffer.concat([...lines, FLUSH]);
      return answering((response) => response.end(body));
    },
    code: 'TooLarge',
    says: /history ends at more than 50,000 commits/,
  },
  {
    name: 'a packet of a length that is none',
    make: () => answering((response) => response.end('zzzzPACK')),
    code: 'Unreachable',
  },
  {
    name: 'an error with control characters',
    make: () => answering((response) => response.end(line('ERR \u001b[31mno\n'))),
    code: 'Unreachable',
    says: /said|error: \[31mno/,
  },
  {
    name: 'a fatal message in the side band',
    make: () =>
      answering((response) => response.end(Buffer.concat([band(3, Buffer.from('out of memory')), FLUSH]))),
    code: 'Unreachable',
    says: /out of memory/,
  },
  {
    name: 'an empty repository',
    make: () => ({ refs: [['capabilities^{}', '0'.repeat(40)]] }),
    code: 'RefNotFound',
    says: /no branch "main"/,
  },
  {
    name: 'a default branch that is unborn',
    make: () => ({ refs: [['refs/heads/other', head.oid]], capabilities: 'symref=HEAD:refs/heads/main' }),
    reference: {},
    code: 'RefNotFound',
    says: /no default branch/,
  },
  {
    name: 'symbolic refs in a circle',
    make: () => ({
      refs: [['refs/heads/other', head.oid]],
      capabilities: 'symref=HEAD:refs/heads/main symref=refs/heads/main:HEAD',
    }),
    reference: {},
    code: 'RefNotFound',
    says: /no default branch/,
  },
  {
    name: 'refs whose names are paths',
    make: () => ({ refs: [['refs/heads/../../../etc/passwd', head.oid]] }),
    code: 'RefNotFound',
    says: /no branch "main"/,
  },
  {
    name: 'a ref with an id of SHA-256',
    make: () => ({ refs: [['refs/heads/main', 'a'.repeat(64)]] }),
    code: 'Refused',
    says: /SHA-256 repositories are not supported/,
  },
  {
    name: '1,000,000 refs',
    make: () => ({
      refs: [],
      listing: (response) => {
        response.write(Buffer.concat([line('# service=git-upload-pack\n'), FLUSH]));
        const some = Buffer.concat(
          Array.from({ length: 1_000 }, (_, index) => line(`${nobody} refs/heads/b${index}\n`)),
        );
        for (let index = 0; index < 1_000; index += 1) response.write(some);
        response.end(FLUSH);
      },
    }),
    code: 'TooLarge',
    says: /16777216/,
  },
  {
    name: 'a listing that is a page',
    make: () => ({ refs: [], listing: (response) => response.end('<!doctype html>') }),
    code: 'Unreachable',
  },
  {
    name: 'a listing that is cut',
    make: () => ({ refs: [], listing: (response) => response.end(line('# service=git-upload-pack\n')) }),
    code: 'Unreachable',
    says: /truncated/,
  },
];

/** The part of docs/hostile-repositories.md that objects and the answers of a server make up. */
export const hostileRepositories: readonly Hostile[] = [...objects, ...servers];
