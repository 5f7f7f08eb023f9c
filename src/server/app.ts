/** The composition root: the only place that knows every adapter. */
import type { Logger } from 'pino';
import { versionAnnotation } from '../api/annotations.ts';
import type { Clock } from '../api/clock.ts';
import { createShadowElection, startElection } from '../cluster/election/election.ts';
import type { WatchedSet } from '../contracts/cluster.ts';
import {
  createClusterPort,
  createDryRun,
  createExternalMetric,
  createOpenWatch,
  createShadowPort,
  openKind,
  waitForKinds,
} from './cluster.ts';
import { loadClusterKey } from './cluster-key.ts';
import { type Connection, connect } from './connection.ts';
import { startWeb } from './endpoints.ts';
import { createEngine, type Engine } from './engine.ts';
import { holderIdentity } from './holder-identity.ts';
import { keepingMemory } from './http/metrics-sink.ts';
import { type AppOptions, namespacesOf } from './options.ts';
import { createOutbound, findApiServer } from './outbound.ts';
import { createMemoryTrimmer, createSteadyClock } from './process.ts';
import { inNamespace, readSourceFiles, rememberFileSources, writeSources } from './source-files.ts';
import { createWriteGate, whileLeading } from './write-gate.ts';

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
  /** Resolves when it lost the Lease without `drain`; the process should end then. */
  readonly lost: Promise<void>;
  /** Finishes the actions under way, releases the Lease and closes everything. */
  drain(): Promise<void>;
}

/** State that several parts read. */
interface State {
  engine: Engine | undefined;
  /** All watched Canaries, also in a copy that waits for the Lease; undefined until their kind is served. */
  canaries: WatchedSet | undefined;
  problem: string | undefined;
}

/**
 * Starts Holdfast. Health endpoints run immediately; everything else waits for our kinds and for the Lease, so that a second copy does nothing.
 * `clock` is the time of polls and rollouts, and `network` that of watches, requests and the Lease, for tests. Throws InputError for bad files and addresses that it cannot listen at, and `configuration` errors for a bad kubeconfig.
 */
export async function startApp(
  options: AppOptions,
  log: Logger,
  clock: Clock = createSteadyClock(),
  network?: Clock,
): Promise<App> {
  const sources = await readSourceFiles(options.sourceFiles);
  // Sockets and the memory of the process need real time, even when rollouts use a virtual clock.
  const realTime = createSteadyClock();
  const connection = await connect(options, network ?? realTime, log);
  const namespace = options.namespace ?? process.env.POD_NAMESPACE ?? connection.access.namespace;
  const fileSources = sources.map((source) => inNamespace(source, namespace));
  const stopping = new AbortController();
  const { identity, former } = await holderIdentity(options.dataDirectory);
  const election = options.shadow
    ? createShadowElection()
    : startElection({
        client: connection.leaseClient,
        caches: connection.leaseCaches,
        namespace,
        name: 'holdfast',
        manager: 'holdfast',
        identity,
        former,
        pod: options.pod,
        annotations: { [versionAnnotation]: options.version },
        // Without these the election uses a clock that includes the time in which the machine was suspended.
        ...(network && { clock: network, monotonicMs: network.nowMs }),
        times: options.leaseTimes,
        logger: log,
      });
  const gate = createWriteGate(() => election.leading());
  const state: State = { engine: undefined, canaries: undefined, problem: 'starting' };
  const portOf = (client: Connection['client']) => {
    const port = createClusterPort(client, gate);
    return options.shadow ? createShadowPort(port, log) : port;
  };
  const cluster = portOf(connection.client);
  const sourceCluster = portOf(connection.sourceClient);
  const wiring = { options, connection, election, log, state, instance: identity };
  const web = await startWeb(wiring).catch(async (error: unknown) => {
    // Else this process would stay, and keep the Lease from copies that can do the work.
    await election.stop();
    await connection.leaseCaches.stop();
    await connection.close();
    throw error;
  });
  const memory = createMemoryTrimmer(realTime);
  let apiServer: Awaited<ReturnType<typeof findApiServer>> | undefined;
  const { server } = connection.access;
  const { http, identityHttp, close: closeOutbound } = createOutbound(options, server, () => apiServer);
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
      await closeOutbound();
      await connection.close();
    },
  };
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
