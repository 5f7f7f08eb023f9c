/** The composition root: the only place that knows every adapter. */
import type { Logger } from 'pino';
import { versionAnnotation } from '../api/annotations.ts';
import { type Clock, sleep } from '../api/clock.ts';
import { apiVersionOf, type KindName } from '../api/kinds/kinds.ts';
import type { Source } from '../api/source/source.ts';
import type { ClusterClient } from '../cluster/client/client.ts';
import { type Election, startElection } from '../cluster/election/election.ts';
import type { Cluster, Log, WatchedSet } from '../contracts/cluster.ts';
import { createHttpClient } from '../http/client.ts';
import {
  createClusterPort,
  createDryRun,
  createExternalMetric,
  createOpenWatch,
  createShadowPort,
  openKind,
} from './cluster.ts';
import { loadClusterKey } from './cluster-key.ts';
import { connect } from './connection.ts';
import { startWeb } from './endpoints.ts';
import { createEngine, type Engine } from './engine.ts';
import { holderIdentity } from './holder-identity.ts';
import type { MetricsSink } from './http/metrics-sink.ts';
import { type AppOptions, namespacesOf } from './options.ts';
import { addressPolicy, credentialHosts, findApiServer } from './outbound.ts';
import { createMemoryTrimmer, createSteadyClock } from './process.ts';
import { inNamespace, readSourceFiles, rememberFileSources } from './source-files.ts';
import { createWriteGate, type WriteGate, whileLeading } from './write-gate.ts';

/** A running Holdfast. */
export interface App {
  /** Where health, metrics and webhooks are served. */
  readonly url: string;
  /** Where nothing but health is served; undefined: nowhere. */
  readonly probeUrl: string | undefined;
  /** Where the dashboard is served; undefined: nowhere. */
  readonly dashboardUrl: string | undefined;
  /** Resolves when it acts: it holds the Lease and follows Git. */
  readonly leading: Promise<void>;
  /** Resolves when it may not act any more although nobody asked it to stop; the process should end then. */
  readonly lost: Promise<void>;
  /** Finishes the actions under way, hands the Lease back and closes everything. */
  drain(): Promise<void>;
}

/** Flags and problems that several parts look at. */
interface State {
  engine: Engine | undefined;
  /** Canaries of ours, also in a copy that waits for the Lease; undefined until their kind is served. */
  canaries: WatchedSet | undefined;
  problem: string | undefined;
}

/**
 * Starts Holdfast. Health endpoints run at once; everything else waits for our kinds and for the Lease, so that a second copy does nothing.
 * `clock` is the time of polls and rollouts, and `network` that of watches, requests and the Lease, for tests. Throws InputError for bad files, `configuration` errors for a bad kubeconfig, and the system's error when the port is taken.
 */
