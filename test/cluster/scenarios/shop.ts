import { afterAll, beforeAll } from 'vitest';
import { syncAnnotation } from '../../../src/api/annotations.ts';
import type { Canary } from '../../../src/api/canary/canary.ts';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { canaryStatus } from '../../../src/api/canary/summary.ts';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import type { SourceStatus } from '../../../src/api/source/source.ts';
import { type ShopOptions as CommonOptions, filesOfRelease, type ReleaseOptions } from '../../shop.ts';
import { ApiError } from '../bed/api-client.ts';
import { type BedClient, waitFor } from '../bed/client.ts';
import { gateway } from '../bed/gateway.ts';
import type { GitClone, GitRepo } from '../bed/git-repo.ts';
import type { Load } from '../bed/load.ts';
import { createProgram, type Program, source } from './program.ts';
import { followStatus, type StatusTrail } from './status-trail.ts';

/** A moment at which the program is killed: the first time this holds. */
export type Moment = (status: CanaryStatus) => boolean;

/** One application on the bed: repository, namespace, program and load, all its own. */
export interface Shop<Repo extends GitClone = GitRepo> {
  readonly namespace: string;
  readonly repo: Repo;
  readonly program: Program;
  /** Commits a version of the workload, and with it the Canary as `options` have it now; returns the commit. */
  release(version: string, env?: Record<string, string>, options?: ReleaseOptions): Promise<string>;
  startLoad(headers?: Record<string, string>): Load;
  /** As the API server has it now. */
  status(): Promise<CanaryStatus>;
  /** The next status that holds, of all that were written. */
  readonly until: StatusTrail['until'];
  /** Waits until the program has read this commit. */
  untilRead(commit: string): Promise<void>;
  /** Kills and restarts the program at each of these moments, in order; resolves when all have come. */
  killAt(moments: readonly Moment[]): Promise<void>;
  workload(name: 'podinfo' | 'podinfo-primary'): Promise<KubernetesObject | undefined>;
  close(): Promise<void>;
}

/** What a scenario may change. */
export interface ShopOptions extends CommonOptions {
  /** Settings of the program in every release. */
  readonly env?: Readonly<Record<string, string>>;
  /** Environment of Holdfast itself. */
  readonly programEnv?: Readonly<Record<string, string>>;
  /** Of a load. Default 25. */
  readonly requestsPerSecond?: number;
  /** The Gateway of the route, with the Envoy that serves it. Default: the bed's. */
  readonly gateway?: { readonly name: string; readonly namespace: string; readonly envoyUrl: string };
  /** Of a shop that shares its Holdfast: more fields of its Source, which looks at Git each 5 s though nothing was pushed. */
  readonly source?: Readonly<Record<string, unknown>>;
  /** Where its users come in. Default: the Envoy of its Gateway. */
  readonly entryUrl?: string;
}

/** Pods reach Prometheus some seconds after they are ready: until then a check has no answer, and the step waits. */
export const rate = {
  name: 'request-success-rate',
  thresholdRange: { min: 99 },
  interval: '5s',
  onNoData: 'wait' as const,
};

/** Creates the namespace and the repository, and starts the program. */
export async function openShop(bed: BedClient, namespace: string, options: ShopOptions = {}): Promise<Shop> {
  await bed.createNamespace(namespace);
  return openShopOn(bed, { namespace, repo: await bed.createGitRepo(namespace) }, options);
}

/** Shops behind one Holdfast, each in a namespace of its own. */
export interface Shops {
  /** As `openShop`, in one of the namespaces; it may not set the environment of Holdfast, nor kill it. */
  open(namespace: string, options?: ShopOptions): Promise<Shop>;
  /** As `openRunningShop`. */
  openRunning(namespace: string, options?: ShopOptions): Promise<Shop>;
}

/**
 * Shops of one file whose stories do not concern the process of Holdfast: one serves them all, as in a cluster. It starts before the first
 * test of the file, with their namespaces, and ends after the last one.
 */
export function shareHoldfast(bed: BedClient, namespaces: readonly string[]): Shops {
  const program = createProgram(bed, namespaces, undefined);
  beforeAll(async () => {
    await Promise.all(namespaces.map((namespace) => bed.createNamespace(namespace)));
    program.start();
    await program.url();
  });
  afterAll(() => program.stop());
  const open = async (namespace: string, options: ShopOptions = {}) => {
    const repo = toldOfPushes(bed, namespace, await bed.createGitRepo(namespace));
    await bed.apply([source(namespace, repo.url, { interval: '5s', ...options.source })], namespace);
    return shopOf(bed, { namespace, repo, program, end: () => suspendAll(bed, namespace) }, options);
  };
  return {
    open,
    openRunning: async (namespace, options) => untilRunning(await open(namespace, options)),
  };
}

/** So that nothing of a story that is over is put back, and nothing asks Git for it. */
export async function suspendAll(bed: BedClient, namespace: string): Promise<void> {
  await suspend(bed, `/apis/holdfast.dev/v1alpha1/namespaces/${namespace}/sources/shop`);
  await suspend(bed, `/apis/flagger.app/v1beta1/namespaces/${namespace}/canaries/podinfo`);
}

