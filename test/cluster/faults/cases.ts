import { spawn } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../bed/client.ts';
import type { Moment } from '../scenarios/shop.ts';
import type { ProxyFault } from './fault-proxy.ts';
import type { FaultyShop, MachineOptions } from './faulty-shop.ts';

/** Something that goes wrong for a while during a release. */
interface Disturbance {
  /** Absent: before the commit is pushed. */
  readonly at?: Moment;
  readonly seconds: number;
  /** Returns what ends it. */
  begin(shop: FaultyShop): (() => unknown) | Promise<() => unknown>;
}

/** One row of the table of faults. */
export interface FaultCase {
  readonly name: string;
  /** Of namespaces. */
  readonly short: string;
  readonly machine?: MachineOptions;
  readonly disturbances: readonly Disturbance[];
  /** Of the analysis. Default 2s. */
  readonly interval?: string;
  /** Holdfast itself must not have ended. */
  readonly keepsRunning?: boolean;
}

const weight =
  (percent: number): Moment =>
  ({ phase, canaryWeight = 0 }) =>
    phase === 'Progressing' && canaryWeight >= percent;

const promoting: Moment = ({ phase }) => phase === 'Promoting';

const isWrite = (method: string, path: string) => method !== 'GET' && !path.includes('/leases/');
const isLease = (path: string) => path.includes('/leases');

/** Requests of Holdfast to the API server; renewals of the Lease go through. */
function api(at: Moment, seconds: number, fault: ProxyFault, ofWritesAlone = false): Disturbance {
  return {
    at,
    seconds,
    begin: ({ machines }) => {
      for (const machine of machines) {
        machine.api.fault(({ method, path }) =>
          isLease(path) || (ofWritesAlone && !isWrite(method, path)) ? undefined : fault,
        );
        if (fault.kind === 'drop') machine.api.cut();
      }
      return () => machines.map((machine) => machine.api.fault(undefined));
    },
  };
}

/** Every connection to the API server ends once a second; whoever watches has to find out what it missed. */
const cutConnections = (at: Moment, seconds: number): Disturbance => ({
  at,
  seconds,
  begin({ machines }) {
    const timer = setInterval(() => machines.map((machine) => machine.api.cut()), 1_000);
    return () => clearInterval(timer);
  },
});

/** The watches that exist are opened anew, and leave out each third event. */
const hiddenEvents = (at: Moment, seconds: number): Disturbance => ({
  at,
  seconds,
  begin({ machines }) {
    for (const { api: own } of machines) {
      own.fault(({ path }) => (/[?&]watch=(true|1)/.test(path) ? { kind: 'hide', every: 3 } : undefined));
      own.cut();
    }
    return () => {
      for (const { api: own } of machines) {
        own.fault(undefined);
        own.cut();
      }
    };
  },
});

/** Killed at each fifth write, which is carried out or is not; the kubelet starts it again. */
const killedAtWrites = (at: Moment, seconds: number, isCarriedOut: boolean): Disturbance => ({
  at,
  seconds,
  begin({ machines: [{ api: own, program }] }) {
    let writes = 0;
    own.fault(({ method, path }) => {
      if (isLease(path) || !isWrite(method, path)) return undefined;
      writes += 1;
      if (writes % 5 !== 0) return undefined;
      process.kill(program.pid(), 'SIGKILL');
      return { kind: isCarriedOut ? 'lose' : 'drop' };
    });
    return () => own.fault(undefined);
  },
});

/** Killed; the wall clock of what is started in its place steps at once. */
const successorWithAnotherClock = (at: Moment): Disturbance => ({
  at,
  seconds: 4,
  begin({ machines: [{ program }] }) {
    process.kill(program.pid(), 'SIGKILL');
    return () => process.kill(program.pid(), 'SIGUSR2');
  },
});

const git = (
  seconds: number,
  fault: Parameters<FaultyShop['repo']['configure']>[0]['fault'],
  at?: Moment,
): Disturbance => ({
  ...(at ? { at } : {}),
  seconds,
  async begin({ repo }) {
    if (fault) await repo.configure({ fault });
    return () => repo.configure({});
  },
});

const noMetrics = (at: Moment, seconds: number): Disturbance => ({
  at,
  seconds,
  begin({ metrics }) {
    metrics.fault(() => ({ kind: 'drop' }));
    metrics.cut();
    return () => metrics.fault(undefined);
  },
});

