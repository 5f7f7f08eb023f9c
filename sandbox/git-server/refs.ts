import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const OBJECT_ID = /^[0-9a-f]{40}$/;
const LOCK_TRIES = 100;

/** Ids by full name, in Git's order. Throws where a ref of the repository is no plain id, or there is no repository. */
export function readRefs(repository: string): Map<string, string> {
  // Loose refs first: git moves them to the packed ones, never back.
  const loose = readdirSync(join(repository, 'refs'), { recursive: true, withFileTypes: true }).flatMap(
    (entry): [string, string][] => {
      const file = join(entry.parentPath, entry.name);
      if (!entry.isFile() || file.endsWith('.lock')) return [];
      const value = contentOf(file).trim();
      return value === '' ? [] : [[relative(repository, file), value]];
    },
  );
  const packed = contentOf(join(repository, 'packed-refs'))
    .split('\n')
    .flatMap((line): [string, string][] => {
      const [oid = '', name] = line.split(' ');
      return name?.startsWith('refs/') ? [[name, oid]] : [];
    });
  const refs = [...new Map([...packed, ...loose])];
  if (refs.some(([, value]) => !OBJECT_ID.test(value))) throw new Error(`${repository} has symbolic refs`);
  return new Map(refs.sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** The branch that HEAD names; undefined when it is detached. */
export function headBranch(repository: string): string | undefined {
  return /^ref: (\S+)/.exec(readFileSync(join(repository, 'HEAD'), 'latin1'))?.[1];
}

/** Moves a branch to the commit that `next` makes on top of where it is, as git does: under the lock of its file. */
export async function moveRef(
  repository: string,
  ref: string,
  next: (before: string | undefined) => Promise<string>,
): Promise<string> {
  const file = join(repository, ref);
  const lock = `${file}.lock`;
  mkdirSync(dirname(file), { recursive: true });
  await takeLock(lock);
  try {
    const after = await next(readRefs(repository).get(ref));
    writeFileSync(lock, `${after}\n`);
    renameSync(lock, file);
    return after;
  } catch (error) {
    rmSync(lock, { force: true });
    throw error;
  }
}

/** Somebody who pushes holds it for a moment. */
async function takeLock(lock: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return writeFileSync(lock, '', { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || tries === LOCK_TRIES) throw error;
      await sleep(10);
    }
  }
}

/** Of one of the small files of a repository; empty for one that is not there, or not any more. */
export function contentOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
