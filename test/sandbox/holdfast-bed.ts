import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { clone } from '../../sandbox/api-server/json.ts';
import type { LoggedRequest } from '../../sandbox/api-server/server.ts';
import type { PodFailure } from '../../sandbox/controllers/pod-behaviour.ts';
import { git as runGit } from '../../sandbox/git-server/git.test-support.ts';
import { commitFiles, createRepository } from '../../sandbox/git-server/git-repository.ts';
import { type GitServer, startGitServer } from '../../sandbox/git-server/git-server.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { canaryStatus } from '../../src/api/canary/summary.ts';
import { type Clock, systemClock } from '../../src/api/clock.ts';
import { allCrds } from '../../src/api/kinds/crd.ts';
import { type Condition, conditionOf, type KubernetesObject } from '../../src/api/kubernetes.ts';
import { type App, startApp } from '../../src/server/app.ts';
import type { AppOptions } from '../../src/server/options.ts';
import { imageOf } from '../objects.ts';

/** Holdfast over the in-process API server and a real Git server, everything in this process. */
export interface Bed {
  readonly sandbox: Sandbox;
  readonly git: GitServer;
  readonly repository: string;
  readonly kubeconfigPath: string;
  /** How often a Source looks at Git, unless it says so itself. */
  readonly pollInterval: string;
  commit(subject: string, files: Readonly<Record<string, string | null>>): Promise<string>;
  /** Replaces the whole history by one commit, as a force-push does. */
  rewrite(subject: string, files: Readonly<Record<string, string>>): Promise<string>;
  /** Starts a copy of the program. `network`: the clock of its connections and caches, by default the bed's. */
  start(more?: Partial<AppOptions>, log?: Logger, network?: Clock): Promise<App>;
  get(
    apiVersion: string,
    kind: string,
    name: string,
    namespace?: string,
  ): Promise<KubernetesObject | undefined>;
  /** A PATCH is a merge patch, unless its type says otherwise. */
  send(
    method: string,
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<{ status: number; body: unknown }>;
  source(): Promise<KubernetesObject | undefined>;
  canary(name?: string): Promise<KubernetesObject | undefined>;
  close(): Promise<void>;
}

/** Log level of the program under test: set HOLDFAST_TEST_LOG to look inside. */
const logLevel = process.env.HOLDFAST_TEST_LOG ?? 'silent';

/** A machine that many tests share may stand still for longer than a Lease is for. */
const leaseTimes = { leaseMs: 60_000, renewMs: 50_000, retryMs: 2_000 };

/**
 * A bed with our CRDs and the namespace `shop`; nothing of Holdfast runs yet. With a clock, pods, polls and rollouts live in its time, and connections
 * in that of `network`, by default the machine's.
 */
export async function startBed(clock?: Clock, network?: Clock): Promise<Bed> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  const clocks = clock ? { clock, network: network ?? systemClock } : {};
  const sandbox = await startSandbox({ podReadyMs: 50, terminationMs: 20, ...clocks });
  const git = await startGitServer({ root: folder });
  const repository = await createRepository(folder, 'shop');
  const kubeconfigPath = join(folder, 'kubeconfig');
  await writeFile(kubeconfigPath, sandbox.kubeconfig);
  const apps: App[] = [];
  let copies = 0;
  /** What was seen of a stored object, copied once: most looks meet it unchanged, and `canaryStatus` remembers what it unpacked. */
  const looked = new WeakMap<KubernetesObject, KubernetesObject>();

  async function send(method: string, path: string, body?: unknown, contentType?: string) {
    const byDefault = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const init = { method, headers: { 'content-type': contentType ?? byDefault } };
    const answer = await fetch(
      `${sandbox.url}${path}`,
      body === undefined ? init : { ...init, body: JSON.stringify(body) },
    );
    return { status: answer.status, body: (await answer.json()) as unknown };
  }

  /** From the store: what waits looks often, and a request costs more than most of what Holdfast does between two looks. */
  async function get(apiVersion: string, kind: string, name: string, namespace = 'shop') {
    const plural = kind === 'Canary' ? 'canaries' : `${kind.toLowerCase()}s`;
    const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
    const found = sandbox.store.get(`${group}/${plural}`, namespace, name);
    if (!found) return undefined;
    const known = looked.get(found) ?? clone(found);
    looked.set(found, known);
    return { ...known, apiVersion, kind };
  }

