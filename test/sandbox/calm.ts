import { setImmediate as turn } from 'node:timers/promises';

/** So many turns of the event loop without anything under way: what was sent over sockets has arrived. */
const calmTurns = 4;
/** What keeps the process busy this long in real time is not waited for; after that it may have this much of a processor yet, on a busy machine. */
const patienceMs = 10_000;
const patienceProcessorMs = 3_000;

/** Resolves when nothing is under way in this process, so that virtual time may go on; `isBusy` says what its servers still have to answer. */
export async function untilCalm(isBusy: () => boolean): Promise<void> {
  const endMs = performance.now() + patienceMs;
  let lateSince: NodeJS.CpuUsage | undefined;
  const isPatient = () => {
    if (performance.now() < endMs) return true;
    lateSince ??= process.cpuUsage();
    return process.cpuUsage(lateSince).user < patienceProcessorMs * 1_000;
  };
  for (let calmFor = 0; calmFor < calmTurns && isPatient(); ) {
    await turn();
    // What is asked of the system takes more than a turn, and asking for it is dear: every second turn is enough.
    const isCalm = !isBusy() && (calmFor % 2 === 0 || !isWorking());
    calmFor = isCalm ? calmFor + 1 : 0;
  }
}

/** Files, names and processes that somebody in this process waits for; sockets are waited for by the servers' counts. */
const work: ReadonlySet<string> = new Set(
  'FSReqCallback FSReqPromise CloseReq GetAddrInfoReqWrap ProcessWrap'.split(' '),
);

function isWorking(): boolean {
  return process.getActiveResourcesInfo().some((name) => work.has(name));
}
