import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { systemClock } from '../../src/api/clock.ts';
import { connect } from '../../src/server/connection.ts';
import { loggedError } from '../../src/server/process.ts';
import { startGitServer } from '../git-server/git-server.ts';
import { watchCanary } from './canary-watch.ts';
import { playChapters } from './chapters.ts';
import { openClusterStage } from './cluster-stage.ts';
import type { DemoEnvironment, DemoListener, DemoRun, Stage } from './context.ts';
import type { DemoEvent, DemoEventBody, Ended } from './events.ts';
import { createJournal } from './journal.ts';
import type { DemoOptions } from './options.ts';
import { checkOutcome } from './outcome.ts';
import { application, createCommits, type ManifestOptions } from './repository.ts';
import { openSandboxStage } from './sandbox-stage.ts';

// A file of its own in the bundle: all that the command needs is found here.
export { createJsonOutput, createTextOutput } from './output.ts';

/**
 * Plays the story and returns its last event, which was told too. Everything is cleaned up before it returns or throws: InputError when
 * the stage does not fit, the signal's reason when it aborts, else what made the play impossible, with the log's path in the message.
 */
export async function runDemo(options: DemoOptions, audience: DemoListener): Promise<Ended> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-demo-'));
  const logPath = join(folder, 'holdfast.log');
  const destination = pino.destination({ dest: logPath, sync: true });
  const log = pino({ level: 'debug', base: null, serializers: { err: loggedError } }, destination);
  const setting: DemoEnvironment = { options, folder, logPath, log, cleanups: [] };
  let keepsLog = true;
  try {
    const ended = await perform(setting, audience);
    keepsLog = !ended.ok;
    return ended;
  } catch (error) {
    keepsLog = !isBadInput(error) && !audience.signal.aborted;
    if (keepsLog && error instanceof Error) error.message += `\nThe log is ${logPath}`;
    throw error;
  } finally {
    await cleanUp(setting, keepsLog);
    destination.end();
  }
}

/** Of the user's making, and said in full by the message: there is nothing to look up in a log. */
function isBadInput(error: unknown): boolean {
  const { name, kind } = error as { name?: string; kind?: string };
  return name === 'InputError' || kind === 'configuration';
}

/** Every cleanup is tried, also after one failed; the first failure is thrown at the end. */
async function cleanUp({ cleanups, folder }: DemoEnvironment, keepsLog: boolean): Promise<void> {
  const failures: unknown[] = [];
  for (const cleanup of [...cleanups].reverse()) {
    await cleanup().catch((error: unknown) => failures.push(error));
  }
  const left = keepsLog ? ['git', 'data', 'kubeconfig', 'source.yaml'] : [''];
  for (const name of left) await rm(join(folder, name), { recursive: true, force: true });
  if (failures.length > 0) throw failures[0];
}

async function perform(setting: DemoEnvironment, audience: DemoListener): Promise<Ended> {
  const { options } = setting;
  const show = await setStage(setting, audience);
  const { stage, tell } = show;
  const sampled = options.kubeconfig === undefined || options.trafficUrl !== undefined;
  const { description, provider, notes } = stage;
  tell({ type: 'started', stage: description, namespace: options.namespace, provider, sampled });
  for (const message of notes) tell({ type: 'note', message });
  await playChapters(show);
  const ended = await checkOutcome(show);
  // It is the last line: what happens from here on is cleaning up.
  await show.follower.stop();
  tell(ended);
  return ended;
}

/** Cluster, Git server, repository and the eyes on the Canary. What was begun is in `cleanups` at once. */
async function setStage(setting: DemoEnvironment, audience: DemoListener): Promise<DemoRun> {
  const { options, folder, log, cleanups } = setting;
  const { namespace, kubeconfig, version } = options;
  const stage = kubeconfig ? openClusterStage(options, kubeconfig) : await openSandboxStage(options, folder);
  cleanups.push(stage.close);
  const connection = await connect({ kubeconfig: stage.kubeconfig, version }, systemClock, log);
  cleanups.push(async () => {
    await connection.caches.stop();
    await connection.transport.close();
  });
  cleanups.push(() => stage.strike(connection.client));
  await stage.prepare(connection.client);
  const root = join(folder, 'git');
  await mkdir(root);
  const server = await startGitServer({ root });
  cleanups.push(server.close);
  const commits = await createCommits(root, manifestsOf(options, stage));
  const journal = createJournal(commits.releaseOf);
  const narrate = createNarrator(audience);
  const tell = (happening: DemoEventBody) => journal.add(narrate(happening));
  const follower = watchCanary(connection.caches, { namespace, name: application }, tell);
  cleanups.push(follower.stop);
  const show: DemoRun = {
    setting,
    audience,
    stage,
    connection,
    commits,
    gitUrl: `${server.url}/shop.git`,
    gitRequests: server.requests,
    follower,
    journal,
    tell,
    traffic: undefined,
    goodDigest: '',
  };
  cleanups.push(async () => show.traffic?.stop());
  return show;
}

function manifestsOf({ namespace, image, trafficHost }: DemoOptions, stage: Stage): ManifestOptions {
  const { provider, gateway, prometheus, pace } = stage;
  return { namespace, image, provider, gateway, host: trafficHost, prometheus, pace };
}

function createNarrator({ tell }: DemoListener): (happening: DemoEventBody) => DemoEvent {
  const startedMs = performance.now();
  return (happening) => {
    const event: DemoEvent = {
      time: new Date().toISOString(),
      elapsedMs: Math.round(performance.now() - startedMs),
      ...happening,
    };
    tell(event);
    return event;
  };
}