  await installCrds(sandbox.store, send);
  await send('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'shop' },
  });
  return {
    sandbox,
    git,
    repository,
    kubeconfigPath,
    pollInterval: '1s',
    commit: (subject, files) => commitFiles(repository, { subject, files }),
    async rewrite(subject, files) {
      const commit = await commitFiles(repository, { subject, files, branch: 'rewritten' });
      await runGit(repository, ['update-ref', 'refs/heads/main', commit]);
      await runGit(repository, ['update-ref', '-d', 'refs/heads/rewritten']);
      return commit;
    },
    async start(more = {}, log = pino({ level: logLevel }), appNetwork = network) {
      copies += 1;
      const dataDirectory = join(folder, `data-${copies}`);
      const app = await startApp(
        { ...optionsFor({ kubeconfig: kubeconfigPath, dataDirectory, sandbox }), leaseTimes, ...more },
        log,
        clock,
        appNetwork,
      );
      apps.push(app);
      return app;
    },
    get,
    send,
    source: () => get('holdfast.dev/v1alpha1', 'Source', 'shop'),
    canary: (name = 'web') => get('flagger.app/v1beta1', 'Canary', name),
    async close() {
      await Promise.all(apps.map((app) => app.drain()));
      await sandbox.close();
      await git.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** As the first sandbox of this process stored them: to take them in costs more than everything else of a bed. Nothing changes what is stored. */
let storedCrds: readonly KubernetesObject[] = [];

/** Our CRDs in a sandbox, established. */
export async function installCrds(
  store: Sandbox['store'],
  send: (method: string, path: string, body: unknown) => Promise<unknown>,
): Promise<void> {
  const key = 'apiextensions.k8s.io/customresourcedefinitions';
  if (storedCrds.length > 0) {
    for (const crd of storedCrds) store.put(key, crd);
    return;
  }
  const crds = allCrds();
  for (const crd of crds) await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  const stored = crds.flatMap(({ metadata }) => store.get(key, undefined, metadata.name) ?? []);
  if (stored.every((crd) => condition(crd, 'Established')?.status === 'True')) storedCrds = stored;
}

/** What the program is started with, over this sandbox. */
export function optionsFor(place: {
  readonly kubeconfig: string;
  readonly dataDirectory: string;
  readonly sandbox: Pick<Sandbox, 'prometheusUrl'>;
}): AppOptions {
  return {
    version: '0.0.0',
    sourceFiles: [],
    kubeconfig: place.kubeconfig,
    namespace: undefined,
    watchNamespaces: [],
    dataDirectory: place.dataDirectory,
    clusterName: 'test',
    gitIdentity: { name: 'Holdfast', email: 'holdfast@example.com' },
    listen: { host: '127.0.0.1', port: 0 },
    logLevel,
    minAnalysisIntervalMs: 100,
    meshProvider: 'kubernetes',
    metricsServer: place.sandbox.prometheusUrl,
    selectorLabels: ['app'],
    includeLabelPrefixes: [],
  };
}

/** Waits until the look gives something; fails with what was seen last. It counts looks, so that a busy machine has longer. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  { seen, timeoutMs = 120_000 }: { seen?: () => Promise<unknown>; timeoutMs?: number } = {},
): Promise<T> {
  const pauseMs = 25;
  for (let looks = 0; looks < timeoutMs / pauseMs; looks += 1) {
    const found = await look();
    if (found) return found;
    await sleep(pauseMs);
  }
  throw new Error(
    `${what}: not seen within ${timeoutMs} ms; last: ${JSON.stringify(await seen?.(), undefined, 1)}`,
  );
}

/** What `look` sees after each write from here on, each value once: also what lasts for a moment, between two looks of `eventually`. */
export function follow<T>(
  { sandbox }: Pick<Bed, 'sandbox'>,
  look: (store: Sandbox['store']) => T,
): ReadonlySet<T> {
  const seen = new Set([look(sandbox.store)]);
  sandbox.store.subscribe(() => void seen.add(look(sandbox.store)));
  return seen;
}

/** The Canary's status as it is stored. */
export function storedStatus(store: Sandbox['store'], name = 'web'): Record<string, unknown> {
  return statusOf(store.get('flagger.app/canaries', 'shop', name));
}

/** The Source of the bed's repository. */
export function sourceFor(bed: Bed, spec: Record<string, unknown> = {}): KubernetesObject {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'shop' },
    spec: { url: `${bed.git.url}/shop.git`, ref: { branch: 'main' }, interval: bed.pollInterval, ...spec },
  };
}

/** Creates the Source in the cluster. */
export async function createSource(bed: Bed, spec: Record<string, unknown> = {}): Promise<void> {
  const { status, body } = await bed.send(
    'POST',
    '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources',
    sourceFor(bed, spec),
  );
  if (status !== 201) throw new Error(`the Source was refused: ${JSON.stringify(body)}`);
}

/** Notes of the events in `shop` with this reason. */
export function notesOf(bed: Bed, reason: string): unknown[] {
  return bed.sandbox.store
    .list('events.k8s.io/events', 'shop')
    .flatMap((event) => (event.reason === reason ? [event.note] : []));
}

/** A ConfigMap as a manifest. */
export function configMap(name: string, data: Record<string, string> = {}, metadata: object = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop', ...metadata },
    data,
  });
}

/** A Deployment as a manifest. */
export function deployment(
  image: string,
  more: { name?: string; replicas?: number; env?: Record<string, string> } = {},
): string {
  const { name = 'web', replicas = 2, env = {} } = more;
  const variables = Object.entries(env).map(([key, value]) => ({ name: key, value }));
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop' },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'app', image, ports: [{ containerPort: 8080 }], env: variables }] },
      },
    },
  });
}

