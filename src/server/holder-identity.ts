import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';

/** The identity of this process in an election, and of its certainly ended predecessors. */
interface HolderIdentity {
  /** New for each process: `<host name>_<uuid>`. */
  readonly identity: string;
  /** Of processes that ran here before and are certainly gone, the last one first. */
  readonly former: readonly string[];
}

/** The process that last ran from this data directory, with what shows whether it is gone. */
interface Holder {
  identity: string;
  /** Identities of earlier processes: the last one may have ended before it took over their Lease. */
  former: string[];
  hostname: string;
  pid: number;
  /** Start of the process in clock ticks since boot, where the system shows it (Linux); else empty. */
  started: string;
}

const FILE = 'holder.json';
const maximumFormer = 8;

/**
 * The identity of this process in leader election. A process that was killed leaves its Lease behind, and candidates wait until it
 * expires; but when the same host starts again from the same data directory, and the process that wrote it is certainly gone, its Lease can be
 * taken over without waiting (ADR 10). Each process has a new identity, so that it is never mistaken for an earlier one (ADR 33).
 */
export async function holderIdentity(dataDirectory: string): Promise<HolderIdentity> {
  const file = path.join(dataDirectory, FILE);
  await mkdir(dataDirectory, { recursive: true });
  const before = await readHolder(file);
  const isSuccessor = before?.hostname === hostname() && (await isGone(before));
  const former = isSuccessor ? [before.identity, ...before.former].slice(0, maximumFormer) : [];
  const identity = `${hostname()}_${randomUUID()}`;
  const holder: Holder = {
    identity,
    former,
    hostname: hostname(),
    pid: process.pid,
    started: await startOf(process.pid),
  };
  await writeFile(`${file}.new`, JSON.stringify(holder), { mode: 0o600 });
  await rename(`${file}.new`, file);
  return { identity, former };
}

async function readHolder(file: string): Promise<Holder | undefined> {
  try {
    const holder = JSON.parse(await readFile(file, 'utf8')) as Partial<Holder>;
    const { identity, pid, hostname: host = '', started = '', former = [] } = holder;
    if (typeof identity !== 'string' || typeof pid !== 'number') return undefined;
    const known = Array.isArray(former) ? former.filter((each) => typeof each === 'string') : [];
    return { identity, former: known, pid, hostname: host, started };
  } catch {
    return undefined;
  }
}

/** True when there is no such process, or its number now belongs to one that started at another time; false in doubt. */
async function isGone(holder: Holder): Promise<boolean> {
  if (holder.pid !== process.pid && !exists(holder.pid)) return true;
  const started = await startOf(holder.pid);
  return started !== '' && holder.started !== '' && started !== holder.started;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Field 22 of /proc/PID/stat; the name in field 2 may hold anything, so counting starts after its last parenthesis. */
async function startOf(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