const stopped = (at: Moment, seconds: number): Disturbance => ({
  at,
  seconds,
  begin({ machines: [{ program }] }) {
    const pid = program.pid();
    process.kill(pid, 'SIGSTOP');
    return () => process.kill(pid, 'SIGCONT');
  },
});

/** The leader reaches everything but the Lease: for itself it leads on until its time is over, and then another one does. */
const partition = (at: Moment, seconds: number): Disturbance => ({
  at,
  seconds,
  begin({ machines: [{ api: own }] }) {
    own.fault(({ path }) => (isLease(path) ? { kind: 'drop' } : undefined));
    return () => own.fault(undefined);
  },
});

const clockStep = (at: Moment): Disturbance => ({
  at,
  seconds: 0,
  begin({ machines: [{ program }] }) {
    process.kill(program.pid(), 'SIGUSR2');
    return () => undefined;
  },
});

const fullDisk: Disturbance = { seconds: 15, begin: (shop) => shop.fillDisk() };

const lost: ProxyFault = { kind: 'lose' };
const dropped: ProxyFault = { kind: 'drop' };
const slow: ProxyFault = { kind: 'slow', byMs: 1_500 };
const tooMany: ProxyFault = { kind: 'refuse', code: 429, reason: 'TooManyRequests' };
const conflict: ProxyFault = { kind: 'refuse', code: 409, reason: 'Conflict' };
const broken: ProxyFault = { kind: 'refuse', code: 500, reason: 'InternalError' };
const dayMs = 24 * 3_600_000;

/** Several in one release, so that they cost `npm test` little. */
export const short: readonly FaultCase[] = [
  {
    name: 'an API server that answers 429, then is away, then slow',
    short: 'api',
    disturbances: [api(weight(10), 5, tooMany), api(weight(40), 8, dropped), api(weight(70), 5, slow)],
    keepsRunning: true,
  },
  {
    name: 'two leaders under partition',
    short: 'partition',
    machine: { standby: true },
    interval: '6s',
    disturbances: [partition(weight(10), 25)],
  },
  {
    name: 'Git and a full disk, then no metrics and a stop of 20 s, with a heap of 128 MiB',
    short: 'machine',
    machine: { heapMiB: 128, diskMiB: 8, clockStepMs: dayMs },
    disturbances: [
      git(6, { kind: 'truncate', afterBytes: 100 }),
      { ...fullDisk, seconds: 6 },
      clockStep(weight(10)),
      noMetrics(weight(10), 6),
      stopped(weight(40), 20),
    ],
  },
];