export async function startApp(
  options: AppOptions,
  log: Logger,
  clock: Clock = createSteadyClock(),
  network?: Clock,
): Promise<App> {
  const sources = await readSourceFiles(options.sourceFiles);
  // Sockets and the process's memory live in real time, whatever time the rollouts live in.
  const realTime = createSteadyClock();
  const connection = await connect(options, network ?? realTime, log);
  const namespace = options.namespace ?? process.env.POD_NAMESPACE ?? connection.access.namespace;
  const fileSources = sources.map((source) => inNamespace(source, namespace));
  const stopping = new AbortController();
  const { identity, former } = await holderIdentity(options.dataDirectory);
  const candidate = { namespace, name: 'holdfast', identity, former, pod: options.pod, manager: 'holdfast' };
  const { leaseClient: client, leaseCaches: caches } = connection;
  const election = options.shadow
    ? shadowElection()
    : startElection({
        client,
        caches,
        ...candidate,
        annotations: { [versionAnnotation]: options.version },
        // Left alone, the election takes a clock that goes on while the machine sleeps.
        ...(network && { clock: network, monotonicMs: network.nowMs }),
        times: options.leaseTimes,
        logger: log,
      });
  const gate = createWriteGate(() => election.leading());
  const state: State = { engine: undefined, canaries: undefined, problem: 'starting' };
  const cluster = clusterPort(connection.client, gate, { options, log });
  const sourceCluster = clusterPort(connection.sourceClient, gate, { options, log });
  const web = await startWeb({ options, connection, election, log, state, instance: identity });
  const memory = createMemoryTrimmer(realTime);
  let apiServer: Awaited<ReturnType<typeof findApiServer>> | undefined;
  const { server } = connection.access;
  const { metricsServer, allowOutbound = [] } = options;
  const named = URL.canParse(metricsServer) ? [new URL(metricsServer).host] : [];
  const http = createHttpClient({
    ...addressPolicy(server, [...named, ...allowOutbound]),
    deniedAddresses: () => apiServer?.addresses() ?? [],
    userAgent: `holdfast/${options.version}`,
  });
  const identityHttp = options.cloudIdentity
    ? createHttpClient({
        ...addressPolicy(server, credentialHosts),
        userAgent: `holdfast/${options.version}`,
      })
    : undefined;
  const leadersHttp = options.shadow ? http : whileLeading(http, gate);
  const leading = lead();
  const lost = election.elected().then(waitForAbort);

  async function lead(): Promise<void> {
    const onProblem = (problem: string | undefined) => {
      state.problem = problem;
    };
    await waitForKinds(cluster, { clock, log, onProblem }, stopping.signal);
    if (stopping.signal.aborted) return;
    const openWatch = createOpenWatch(connection.caches);
    state.canaries = openKind(openWatch, 'Canary', namespacesOf(options));
    web.follow();
    await Promise.race([election.elected(), waitForAbort(stopping.signal)]);
    if (stopping.signal.aborted) return;
    apiServer = await findApiServer({
      openWatch,
      server,
      namespaces: namespacesOf(options),
      clock: network ?? realTime,
    });
    const leadingSinceMs = clock.nowMs();
    const secretKey = await loadClusterKey(cluster, namespace);
    await writeSources(cluster, fileSources);
    const sink = keepingMemory(web.sink, memory);
    const engine = createEngine({
      options,
      fileSources: rememberFileSources(fileSources),
      clock,
      leadingSinceMs,
      log,
      cluster,
      sourceCluster,
      dryRun: createDryRun(connection.client),
      openWatch,
      http: leadersHttp,
      cloudIdentity: identityHttp && { http: identityHttp, environment: process.env },
      externalMetric: createExternalMetric(connection.client),
      secretKey,
      instance: identity,
      ownNamespace: namespace,
      sink,
    });
    if (stopping.signal.aborted) return engine.stop();
    state.engine = engine;
    engine.start();
    const what = options.shadow
      ? 'Holdfast runs in shadow mode and writes nothing'
      : 'Holdfast is the leader and reconciles';
    log.info({ namespace, server }, what);
  }

  return {
    url: web.url,
    probeUrl: web.probeUrl,
    dashboardUrl: web.dashboardUrl,
    leading,
    lost,
    async drain() {
      stopping.abort();
      await leading.catch(() => undefined);
      await state.engine?.stop();
      state.canaries?.close();
      apiServer?.close();
      memory.stop();
      await election.stop(gate.settled);
      await web.close();
      await connection.caches.stop();
      await connection.leaseCaches.stop();
      await http.close();
      await identityHttp?.close();
      await connection.close();
    },
  };
}

function clusterPort(
  client: ClusterClient,
  gate: WriteGate,
  { options, log }: { options: AppOptions; log: Logger },
): Cluster {
  const cluster = createClusterPort(client, gate);
  return options.shadow ? createShadowPort(cluster, log) : cluster;
}

/** Every pass and every rendering tell that there is work; a poll without news is none. */
function keepingMemory(sink: MetricsSink, memory: { busy(): void }): MetricsSink {
  return {
    ...sink,
    pass(key, durationMs, succeeded) {
      memory.busy();
      sink.pass(key, durationMs, succeeded);
    },
    rendered(key, count) {
      memory.busy();
      sink.rendered(key, count);
    },
  };
}

/** A Source given as a file is written like any other, for its status and for those who look at the cluster. */
async function writeSources(cluster: Cluster, sources: readonly Source[]): Promise<void> {
  for (const source of sources) {
    const { status: _, ...object } = source;
    await cluster.apply(object, { manager: 'holdfast', force: true });
  }
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

const needed: readonly KindName[] = ['Source', 'Canary', 'MetricTemplate', 'AlertProvider'];
const retryMs = 5_000;

/** Waits until the cluster serves our kinds, saying what to do meanwhile. Ends early when the signal aborts. */
async function waitForKinds(
  cluster: Pick<Cluster, 'kindOf'>,
  { clock, log, onProblem }: { clock: Clock; log: Log; onProblem: (problem: string | undefined) => void },
  signal: AbortSignal,
): Promise<void> {
  let said = '';
  while (!signal.aborted) {
    const problem = await missingKinds(cluster);
    onProblem(problem);
    if (problem === undefined) return;
    if (problem !== said) log.error({ reason: 'NotReady' }, problem);
    said = problem;
    await sleep(clock, retryMs, signal);
  }
}

async function missingKinds(cluster: Pick<Cluster, 'kindOf'>): Promise<string | undefined> {
  try {
    const found = await Promise.all(needed.map((kind) => cluster.kindOf(apiVersionOf(kind), kind)));
    const missing = needed.filter((_, index) => found[index] === undefined);
    if (missing.length === 0) return undefined;
    return `the cluster lacks the CRDs of ${missing.join(', ')}; apply the output of: holdfast install --crds-only`;
  } catch (error) {
    return `cannot reach the API server: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Takes no part in the election of a leader: there is nothing that only one may do. */
function shadowElection(): Election {
  const never = new AbortController().signal;
  return { elected: async () => never, leading: () => false, holder: () => '', stop: async () => undefined };
}
