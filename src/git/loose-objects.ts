/** Objects of repositories that people work in: loose ones beside packs, and those that are borrowed from other repositories. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { type ObjectFile, openPacks } from './objects.ts';
import { objectId, type StoredObject } from './pack/pack-file.ts';

/** Bytes of one loose object; nothing that a Source reads is as large. */
const maxObjectBytes = 64 * 1024 * 1024;
/** Repositories that borrow from one another, at most. */
const maxAlternates = 10;
const inflated = promisify(inflate);

/** Everything that holds objects for a folder of them: its packs, its loose objects, and the same of the folders that it borrows from. */
export async function openWorkedIn(objects: string): Promise<readonly ObjectFile[]> {
  const folders = [objects];
  for (const folder of folders)
    for (const other of await borrowedBy(folder))
      if (!folders.includes(other) && folders.length <= maxAlternates) folders.push(other);
  const packs = await Promise.all(folders.map(openPacks));
  return [...packs.flat(), ...folders.map(looseIn)];
}

async function borrowedBy(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, 'info', 'alternates'), 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => resolve(folder, line));
}

function looseIn(folder: string): ObjectFile {
  return {
    async read(oid) {
      const path = join(folder, oid.slice(0, 2), oid.slice(2));
      const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
        throw error;
      });
      return bytes && parsed(await inflated(bytes, { maxOutputLength: maxObjectBytes }), oid);
    },
    close: async () => undefined,
  };
}

/** `commit 123`, a zero byte, and the content. Throws RangeError for anything else, and for content of another id. */
function parsed(whole: Buffer, oid: string): StoredObject {
  const end = whole.indexOf(0);
  const [type = '', size] = whole.toString('latin1', 0, Math.max(0, end)).split(' ');
  const object = { type, bytes: whole.subarray(end + 1) };
  if (end < 0 || Number(size) !== object.bytes.length || objectId(object) !== oid)
    throw new RangeError(`object ${oid} is damaged`);
  return object;
}
