import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { apiVersionOf, kindNames } from '../api/kinds/kinds.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import type { Election } from '../cluster/election/election.ts';
import type { WatchedSet } from '../contracts/cluster.ts';
import { createEventSink } from '../engine/alerts/event-sink.ts';
import { createOpenWatch } from './cluster.ts';
import type { Connection } from './connection.ts';
import { createAccess, createKeyAccess, type LoginProxy } from './dashboard/access.ts';
import { createDashboard } from './dashboard/dashboard.ts';
import { createGateAnnotations } from './http/gate-annotations.ts';
import { gateRoutes } from './http/gates.ts';
import { type HttpServer, type Route, startHttpServer } from './http/http-server.ts';
import type { MetricsSink } from './http/metrics-sink.ts';
import { createPrometheus, type StoreSizes } from './http/prometheus.ts';
import { type PushTarget, pushRoute } from './http/push-webhook.ts';
import { type AppOptions, type DashboardSettings, namespacesOf } from './options.ts';
import { createSteadyClock } from './process.ts';

/** What the web endpoints look at. */
interface WebWiring {
  readonly options: AppOptions;
  readonly connection: Connection;
  readonly election: Election;
  readonly log: Logger;
  /** Of this process. */
  readonly instance: string;
  /** Changes while the program starts. */
  readonly state: {
    readonly engine: RunningEngine | undefined;
    readonly canaries: WatchedSet | undefined;
    readonly problem: string | undefined;
  };
}

/** What they ask of the engine. */
interface RunningEngine {
  readonly canaries: { depth(): number };
  readonly sources: { wake(sourceKey: string): boolean };
  readonly canarySet: WatchedSet;
  readonly sourceSet: WatchedSet;
  gitStores(): StoreSizes | undefined;
}

/** What is served of the dashboard. */
interface ServedDashboard extends HttpServer {
  readonly follow: () => void;
}

/** What listens. */
interface Web extends HttpServer {
  /** Of the probes; undefined: they have no port of their own. */
  readonly probeUrl: string | undefined;
  /** Undefined: it is not served. */
  readonly dashboardUrl: string | undefined;
  readonly sink: MetricsSink;
  /** The Canaries are watched from now on. */
  follow(): void;
}

/** Starts to listen: health, metrics, push webhooks and gates, and health once more where only probes ask. */
export async function startWeb(wiring: WebWiring): Promise<Web> {
  const { options, connection, election, log, state } = wiring;
  const prometheus = createPrometheus({
    version: options.version,
    provider: options.meshProvider,
    canaries: () => state.engine?.canarySet.list() ?? [],
    canary: (namespace, name) => state.engine?.canarySet.get(namespace, name),
    source: (namespace, name) => state.engine?.sourceSet.get(namespace, name),
    apiRequests: () => connection.requests(),
    isLeading: () => election.leading(),
    gitStores: () => state.engine?.gitStores(),
    queueDepth: () => state.engine?.canaries.depth() ?? 0,
    watches: () =>
      connection.caches
        .health()
        .map(({ selection, healthy }) => ({ kind: selection.kind, isOwn: isOwnWatch(selection), healthy })),
  });
  const health = healthRoutes(wiring);
  const routes = [
    ...health,
    prometheus.route,
    pushRoute(pushTarget(wiring)),
    ...(options.shadow ? [] : gateRoutes(gateAnnotations(wiring))),
  ];
  const onError = (error: unknown) => log.error({ err: error }, 'a request to the web endpoints failed');
  const server = await startHttpServer(options.listen, routes, onError);
  const probes = options.probeListen && (await startHttpServer(options.probeListen, health, onError));
  const dashboard = options.dashboard && (await serveDashboard(wiring, options.dashboard));
  const urls = { url: server.url, probes: probes?.url, dashboard: dashboard?.url };
  log.info(urls, 'serving health, metrics, push webhooks and gates');
  return {
    url: server.url,
    probeUrl: probes?.url,
    dashboardUrl: dashboard?.url,
    follow: () => dashboard?.follow(),
    sink: prometheus.sink,
    async close() {
      await server.close();
      await probes?.close();
      await dashboard?.close();
    },
  };
}

/** Every copy answers: a Service sends requests to any of them. */
function gateAnnotations({ connection, log, state, instance }: WebWiring) {
  const { gates: reader, gateSwitches: client } = connection.publicClients;
  const create = (object: KubernetesObject) => client.create(object, { manager: 'holdfast-gate' });
  const events = createEventSink({ cluster: { create }, clock: createSteadyClock(), log, instance });
  return createGateAnnotations({ reader, client, canaries: () => state.canaries, events, log });
}

