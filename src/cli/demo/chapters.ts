import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CanaryStatus } from '../../api/canary-status.ts';
import { type App, startApp } from '../../app.ts';
import { DEFAULT_IDENTITY } from '../../git/git-source.ts';
import { sourceFile } from './manifests.ts';
import type { Play } from './performance.ts';
import { watchQuiet } from './quiet.ts';
import { type Chapter, story } from './story.ts';

/** Commits and awaits chapter after chapter. Holdfast starts after the first commit; requests are sampled as soon as it serves. */
export async function playChapters(show: Play): Promise<void> {
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

async function playChapter(show: Play, chapter: Chapter, commit: string, app: App): Promise<void> {
  const { follower, stage, setting, gitRequests, audience } = show;
  const { signal } = audience;
  const over = follower.until(
    (status) => chapter.isOver(status, commit) || hasFailed(chapter, status, commit),
    { awaited: chapter.awaited, timeoutMs: stage.pace.chapterMs, signal },
  );
  const lost = app.lost.then(() => Promise.reject(new Error('the demo lost its Lease to another Holdfast')));
  await Promise.race([over, lost, app.leading.then(() => over)]);
  const status = follower.status();
  if (hasFailed(chapter, status, commit))
    throw new Error(`${chapter.name} was to be good, but: ${status.message}`);
  if (!chapter.isBad) return;
  const { client } = show.connection;
  const { namespace } = setting.options;
  show.tell(await watchQuiet({ client, namespace, provider: stage.provider, gitRequests, signal }));
}

/** A good release that failed will not get better: there is no use in waiting. */
function hasFailed({ isBad }: Chapter, status: CanaryStatus, commit: string): boolean {
  return !isBad && status.phase === 'Failed' && status.lastAppliedCommit === commit;
}

function startTraffic(show: Play): void {
  show.traffic = show.stage.startTraffic();
  if (show.traffic) show.audience.onTraffic?.(show.traffic.totals);
}

/** The real program, in this process: what `holdfast run --source FILE` starts. */
async function startHoldfast({ setting, stage, gitUrl }: Play): Promise<App> {
  const { options, folder, log, cleanups } = setting;
  const path = join(folder, 'source.yaml');
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
      logLevel: 'debug',
      minAnalysisIntervalMs: 1_000,
      meshProvider: stage.provider,
      // A host named here may be on this machine even if the cluster is not: the demo's Git server always is.
      metricsServer: stage.prometheus ?? new URL(gitUrl).origin,
      selectorLabels: ['app'],
      includeLabelPrefixes: [],
    },
    log,
  );
  cleanups.push(() => app.drain());
  return app;
}
