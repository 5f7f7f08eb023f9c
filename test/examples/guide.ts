/** Whole pages of docs, played from their first block to their last with what stands for git.example.com and the cluster. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { playStep, type Stage, script } from './play.ts';
import { stepsOf } from './readme.ts';

const run = promisify(execFile);

/** What a person works with. */
export interface Desk {
  /** The commands `holdfast` and `kubectl`: lines of a shell that get the words in "$@". */
  readonly holdfast: string;
  readonly kubectl: string;
  readonly kubeconfigPath: string;
  readonly kustomizePath?: string;
  /** Folder of bare repositories, and what makes an address of `NAME.git`. */
  readonly gitRoot: string;
  readonly gitUrl: string;
  /** Where the first block is run; by default in the person's home. */
  readonly folder?: string;
  /** A page with what else is different here: names of images, seconds in place of minutes. */
  adapt(text: string): string;
}

/** Ada in her home, an empty folder, with the desk's commands on the path. */
export async function stageOf(
  page: string,
  home: string,
  desk: Omit<Desk, 'adapt' | 'gitRoot' | 'gitUrl'>,
): Promise<Stage> {
  const bin = join(home, 'bin');
  await mkdir(bin);
  await script(join(bin, 'holdfast'), desk.holdfast);
  await script(join(bin, 'kubectl'), desk.kubectl);
  const person = (role: string) => ({
    [`GIT_${role}_NAME`]: 'Ada',
    [`GIT_${role}_EMAIL`]: 'ada@example.com',
  });
  const env = {
    ...process.env,
    ...person('AUTHOR'),
    ...person('COMMITTER'),
    GIT_CONFIG_NOSYSTEM: '1',
    ...(desk.kustomizePath ? { HOLDFAST_KUSTOMIZE: desk.kustomizePath } : {}),
    HOME: home,
    KUBECONFIG: desk.kubeconfigPath,
    PATH: `${bin}:${process.env.PATH}`,
    COLUMNS: '200',
  };
  return { page, home, folder: desk.folder ?? home, env };
}

/** Plays the blocks of `text`, whose repositories at git.example.com are made first; `page` is its name in messages. */
export async function playPage(page: string, text: string, desk: Desk): Promise<void> {
  const address = /https:\/\/git\.example\.com\/acme\/([\w-]+)\.git/g;
  for (const repository of new Set([...text.matchAll(address)].map(([, name = '']) => name)))
    await makeRepository(join(desk.gitRoot, `${repository}.git`));
  const steps = stepsOf(desk.adapt(text.replaceAll(address, `${desk.gitUrl}/$1.git`)));
  expect(steps.length).toBeGreaterThan(0);
  const home = await mkdtemp(join(tmpdir(), 'holdfast-page-'));
  try {
    const stage = await stageOf(page, home, desk);
    for (const step of steps) await playStep(stage, step);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** A bare repository that anybody may push to. */
export async function makeRepository(folder: string): Promise<void> {
  await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', folder]);
  for (const setting of ['http.receivepack', 'uploadpack.allowAnySHA1InWant'])
    await run('git', ['-C', folder, 'config', setting, 'true']);
}
