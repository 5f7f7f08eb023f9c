import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { systemClock } from '../../api/clock.ts';
import { type Connection, connect } from '../../app/connection.ts';
import { loggedError } from '../../app/log.ts';
import { type App, startApp } from '../../app.ts';
import { startGitServer } from '../../sandbox/git-server.ts';
import { openClusterStage } from './cluster-stage.ts';
import type { DemoEvent, Ended, Happening } from './events.ts';
import { type Follower, followCanary } from './follow.ts';
import { createJournal, type Journal } from './journal.ts';
import { application, type ManifestOptions, sourceFile } from './manifests.ts';
import type { DemoOptions } from './options.ts';
import { watchQuiet } from './quiet.ts';
import { type CommitLog, createCommits } from './repository.ts';
import { openSandboxStage } from './sandbox-stage.ts';
import type { Stage, Traffic } from './stage.ts';
import { type Chapter, story } from './story.ts';
import { differencesOf, type Expectation } from './verdict.ts';
import { readWorld } from './world.ts';

/** Everything the play works with. */
interface Play {
  readonly options: DemoOptions;
  readonly stage: Stage;
  readonly connection: Connection;
  readonly commits: CommitLog;
  readonly gitRequests: () => number;
  readonly follower: Follower;
  readonly journal: Journal;
  readonly tell: (happening: Happening) => void;
  readonly signal: AbortSignal;
  traffic: Traffic | undefined;
}

/** Where the demo tells what happens. */
export interface Audience {
  readonly tell: (event: DemoEvent) => void;
  /** Requests sampled so far, for a live line. */
  readonly onTraffic?: (totals: () => { readonly requests: number; readonly failed: number }) => void;
  /** Aborting ends the play; everything is still cleaned up. */
  readonly signal: AbortSignal;
}

type Cleanup = () => Promise<void>;

/**
 * Plays the story and returns its last event, which was told too. Throws InputError when the stage does not fit, and whatever made the
 * play impossible; the log's path is in the event `ended` or in the error's message.
 */
export async function play(options: DemoOptions, audience: Audience): Promise<Ended> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-demo-'));
  const logPath = join(folder, 'holdfast.log');
  const destination = pino.destination({ dest: logPath, sync: true });
  const log = pino({ level: 'debug', base: null, serializers: { err: loggedError } }, destination);
  const cleanups: Cleanup[] = [];
  let keepsLog = true;
  try {
    const ended = await perform({ options, folder, logPath, log, cleanups }, audience);
    keepsLog = !ended.ok;
    return ended;
  } catch (error) {
    keepsLog = !(error instanceof Error && error.name === 'InputError') && !audience.signal.aborted;
    if (keepsLog && error instanceof Error) error.message += `\nthe log is ${logPath}`;
    throw error;
  } finally {
    try {
      for (const cleanup of cleanups.reverse()) await cleanup();
    } finally {
      destination.end();
      const rubbish = keepsLog
        ? ['git', 'data', 'kubeconfig', 'source.yaml'].map((name) => join(folder, name))
        : [folder];
      for (const path of rubbish) await rm(path, { recursive: true, force: true });
    }
  }
}

interface Setting {
  readonly options: DemoOptions;
  readonly folder: string;
  readonly logPath: string;
  readonly log: Logger;
  /** Done in reverse order, whatever happens. */
  readonly cleanups: Cleanup[];
}

async function perform(setting: Setting, audience: Audience): Promise<Ended> {
  const { options, folder, log, cleanups } = setting;
  const stage = options.kubeconfig
    ? openClusterStage(options, options.kubeconfig)
    : await openSandboxStage(options, folder);
  cleanups.push(stage.close);
  const connection = await connect(
    { kubeconfig: stage.kubeconfig, version: options.version },
    systemClock,
    log,
  );
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
  const manifests = manifestsOf(options, stage);
  const commits = await createCommits(root, manifests);
  const tell = narrator(audience);
  const journal = createJournal(commits.nameOf);
  const tellAll = (happening: Happening) => journal.add(tell(happening));
  const follower = followCanary(
    connection.caches,
    { namespace: options.namespace, name: application },
    tellAll,
  );
  cleanups.push(follower.stop);
  const show: Play = {
    options,
    stage,
    connection,
    commits,
    gitRequests: server.requests,
    follower,
    journal,
    tell: tellAll,
    signal: audience.signal,
    traffic: undefined,
  };
  cleanups.push(async () => show.traffic?.stop());
  const { namespace } = options;
  tellAll({
    type: 'started',
    stage: stage.description,
    namespace,
    provider: stage.provider,
    sampled: !options.kubeconfig || options.trafficUrl !== undefined,
  });
  for (const message of stage.notes) tellAll({ type: 'note', message });
  await playChapters(show, setting, `${server.url}/shop.git`, audience);
  const ended = await judge(show, setting.logPath);
  tellAll(ended);
  return ended;
}

