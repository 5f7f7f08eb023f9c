/** Reads hostile input in a process of its own, so that what it takes can be measured, and what it writes can be seen. */
import { readFileSync, writeFileSync } from 'node:fs';
import { systemClock } from '../../src/api/clock.ts';
import { createGitSource } from '../../src/git/poll/git-source.ts';
import { createStores } from '../../src/git/store/stores.ts';
import type { GitReference } from '../../src/git/types.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { hostileFiles } from '../../src/render/hostile.test-support.ts';
import { renderPlain } from '../../src/render/render.ts';

/** What to read. */
export type Task =
  | {
      readonly kind: 'git';
      readonly url: string;
      readonly dataDir: string;
      readonly name: string;
      readonly reference?: GitReference;
      readonly path?: string;
    }
  | { readonly kind: 'yaml'; readonly name: string }
  /** All at the same time; what they end in does not matter. */
  | { readonly kind: 'together'; readonly tasks: readonly Task[] };

/** What came of it and what it took. */
export interface Outcome {
  /** Why nothing was read; undefined: it was. */
  readonly error?: { readonly code: string; readonly message: string };
  /** Paths of the files that were read, or names of the objects. */
  readonly read: readonly string[];
  /** Problems of single files, as they are told. */
  readonly problems: readonly string[];
  readonly cpuSeconds: number;
  readonly growthBytes: number;
  /** The most memory that the whole process took. */
  readonly peakBytes: number;
}

const client = createHttpClient({ allowLoopback: true });

async function readGit(task: Task & { kind: 'git' }) {
  const { signal } = new AbortController();
  const stores = createStores({ dataDir: task.dataDir, clock: systemClock });
  const source = createGitSource({
    ...{ namespace: 'delivery', name: task.name, url: task.url, stores, client },
    reference: task.reference ?? { branch: 'main' },
    // None of them is to end by time, however busy the machine is.
    limits: { totalTimeoutMs: 600_000, idleTimeoutMs: 300_000 },
  });
  const { head } = await source.poll(signal);
  const { files, problems } = await source.readFiles(head.commit, task.path ?? '', { signal });
  return { read: files.map(({ path }) => path), problems: problems.map(({ message }) => message) };
}

function readYaml({ name }: Task & { kind: 'yaml' }) {
  const content = hostileFiles[name]?.();
  if (content === undefined) throw new Error(`there is no hostile file ${name}`);
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const { objects, problems } = renderPlain([{ path: 'a.yaml', bytes }]);
  return {
    read: objects.map(({ object }) => object.metadata.name),
    problems: problems.map(({ file, line, message }) => `${file}:${line}: ${message}`),
  };
}

async function readTask(task: Task): Promise<{ read: string[]; problems: string[] }> {
  if (task.kind === 'git') return readGit(task);
  if (task.kind === 'yaml') return readYaml(task);
  await Promise.allSettled(task.tasks.map(readTask));
  return { read: [], problems: [] };
}

/** Linux counts the peak since this was last written; elsewhere growth is not known, and 0. */
function memory(field: 'VmRSS' | 'VmHWM'): number {
  try {
    const [, kib = '0'] =
      new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return Number(kib) * 1024;
  } catch {
    return 0;
  }
}

function resetPeak(): number {
  (globalThis as { gc?: () => void }).gc?.();
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    return Number.POSITIVE_INFINITY;
  }
  return memory('VmRSS');
}

/** What this process takes by itself; what one task leaves behind counts against the next ones. */
const atStart = resetPeak();

process.on('message', async (task: Task) => {
  resetPeak();
  const started = process.cpuUsage();
  let outcome: Pick<Outcome, 'error' | 'read' | 'problems'> = { read: [], problems: [] };
  try {
    outcome = await readTask(task);
  } catch (error) {
    const { code = 'none', message } = error as { code?: string; message: string };
    outcome = { ...outcome, error: { code, message } };
  }
  const { user, system } = process.cpuUsage(started);
  process.send?.({
    ...outcome,
    cpuSeconds: (user + system) / 1_000_000,
    growthBytes: Math.max(0, memory('VmHWM') - atStart),
    peakBytes: memory('VmHWM'),
  } satisfies Outcome);
});