/** A Canary as a manifest: provider kubernetes, three quick iterations. */
export function canary(
  more: { name?: string; spec?: Record<string, unknown>; analysis?: Record<string, unknown> } = {},
): string {
  const { name = 'web', spec = {}, analysis = {} } = more;
  return JSON.stringify({
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name, namespace: 'shop' },
    spec: {
      provider: 'kubernetes',
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      service: { port: 80, targetPort: 8080 },
      progressDeadlineSeconds: 3,
      analysis: { interval: '1s', threshold: 2, iterations: 2, ...analysis },
      postPromotion: { interval: '300ms', successThreshold: 1 },
      ...spec,
    },
  });
}

/** What a Canary's spec says for a route of the Gateway API, for `canary({ spec })`. */
export const onGateway = {
  provider: 'gatewayapi:v1',
  service: { port: 80, targetPort: 8080, gatewayRefs: [{ name: 'gateway', namespace: 'gateways' }] },
};

/** The status of an object as a record; the whole one of a Canary, not as it is stored. */
export function statusOf(object: KubernetesObject | undefined): Record<string, unknown> {
  return object ? canaryStatus(object) : {};
}

/** A condition of an object's status. */
export function condition(object: KubernetesObject | undefined, type: string): Condition | undefined {
  return object && conditionOf(canaryStatus(object), type);
}

/** As `eventually`; fails with the statuses of the Canary `web` and of the Source. */
export function untilSeen<T>(bed: Bed, what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const seen = async () => ({ canary: statusOf(await bed.canary()), source: statusOf(await bed.source()) });
  return eventually(what, look, { seen });
}

/** Waits for a phase of the Canary `web`. */
export function waitForPhase(bed: Bed, wanted: string): Promise<unknown> {
  return untilSeen(bed, `phase ${wanted}`, async () => statusOf(await bed.canary()).phase === wanted);
}

/** The same with no release under way. */
export function untilAtRest(bed: Bed, phase: string): Promise<unknown> {
  return untilSeen(bed, `${phase} with no release under way`, async () => {
    const status = statusOf(await bed.canary());
    return status.phase === phase && status.run === undefined;
  });
}

/** Creates the Source and starts the program, which has initialized the Canary `web` then. */
export async function runUntilInitialized(
  bed: Bed,
  spec: Record<string, unknown> = {},
  ...start: Parameters<Bed['start']>
): Promise<App> {
  await createSource(bed, spec);
  const app = await bed.start(...start);
  await waitForPhase(bed, 'Initialized');
  return app;
}

/** From now on pods with this image, and a name that begins so, fail; the returned function ends that. */
export function failPods(
  { sandbox }: Bed,
  image: string,
  failure: PodFailure = 'ImagePullBackOff',
  beginning = '',
): () => void {
  return sandbox.behaviour.rule((pod) =>
    pod.metadata.name.startsWith(beginning) && imageOf({ spec: { template: pod } }) === image
      ? { failure }
      : undefined,
  );
}

/** The same for pods of the primary of `web`. */
export function failPrimary(bed: Bed, image: string, failure?: PodFailure): () => void {
  return failPods(bed, image, failure, 'web-primary-');
}

/** Uids of the pods in `shop` with such a name, in order. */
export function podUids({ sandbox }: Pick<Bed, 'sandbox'>, name: RegExp): string[] {
  const pods = sandbox.store.list('/pods', 'shop').filter(({ metadata }) => name.test(metadata.name));
  return pods.map(({ metadata }) => metadata.uid ?? '').sort();
}

/** The image of the primary of an application of the bed. */
export async function primaryImage(
  bed: Pick<Bed, 'get'>,
  app = 'web',
  kind = 'Deployment',
): Promise<string | undefined> {
  return imageOf(await bed.get('apps/v1', kind, `${app}-primary`));
}

/** A request an idle Holdfast would not make: anything of ours but watches and the Lease. */
export function isNotIdle({ method, path, query, userAgent }: LoggedRequest): boolean {
  if (!userAgent.startsWith('holdfast/')) return false;
  return !(method === 'GET' && query.includes('watch=true')) && !path.includes('/leases');
}

/** Until Holdfast asks nothing of the API server for so long; what was under way may end. */
export async function untilIdle(
  bed: Bed & { pass(durationMs: number): Promise<void> },
  durationMs: number,
): Promise<void> {
  let asked: LoggedRequest[] = [];
  for (let looks = 0; looks < 10; looks += 1) {
    bed.sandbox.requests.clear();
    await bed.pass(durationMs);
    asked = bed.sandbox.requests.all().filter(isNotIdle);
    if (asked.length === 0) return;
  }
  throw new Error(`it asks the API server again and again: ${JSON.stringify(asked, undefined, 1)}`);
}