/** Each on its own; `npm run faults`. */
export const all: readonly FaultCase[] = [
  { name: 'nothing', short: 'none', disturbances: [], keepsRunning: true },
  {
    name: 'an API server that is away for 15 s',
    short: 'away',
    disturbances: [api(weight(40), 15, dropped)],
    keepsRunning: true,
  },
  { name: 'a slow API server', short: 'slow', disturbances: [api(weight(10), 20, slow)], keepsRunning: true },
  { name: '429 for 15 s', short: 'r429', disturbances: [api(weight(40), 15, tooMany)], keepsRunning: true },
  {
    name: 'conflicts for 15 s',
    short: 'r409',
    disturbances: [api(weight(40), 15, conflict, true)],
    keepsRunning: true,
  },
  { name: '500 for 15 s', short: 'r500', disturbances: [api(weight(10), 15, broken)], keepsRunning: true },
  {
    name: 'a Git server that is down',
    short: 'gitdown',
    disturbances: [git(15, { kind: 'status', status: 503 })],
    keepsRunning: true,
  },
  {
    name: 'a Git server that answers 500',
    short: 'git500',
    disturbances: [git(15, { kind: 'status', status: 500 })],
    keepsRunning: true,
  },
  {
    name: 'a Git server that hangs',
    short: 'githang',
    disturbances: [git(15, { kind: 'hang' })],
    keepsRunning: true,
  },
  {
    name: 'a slow Git server',
    short: 'gitslow',
    disturbances: [git(15, { kind: 'trickle', bytesPerSecond: 50 })],
    keepsRunning: true,
  },
  {
    name: 'packs that are cut off',
    short: 'gitcut',
    disturbances: [git(15, { kind: 'truncate', afterBytes: 100 })],
    keepsRunning: true,
  },
  {
    name: 'Prometheus away for 20 s',
    short: 'prom',
    disturbances: [noMetrics(weight(10), 20)],
    keepsRunning: true,
  },
  {
    name: 'a full disk',
    short: 'disk',
    machine: { diskMiB: 8 },
    disturbances: [fullDisk],
    keepsRunning: true,
  },
  {
    name: 'a heap of 128 MiB',
    short: 'heap',
    machine: { heapMiB: 128 },
    disturbances: [],
    keepsRunning: true,
  },
  { name: 'SIGSTOP for 20 s', short: 'stop', disturbances: [stopped(weight(40), 20)] },
  {
    name: 'a wall clock that goes a day forward',
    short: 'clockon',
    machine: { clockStepMs: dayMs },
    disturbances: [clockStep(weight(40))],
  },
  {
    name: 'a wall clock that goes a day back',
    short: 'clockback',
    machine: { clockStepMs: -dayMs },
    disturbances: [clockStep(weight(40))],
  },
  {
    name: 'two leaders under partition',
    short: 'partition',
    machine: { standby: true },
    interval: '10s',
    disturbances: [partition(weight(10), 40)],
  },
  {
    name: 'writes that are carried out without an answer for 15 s',
    short: 'lost',
    disturbances: [api(weight(10), 15, lost, true)],
    keepsRunning: true,
  },
  {
    name: 'connections that are cut each second',
    short: 'cut',
    disturbances: [cutConnections(weight(10), 15)],
    keepsRunning: true,
  },
  {
    name: 'watches that leave out each third event for 15 s',
    short: 'hidden',
    disturbances: [hiddenEvents(weight(10), 15)],
    keepsRunning: true,
  },
  {
    name: 'a process that is killed before each fifth write',
    short: 'killbefore',
    disturbances: [killedAtWrites(weight(10), 30, false)],
  },
  {
    name: 'a process that is killed after each fifth write',
    short: 'killafter',
    disturbances: [killedAtWrites(weight(10), 30, true)],
  },
  {
    name: 'a process that is killed in the promotion, and a successor whose clock is a day ahead',
    short: 'successor',
    machine: { clockStepMs: dayMs },
    disturbances: [successorWithAnotherClock(promoting)],
  },
  {
    name: 'an API server that is away in the promotion',
    short: 'promoting',
    disturbances: [api(promoting, 15, dropped)],
    keepsRunning: true,
  },
  {
    name: 'a Git server that is away in the promotion',
    short: 'gitlater',
    disturbances: [git(20, { kind: 'status', status: 503 }, promoting)],
    keepsRunning: true,
  },
];

/** Killed, and started again with the same flags; everybody on the bed notices, so that it is played alone. */
export function restartedApiServer(pid: number): FaultCase {
  const begin = () => {
    const [program = '', ...flags] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    const cwd = readlinkSync(`/proc/${pid}/cwd`);
    process.kill(pid, 'SIGKILL');
    return () => spawn(program, flags, { cwd, stdio: 'ignore', detached: true }).unref();
  };
  const disturbances = [{ at: weight(40), seconds: 5, begin }];
  return { name: 'an API server that is killed and started again', short: 'restart', disturbances };
}

/** Lets all of them happen, one after the other where their moments say so. */
export async function disturb(
  shop: FaultyShop,
  { disturbances }: FaultCase,
  release: () => Promise<unknown>,
) {
  const [before, during] = [false, true].map((isLater) =>
    disturbances.filter(({ at }) => (at !== undefined) === isLater),
  ) as [Disturbance[], Disturbance[]];
  const happen = async ({ begin, seconds }: Disturbance, then?: () => Promise<unknown>) => {
    const end = await begin(shop);
    await then?.();
    await sleep(seconds * 1000);
    await end();
  };
  let isReleased = false;
  for (const one of before) {
    await happen(one, isReleased ? undefined : release);
    isReleased = true;
  }
  if (!isReleased) await release();
  const moments = during.map(async (one) => {
    const { at } = one;
    if (!at) return;
    await waitFor(async () => shop.statuses.some(at), {
      timeoutMs: 180_000,
      intervalMs: 50,
      what: `${shop.namespace}: the moment of a fault`,
      describe: shop.status,
    });
    await happen(one);
  });
  return Promise.all(moments);
}