const mergePatch = { 'content-type': 'application/merge-patch+json' };

/** Its Source looks at Git when something was pushed, and hardly by itself: polls of many Sources keep the machine from what is tested. */
function toldOfPushes(bed: BedClient, namespace: string, repo: GitRepo): GitRepo {
  const path = `/apis/holdfast.dev/v1alpha1/namespaces/${namespace}/sources/shop`;
  const tell = async (commit: string) => {
    const metadata = { annotations: { [syncAnnotation]: commit } };
    await bed.api.request('PATCH', path, { metadata }, mergePatch);
    return commit;
  };
  return {
    ...repo,
    commit: (files, message) => repo.commit(files, message).then(tell),
    revert: (commit) => repo.revert(commit).then(tell),
  };
}

async function suspend(bed: BedClient, path: string): Promise<void> {
  const gone = (error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  };
  await bed.api.request('PATCH', path, { spec: { suspend: true } }, mergePatch).catch(gone);
}

/** Starts the program on a repository and a namespace that are there; `source` adds fields to the Source's spec. */
export function openShopOn<Repo extends GitClone>(
  bed: BedClient,
  place: {
    readonly namespace: string;
    readonly repo: Repo;
    readonly source?: Readonly<Record<string, unknown>>;
    /** Default: one that has the rights of install. */
    readonly program?: Program;
  },
  options: ShopOptions = {},
): Shop<Repo> {
  const { namespace, repo } = place;
  const program = place.program ?? createProgram(bed, namespace, repo.url, place.source, options.programEnv);
  program.start();
  return shopOf(bed, { namespace, repo, program, end: () => program.stop() }, options);
}

function shopOf<Repo extends GitClone>(
  bed: BedClient,
  place: Pick<Shop<Repo>, 'namespace' | 'repo' | 'program'> & {
    /** After it nothing of the shop is put back. */
    readonly end: () => Promise<unknown>;
  },
  options: ShopOptions,
): Shop<Repo> {
  const { namespace, repo, program, end } = place;
  const host = `${namespace}.example.com`;
  const status = async () => {
    const canary = (await bed.readObject('Canary', namespace, 'podinfo').catch(() => undefined)) as
      | Canary
      | undefined;
    return canary ? canaryStatus(canary) : {};
  };
  const trail = followStatus(bed, namespace);
  return {
    namespace,
    repo,
    program,
    status,
    until: trail.until,
    release: (version, env = {}, more = {}) => {
      const shop = { host, gateway: options.gateway ?? gateway, rate };
      const settings = { SHUTDOWN_DELAY_MS: '2000', ...options.env, ...env };
      const files = filesOfRelease(shop, options, version, { env: settings, ...more });
      return repo.commit(files, `Release ${version}`);
    },
    startLoad: (headers = {}) =>
      bed.startLoad({
        hostHeader: host,
        requestsPerSecond: options.requestsPerSecond ?? 25,
        headers,
        envoyUrl: options.entryUrl ?? options.gateway?.envoyUrl ?? bed.envoyUrl,
      }),
    untilRead: async (commit) => {
      const source = () => bed.readObject('Source', namespace, 'shop');
      const isRead = async () =>
        ((await source())?.status as SourceStatus | undefined)?.appliedCommit === commit || undefined;
      await waitFor(isRead, {
        timeoutMs: 120_000,
        what: `${namespace}: ${commit} is read`,
        describe: source,
      });
    },
    killAt: async (moments) => {
      const own = trail.fork();
      for (const [index, moment] of moments.entries()) {
        await own.until(`moment ${index + 1} to kill the program`, moment);
        if (index > 0) await program.untilNotReading();
        await program.kill();
        program.start();
      }
    },
    workload: (name) => bed.readObject(options.targetKind ?? 'Deployment', namespace, name),
    close: async () => {
      trail.close();
      await end();
      await bed.clearNamespace(namespace);
      repo.remove();
    },
  };
}

/** A shop whose v1 is initialized and answers every request through Envoy. */
export async function openRunningShop(
  bed: BedClient,
  namespace: string,
  options: ShopOptions = {},
): Promise<Shop> {
  return untilRunning(await openShop(bed, namespace, options));
}

/** Releases v1 and waits until it is initialized and answers. */
export async function untilRunning<Repo extends GitClone>(shop: Shop<Repo>): Promise<Shop<Repo>> {
  await shop.release('v1');
  await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
  await untilAnswered(shop.namespace, () => shop.startLoad());
  return shop;
}

/** Until every request of a load was answered well for a moment, and by these versions alone where they are given: the route is in Envoy. */
export async function untilAnswered(
  what: string,
  start: () => Load,
  versions?: readonly string[],
): Promise<void> {
  const look = async () => {
    const load = start();
    await new Promise((resolve) => setTimeout(resolve, 400));
    const { requests, failed, byVersion } = await load.stop();
    const isWanted = Object.keys(byVersion).every((version) => versions?.includes(version) ?? true);
    return requests > 0 && failed === 0 && isWanted;
  };
  await waitFor(look, { timeoutMs: 120_000, what: `${what} answers through Envoy` });
}
