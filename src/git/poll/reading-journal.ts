import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep } from '../../api/clock.ts';
import { limits } from '../../api/limits.ts';
import { createSlots } from '../../api/slots.ts';
import { createTurns } from '../../api/turns.ts';
import { GitError } from '../errors.ts';

/** What is being read of a Source. Fetching and rendering count apart: each can end the process by itself. */
export interface ReadingTarget {
  /** `namespace/name` */
  readonly source: string;
  readonly stage: 'fetch' | 'render';
  readonly commit: string;
  /** Another one is another try: the result also depends on the spec of the Source. */
  readonly generation: number;
}

/**
 * Remembers over restarts what was being read when the process died. A commit that ended it twice is skipped for a while, so that one
 * repository cannot block all Sources.
 */
export interface ReadingJournal {
  /**
   * Runs work that is recorded until it ends. Throws GitError ReadingSkipped for what ended the process before, the signal's reason while the work
   * waits for its place, and what `work` throws.
   */
  reading<T>(target: ReadingTarget, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Entry {
  readonly target: ReadingTarget;
  /** Processes that died while it was read. */
  readonly deaths: number;
  /** When the last of them was found dead. */
  readonly diedMs: number;
  /** It is being read. */
  readonly isOpen: boolean;
}

/** Entries that were not read again are forgotten after this time. */
const FORGOTTEN_MS = 24 * 60 * 60 * 1000;

/** Reads what an earlier process left in the folder. Reading continues if the journal cannot be written. */
export function createReadingJournal(folder: string, clock: Clock): ReadingJournal {
  const known = entriesLeft(folder, clock.nowMs());
  const readers = new Map<string, number>();
  const suspects = createTurns(1);
  const rendering = createSlots(RENDERED_PER_NAMESPACE);

  function deathsOf(target: ReadingTarget): number {
    const own = known.get(nameOf(target));
    if (own) return own.deaths;
    // Another commit of a Source that ended the process is tried once.
    return [...known.values()].some(({ target: { source } }) => source === target.source) ? 1 : 0;
  }

  /** Wall clocks jump: a death in the future was one at this moment. */
  function diedOf(target: ReadingTarget): number {
    const name = nameOf(target);
    const entry = known.get(name);
    const diedMs = Math.min(entry?.diedMs ?? Number.POSITIVE_INFINITY, clock.nowMs());
    if (entry) known.set(name, { ...entry, diedMs });
    return diedMs;
  }

  /** Suspects are read one at a time, so that the next death has one cause. */
  async function inTurn<T>({ source }: ReadingTarget, run: () => Promise<T>): Promise<T> {
    const { result } = await suspects(namespaceOf(source), async () => {
      const ended = new AbortController();
      const result = run();
      const end = () => ended.abort();
      result.then(end, end);
      await sleep(clock, ALONE_MS, ended.signal);
      return { result };
    });
    return result;
  }

  async function noted<T>(entry: Entry, work: () => Promise<T>): Promise<T> {
    const name = nameOf(entry.target);
    readers.set(name, (readers.get(name) ?? 0) + 1);
    await write(folder, name, entry).catch(() => undefined);
    try {
      return await work();
    } finally {
      const left = (readers.get(name) ?? 1) - 1;
      if (left > 0) readers.set(name, left);
      else {
        readers.delete(name);
        known.delete(name);
        await rm(join(folder, name), { force: true }).catch(() => undefined);
      }
    }
  }

  return {
    async reading(target, work, signal) {
      const deaths = deathsOf(target);
      const diedMs = diedOf(target);
      // Short at first: two kills for another reason, for instance by draining nodes, may hit the same commit by chance.
      const { firstSkippedReadingMs, skippedReadingMs, readingDeaths } = limits;
      const untilMs =
        diedMs + Math.min(skippedReadingMs, firstSkippedReadingMs * 5 ** Math.max(0, deaths - readingDeaths));
      if (deaths >= limits.readingDeaths && clock.nowMs() < untilMs) throw skipped(target, deaths, untilMs);
      const run = () => noted({ target, deaths, diedMs, isOpen: true }, work);
      if (deaths > 0) return inTurn(target, run);
      if (target.stage === 'fetch') return run();
      const release = await rendering.acquire(namespaceOf(target.source), signal);
      return run().finally(release);
    },
  };
}

/**
 * Commits of one namespace that are rendered at a time. Whatever runs at a time has the same share of the processor, and holds its files in memory: a
 * thousand Sources of one namespace would leave the others a thousandth.
 */
const RENDERED_PER_NAMESPACE = 4;

const namespaceOf = (source: string) => source.split('/', 1)[0] ?? '';

/** A reading that takes longer, as from a slow server, does not keep other suspects waiting. */
const ALONE_MS = 60_000;

function skipped({ stage, commit }: ReadingTarget, deaths: number, untilMs: number): GitError {
  const what = stage === 'fetch' ? 'fetching' : 'rendering';
  return new GitError(
    'ReadingSkipped',
    `${what} commit ${commit.slice(0, 7)} ended the process ${deaths} times, so it is skipped until ${new Date(untilMs).toISOString()}; push a commit with less in it, or change the Source`,
  );
}

/** A hash: nothing of a name or a commit reaches the file system. */
function nameOf({ source, stage, commit, generation }: ReadingTarget): string {
  const text = JSON.stringify([source, stage, commit, generation]);
  return `${createHash('sha256').update(text).digest('hex').slice(0, 40)}.json`;
}

async function write(folder: string, name: string, entry: Entry): Promise<void> {
  const path = join(folder, name);
  await writeFile(`${path}.new`, JSON.stringify(entry));
  await rename(`${path}.new`, path);
}

/** The entries of an earlier process; an open one counts as a death. Files that cannot be read are removed. */
function entriesLeft(folder: string, nowMs: number): Map<string, Entry> {
  const found = new Map<string, Entry>();
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      const entry = entryIn(path, name);
      if (!entry || (!entry.isOpen && nowMs - entry.diedMs > FORGOTTEN_MS)) {
        rmSync(path, { recursive: true, force: true });
        continue;
      }
      const counted = entry.isOpen
        ? { ...entry, deaths: entry.deaths + 1, diedMs: nowMs, isOpen: false }
        : entry;
      found.set(name, counted);
      writeFileSync(`${path}.new`, JSON.stringify(counted));
      renameSync(`${path}.new`, path);
    }
  } catch {
    // An unusable data directory is reported when Git needs it.
  }
  return found;
}

function entryIn(path: string, name: string): Entry | undefined {
  try {
    const entry = JSON.parse(readFileSync(path, 'utf8')) as Entry;
    const isWhole = Number.isFinite(entry.deaths) && Number.isFinite(entry.diedMs);
    return isWhole && nameOf(entry.target) === name ? entry : undefined;
  } catch {
    return undefined;
  }
}