function narrator(audience: Audience): (happening: Happening) => DemoEvent {
  const startedMs = performance.now();
  return (happening) => {
    const event: DemoEvent = {
      time: new Date().toISOString(),
      elapsedMs: Math.round(performance.now() - startedMs),
      ...happening,
    };
    audience.tell(event);
    return event;
  };
}

function manifestsOf({ namespace, image, trafficHost }: DemoOptions, stage: Stage): ManifestOptions {
  const { provider, gateway, prometheus, pace } = stage;
  return { namespace, image, provider, gateway, host: trafficHost, prometheus, pace };
}

async function playChapters(show: Play, setting: Setting, gitUrl: string, audience: Audience): Promise<void> {
  let app: App | undefined;
  for (const chapter of story) {
    const commit = await show.commits.add(chapter);
    show.tell({
      type: 'commit',
      name: chapter.name,
      commit,
      subject: chapter.subject,
      intent: chapter.intent,
    });
    app ??= await startHoldfast(show, setting, gitUrl);
    await playChapter(show, chapter, commit, app);
    if (show.traffic) continue;
    show.traffic = show.stage.startTraffic();
    if (show.traffic) audience.onTraffic?.(show.traffic.totals);
  }
}

async function playChapter(show: Play, chapter: Chapter, commit: string, app: App): Promise<void> {
  const { follower, stage, options, signal } = show;
  const over = follower.until((status) => chapter.isOver(status, commit), {
    awaited: chapter.awaited,
    timeoutMs: stage.pace.chapterMs,
    signal,
  });
  const lost = app.lost.then(() => Promise.reject(new Error('another Holdfast took the Lease of the demo')));
  await Promise.race([over, lost, app.leading.then(() => over)]);
  if (!chapter.thenStays) return;
  const { namespace } = options;
  const { client } = show.connection;
  show.tell(
    await watchQuiet({ client, namespace, provider: stage.provider, gitRequests: show.gitRequests, signal }),
  );
}

/** The real program, in this process: what `holdfast run --source FILE` starts. */
async function startHoldfast({ options, stage }: Play, setting: Setting, gitUrl: string): Promise<App> {
  const path = join(setting.folder, 'source.yaml');
  await writeFile(path, sourceFile(options.namespace, gitUrl));
  const app = await startApp(
    {
      version: options.version,
      sourceFiles: [path],
      kubeconfig: stage.kubeconfig,
      namespace: options.namespace,
      watchNamespaces: [],
      dataDirectory: join(setting.folder, 'data'),
      listen: { host: '127.0.0.1', port: 0 },
      logLevel: 'debug',
      minAnalysisIntervalMs: 1_000,
      meshProvider: stage.provider,
      // Hosts named here may be on this machine: the demo's Git server is, wherever the cluster may be.
      metricsServer: stage.prometheus ?? new URL(gitUrl).origin,
      selectorLabels: ['app'],
      includeLabelPrefixes: [],
    },
    setting.log,
  );
  setting.cleanups.push(() => app.drain());
  return app;
}

/** Longest time until what is still ending has ended: old pods, the last status. */
const settleMs = 15_000;

async function judge(show: Play, logPath: string): Promise<Ended> {
  const { journal, stage, options, connection } = show;
  const expected = expectationOf(show);
  const look = async () =>
    differencesOf(await readWorld(connection.client, options.namespace, stage.provider), expected);
  const deadlineMs = Date.now() + settleMs;
  let differences = await look();
  while (differences.length > 0 && Date.now() < deadlineMs) {
    await sleep(500, undefined, { signal: show.signal });
    differences = await look();
  }
  const totals = await stopTraffic(show);
  if (totals && (totals.failed > 0 || totals.requests === 0))
    differences.push({
      what: 'sampled requests',
      expected: '0 failed',
      found: `${totals.failed} failed of ${totals.requests}`,
    });
  differences.push(...journal.differences());
  const ok = differences.length === 0;
  return {
    type: 'ended',
    ok,
    differences,
    promoted: journal.promoted,
    reverted: journal.reverted,
    revertReason: journal.revertReason,
    failureToGoodMs: journal.failureToGoodMs,
    heldMs: journal.heldMs,
    requests: totals?.requests ?? null,
    failedRequests: totals?.failed ?? null,
    log: ok ? '' : logPath,
  };
}

async function stopTraffic({ traffic }: Play): Promise<{ requests: number; failed: number } | undefined> {
  await traffic?.stop();
  return traffic?.totals();
}

function expectationOf({ commits, options }: Play): Expectation {
  return {
    image: options.image,
    goodEnv: story.find(({ name }) => name === 'v2')?.env ?? {},
    goodCommit: commits.commitOf('v2'),
    badVersion: 'v3',
    badCommit: commits.commitOf('v3'),
    headCommit: commits.commitOf('revert'),
  };
}
