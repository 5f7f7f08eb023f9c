import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { ClusterClient } from '../../src/cluster/client/client.ts';
import { DEFAULT_IDENTITY } from '../../src/git/poll/git-source.ts';
import { type App, startApp } from '../../src/server/app.ts';
import type { DemoRun } from './context.ts';
import type { Quiet } from './events.ts';
import { sourceFile } from './repository.ts';
import { type Chapter, story } from './story.ts';

/** Commits and awaits chapter after chapter. Holdfast starts after the first commit; requests are sampled as soon as it serves. */
export async function playChapters(show: DemoRun): Promise<void> {
  let app: App | undefined;
  for (const chapter of story) {
    const commit = await show.commits.add(chapter);
    const { name, subject, intent } = chapter;
    show.tell({ type: 'commit', name, commit, subject, intent });
    app ??= await startHoldfast(show);
    await playChapter(show, chapter, commit, app);
    if (name === 'v2') show.goodDigest = show.follower.status().lastKnownGood?.digest ?? '';
    if (name === 'v1') startTraffic(show);
  }
}

async function playChapter(show: DemoRun, chapter: Chapter, commit: string, app: App): Promise<void> {
  const { follower, stage, setting, gitRequests, audience } = show;
  const { signal } = audience;
  const over = follower.until(
    (status) => chapter.isOver(status, commit) || hasFailed(chapter, status, commit),
    { awaited: chapter.awaited, timeoutMs: stage.pace.chapterMs, signal },
  );
  const why =
    'the demo could not renew its Lease: this machine is too busy, or another Holdfast has it; run it again';
  const lost = app.lost.then(() => Promise.reject(new Error(why)));
  await Promise.race([over, lost, app.leading.then(() => over)]);
  const status = follower.status();
  if (hasFailed(chapter, status, commit))
    throw new Error(`${chapter.name} was expected to succeed, but: ${status.message}`);
  if (!chapter.isBad) return;
  const { client } = show.connection;
  const { namespace } = setting.options;
  show.tell(await watchForWrites({ client, namespace, provider: stage.provider, gitRequests, signal }));
}

/** A good release that failed will not get better: there is no use in waiting. */
function hasFailed({ isBad }: Chapter, status: CanaryStatus, commit: string): boolean {
  return !isBad && status.phase === 'Failed' && status.lastAppliedCommit === commit;
}

function startTraffic(show: DemoRun): void {
  show.traffic = show.stage.startTraffic();
  if (show.traffic) show.audience.onTraffic?.(show.traffic.totals);
}

/** Nobody else wants the Lease of the demo's own namespace: a laptop that stands still for a while, or a busy cluster, goes on afterwards. */
const leaseTimes = { leaseMs: 120_000, renewMs: 110_000, retryMs: 2_000 };

/** The real program, in this process: what `holdfast run --source FILE` starts. */
async function startHoldfast({ setting, stage, gitUrl, tell }: DemoRun): Promise<App> {
  const { options, folder, log, cleanups } = setting;
  const path = join(folder, 'source.yaml');
  const key = randomBytes(16).toString('hex');
  await writeFile(path, sourceFile(options.namespace, gitUrl));
  const app = await startApp(
    {
      version: options.version,
      sourceFiles: [path],
      kubeconfig: stage.kubeconfig,
      namespace: options.namespace,
      watchNamespaces: [],
      dataDirectory: join(folder, 'data'),
      clusterName: 'demo',
      gitIdentity: DEFAULT_IDENTITY,
      listen: { host: '127.0.0.1', port: 0 },
      dashboard: { listen: { host: '127.0.0.1', port: 0 }, key },
      logLevel: 'debug',
      minAnalysisIntervalMs: 1_000,
      meshProvider: stage.provider,
      // A host named here may be on this machine even if the cluster is not: the demo's Git server always is.
      metricsServer: stage.prometheus ?? new URL(gitUrl).origin,
      selectorLabels: ['app'],
      includeLabelPrefixes: [],
      leaseTimes,
    },
    log,
  );
  cleanups.push(() => app.drain());
  tell({
    type: 'note',
    message: `dashboard, for a browser on this machine: ${app.dashboardUrl}/#token=${key}`,
  });
  return app;
}

