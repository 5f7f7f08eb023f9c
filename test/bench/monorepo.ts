/** A large repository, written straight into a bare one by `git fast-import`. */
import { spawn } from 'node:child_process';

/** Folders of the repository; each holds as many files. */
export const FOLDERS = 1_000;
/** Files of each folder. */
export const FILES_PER_FOLDER = 50;

/** Path of a file. */
export function pathOf(folder: number, file: number): string {
  return `teams/team-${String(folder).padStart(4, '0')}/config-${String(file).padStart(2, '0')}.yaml`;
}

/** A ConfigMap of some hundred bytes that names its version. */
export function configOf(folder: number, file: number, version: string): string {
  const name = `team-${folder}-${file}`;
  const lines = Array.from({ length: 8 }, (_, index) => `  key-${index}: "value ${folder * file + index}"`);
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  version: "${version}"\n${lines.join('\n')}\n`;
}

/** All files in one commit, and then so many commits that change three files each. */
export async function writeMonorepo(bare: string, commits: number): Promise<void> {
  await fastImport(bare, history(commits));
}

/** One more commit that changes one file. */
export async function commitOne(bare: string, folder: number, version: string): Promise<void> {
  const files: ReadonlyArray<readonly [string, string]> = [[pathOf(folder, 0), configOf(folder, 0, version)]];
  await fastImport(bare, [commit(version, files, 'from refs/heads/main^0\n')]);
}

function* history(commits: number): Generator<string> {
  const all: Array<readonly [string, string]> = [];
  for (let folder = 0; folder < FOLDERS; folder += 1)
    for (let file = 0; file < FILES_PER_FOLDER; file += 1)
      all.push([pathOf(folder, file), configOf(folder, file, 'v0')]);
  yield commit('All files', all, '');
  for (let number = 1; number < commits; number += 1) {
    const changed = [7, 13, 29].map((step): readonly [string, string] => {
      const folder = (number * step) % FOLDERS;
      const file = number % FILES_PER_FOLDER;
      return [pathOf(folder, file), configOf(folder, file, `v${number}`)];
    });
    yield commit(`Change ${number}`, changed, '');
  }
}

let seconds = 1_700_000_000;

function commit(message: string, files: ReadonlyArray<readonly [string, string]>, from: string): string {
  seconds += 60;
  const changes = files.map(([path, text]) => `M 100644 inline ${path}\n${data(text)}`);
  return `commit refs/heads/main\ncommitter Bench <bench@example.com> ${seconds} +0000\n${data(message)}${from}${changes.join('')}\n`;
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

function fastImport(bare: string, parts: Iterable<string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['-C', bare, 'fast-import', '--quiet', '--force'], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    child.on('error', reject);
    child.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`git fast-import ended with ${code}`)),
    );
    void feed(child.stdin, parts);
  });
}

async function feed(stdin: NodeJS.WritableStream, parts: Iterable<string>): Promise<void> {
  for (const part of parts)
    if (!stdin.write(part)) await new Promise<void>((resolve) => void stdin.once('drain', resolve));
  stdin.end();
}
