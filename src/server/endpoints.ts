import { apiVersionOf, kindNames } from '../api/kinds/kinds.ts';
import { secretBytes } from '../api/kubernetes.ts';
import { createGateAnnotations } from './http/gate-annotations.ts';
import { gateRoutes } from './http/gates.ts';
import { type HttpServer, type Route, startHttpServer } from './http/http-server.ts';
import type { MetricsSink } from './http/metrics-sink.ts';
import { createPrometheus } from './http/prometheus.ts';
import { type PushTarget, pushRoute } from './http/push-webhook.ts';
import { type WebWiring, webEvents } from './web-wiring.ts';

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
  // Every copy serves gates: a Service sends requests to any of them.
  const gates = createGateAnnotations({
    reader: connection.publicClients.gates,
    client: connection.publicClients.gateSwitches,
    canaries: () => state.canaries,
    events: webEvents(wiring, connection.publicClients.gateSwitches, 'holdfast-gate'),
    log,
  });
  const routes = [
    ...health,
    prometheus.route,
    pushRoute(pushTarget(wiring)),
    ...(options.shadow ? [] : gateRoutes(gates)),
  ];
  const onError = (error: unknown) => log.error({ err: error }, 'a request to the web endpoints failed');
  const opened: HttpServer[] = [];
  const open = async <Opened extends HttpServer>(opening: Promise<Opened>): Promise<Opened> => {
    const server = await opening;
    opened.push(server);
    return server;
  };
  const close = async () => {
    for (const server of opened) await server.close();
  };
  try {
    const server = await open(startHttpServer(options.listen, routes, onError));
    const probes = options.probeListen && (await open(startHttpServer(options.probeListen, health, onError)));
    // Loaded only where it is served.
    const dashboard =
      options.dashboard &&
      (await open((await import('./dashboard-server.ts')).serveDashboard(wiring, options.dashboard)));
    const urls = { url: server.url, probes: probes?.url, dashboard: dashboard?.url };
    log.info(urls, 'serving health, metrics, push webhooks and gates');
    return {
      url: server.url,
      probeUrl: probes?.url,
      dashboardUrl: dashboard?.url,
      follow: () => dashboard?.follow(),
      sink: prometheus.sink,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
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
 * must not make gates unavailable.
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
    isFollowing: () => state.engine?.sourceSet.synced() || state.engine?.sourceSet.isRefused() || false,
    sourceOf: (namespace, name) => state.engine?.sourceSet.get(namespace, name),
    async readSecret(namespace, name) {
      const reference = { apiVersion: 'v1', kind: 'Secret', namespace, name };
      const secret = await connection.publicClients.webhooks.get(reference);
      return secret && secretBytes(secret).webhookSecret;
    },
    wake: (namespace, name) => state.engine?.sources.wake(`${namespace}/${name}`) ?? false,
    log: (fields, message) => log.info(fields, message),
    nowMs: () => performance.now(),
  };
}