/** Everything that Holdfast writes here, but its Lease. Workloads and routes count by generation: others write their status. */
const watched: ReadonlyArray<{ apiVersion: string; kind: string; by: 'generation' | 'resourceVersion' }> = [
  { apiVersion: 'apps/v1', kind: 'Deployment', by: 'generation' },
  { apiVersion: 'v1', kind: 'Service', by: 'resourceVersion' },
  { apiVersion: 'v1', kind: 'Secret', by: 'resourceVersion' },
  { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', by: 'resourceVersion' },
  { apiVersion: 'flagger.app/v1beta1', kind: 'MetricTemplate', by: 'resourceVersion' },
  { apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', by: 'resourceVersion' },
];
const routes: Readonly<Record<string, { apiVersion: string; kind: string; by: 'generation' }>> = {
  'gatewayapi:v1': { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', by: 'generation' },
  contour: { apiVersion: 'projectcontour.io/v1', kind: 'HTTPProxy', by: 'generation' },
};

/** What is looked at. */
interface QuietOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly provider: string;
  /** Requests that the Git server has answered so far. */
  readonly gitRequests: () => number;
  readonly signal: AbortSignal;
}

const settleMs = 20_000;
const lookMs = 500;
const looksUnchanged = 4;
/** Three polls of Git, which are two requests each. */
const requestsWatched = 6;
const watchMs = 15_000;

/** Watches head stay bad for three polls and says what was written meanwhile. The last writes of the revert itself may settle before. */
async function watchForWrites(options: QuietOptions): Promise<Quiet> {
  const { gitRequests, signal } = options;
  const before = await settled(options);
  const startedMs = Date.now();
  const asked = gitRequests();
  while (gitRequests() - asked < requestsWatched && Date.now() - startedMs < watchMs)
    await sleep(lookMs, undefined, { signal });
  const after = await versions(options);
  return {
    type: 'quiet',
    gitRequests: gitRequests() - asked,
    seconds: Math.round((Date.now() - startedMs) / 1000),
    written: [...new Set([...before.keys(), ...after.keys()])].filter(
      (key) => before.get(key) !== after.get(key),
    ),
  };
}

/** As it is after some looks in a row without a change: on a busy machine the last writes are further apart than two of them. */
async function settled(options: QuietOptions): Promise<Map<string, string>> {
  const deadlineMs = Date.now() + settleMs;
  let seen = await versions(options);
  for (let unchanged = 0; unchanged < looksUnchanged && Date.now() < deadlineMs; ) {
    await sleep(lookMs, undefined, { signal: options.signal });
    const now = await versions(options);
    unchanged = JSON.stringify([...now]) === JSON.stringify([...seen]) ? unchanged + 1 : 0;
    seen = now;
  }
  return seen;
}

async function versions({ client, namespace, provider, signal }: QuietOptions): Promise<Map<string, string>> {
  const route = Object.entries(routes).find(([name]) => provider.startsWith(name))?.[1];
  const kinds = route ? [...watched, route] : watched;
  const lists = await Promise.all(
    kinds.map(async ({ apiVersion, kind, by }) => {
      const { items } = await client.list(apiVersion, kind, { namespace, signal });
      return items.map((object): [string, string] => [
        `${kind} ${object.metadata.name}`,
        versionOf(object, by),
      ]);
    }),
  );
  return new Map(lists.flat());
}

function versionOf({ metadata }: KubernetesObject, by: 'generation' | 'resourceVersion'): string {
  return `${metadata.uid} ${by === 'generation' ? metadata.generation : metadata.resourceVersion}`;
}