/** Apart from the other endpoints, so that neither takes the connections of the other. Every copy serves it. */
async function serveDashboard(wiring: WebWiring, settings: DashboardSettings): Promise<ServedDashboard> {
  const { options, connection, election, log, state, instance } = wiring;
  const { dashboard: client } = connection.publicClients;
  const clock = createSteadyClock();
  const { listen, key, proxySecretFile } = settings;
  const proxy = proxySecretFile === undefined ? undefined : await loginProxy(proxySecretFile);
  const create = (object: KubernetesObject) => client.create(object, { manager: 'holdfast-dashboard' });
  const dashboard = createDashboard({
    access: key ? createKeyAccess(key, 'you') : createAccess({ client, nowMs: clock.nowMs, proxy }),
    canaries: () => state.canaries,
    openWatch: createOpenWatch(connection.caches),
    namespaces: namespacesOf(options),
    isLeader: () => election.leading(),
    problem: () => state.problem,
    contact: () => contactOf(connection, Date.now()),
    writer: options.shadow ? undefined : client,
    kindOf: client.find,
    events: createEventSink({ cluster: { create }, clock, log, instance }),
    log,
    clock,
    version: options.version,
    clusterName: options.clusterName,
    documentation: options.runbookUrl,
  });
  const onError = (error: unknown) => log.error({ err: error }, 'a request to the dashboard failed');
  // Behind a proxy everybody has the same address.
  const server = await startHttpServer(listen, dashboard.routes, onError, { total: 512, perAddress: 512 });
  return {
    url: server.url,
    follow: dashboard.follow,
    async close() {
      dashboard.close();
      await server.close();
    },
  };
}

async function loginProxy(file: string): Promise<LoginProxy> {
  const secret = (await readFile(file, 'utf8')).trim();
  if (secret.length < 16)
    throw new InputError(`${file}: the secret of the login proxy needs at least 16 characters`);
  return { secret, userHeader: 'x-forwarded-user', groupsHeader: 'x-forwarded-groups' };
}

const quietContactMs = 5_000;

/** Of the watch of Canaries that was silent for longest; undefined: there is none. */
export function contactOf(
  { caches }: Pick<Connection, 'caches'>,
  nowMs: number,
): { isCurrent: boolean; lastMs: number } | undefined {
  const watches = caches.health().filter(({ selection }) => selection.kind === 'Canary');
  if (watches.length === 0) return undefined;
  return {
    isCurrent: watches.every(
      // A watch that ends early and begins anew at once is nothing to worry about.
      ({ healthy, failures, lastContactMs }) =>
        healthy && (failures === 0 || nowMs - lastContactMs < quietContactMs),
    ),
    lastMs: Math.min(...watches.map(({ lastContactMs }) => lastContactMs)),
  };
}

/** `/healthz`: the process answers. `/readyz`: it can do its work, or take over. */
function healthRoutes(wiring: WebWiring): Route[] {
  const { election } = wiring;
  return [
    { method: 'GET', path: '/healthz', handle: () => ({ status: 200, body: 'OK\n' }) },
    {
      method: 'GET',
      path: '/readyz',
      handle() {
        const problems = problemsOf(wiring);
        if (problems.length > 0) return { status: 503, body: `${problems.join('\n')}\n` };
        if (election.leading()) return { status: 200, body: 'ready, leading\n' };
        const holder = election.holder() || 'nobody yet';
        return { status: 200, body: `ready, waiting for the Lease held by ${holder}\n` };
      },
    },
  ];
}

const kindOf = ({ apiVersion, kind }: { apiVersion: string; kind: string }) => `${apiVersion} ${kind}`;
const ownKinds = new Set(kindNames.map((kind) => kindOf({ apiVersion: apiVersionOf(kind), kind })));

/** A watch without which Holdfast cannot do its work. Which others there are, Sources and Canaries choose. */
function isOwnWatch(selection: { apiVersion: string; kind: string; labelSelector?: string }): boolean {
  return ownKinds.has(kindOf(selection)) && !selection.labelSelector;
}

/**
 * A copy that waits for the Lease is ready: it can take over. Only watches of our own kinds count: another one that the API server refuses
 * must not take the gates from everybody else.
 */
function problemsOf({ connection, election, state }: WebWiring): string[] {
  if (state.problem !== undefined) return [state.problem];
  if (!election.leading() || !state.engine) return [];
  return connection.caches
    .health()
    .filter(({ healthy, selection }) => !healthy && isOwnWatch(selection))
    .map(({ selection, synced, lastError }) => {
      const where = selection.namespace ? ` in ${selection.namespace}` : '';
      const what = synced ? 'gets no events from the API server' : 'is not synced';
      return `watch of ${selection.kind}${where} ${what}${lastError ? `: ${lastError}` : ''}`;
    });
}

/** What push webhooks may do: in the copy that leads, for the Sources that it watches. */
function pushTarget({ connection, log, state }: WebWiring): PushTarget {
  return {
    isFollowing: () => state.engine !== undefined,
    sourceOf: (namespace, name) => state.engine?.sourceSet.get(namespace, name),
    async readSecret(namespace, name) {
      const reference = { apiVersion: 'v1', kind: 'Secret', namespace, name };
      const secret = await connection.publicClients.webhooks.get(reference);
      const value = (secret?.data as { webhookSecret?: unknown } | undefined)?.webhookSecret;
      return typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
    },
    wake: (namespace, name) => state.engine?.sources.wake(`${namespace}/${name}`) ?? false,
    log: (fields, message) => log.info(fields, message),
    nowMs: () => performance.now(),
  };
}
