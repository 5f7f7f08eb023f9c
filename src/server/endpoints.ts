import type { Logger } from 'pino';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Election } from '../cluster/election/election.ts';
import type { WatchedSet } from '../contracts/cluster.ts';
import { createEventSink } from '../engine/alerts/event-sink.ts';
import type { Connection } from './connection.ts';
import type { Engine } from './engine.ts';
import { createGateAnnotations } from './http/gate-annotations.ts';
import { gateRoutes } from './http/gates.ts';
import { type HttpServer, type Route, startHttpServer } from './http/http-server.ts';
import type { MetricsSink } from './http/metrics-sink.ts';
import { createPrometheus } from './http/prometheus.ts';
import { type PushTarget, pushRoute } from './http/push-webhook.ts';
import type { AppOptions } from './options.ts';
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
    readonly engine: Engine | undefined;
    readonly canaries: WatchedSet | undefined;
    readonly problem: string | undefined;
  };
}

/** What listens. */
interface Web extends HttpServer {
  /** Of the probes; undefined: they have no port of their own. */
  readonly probeUrl: string | undefined;
  readonly sink: MetricsSink;
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
      connection.caches.health().map(({ selection, healthy }) => ({ kind: selection.kind, healthy })),
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
  log.info({ url: server.url, probes: probes?.url }, 'serving health, metrics, push webhooks and gates');
  return {
    url: server.url,
    probeUrl: probes?.url,
    sink: prometheus.sink,
    async close() {
      await server.close();
      await probes?.close();
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

/** A copy that waits for the Lease is ready: it can take over. */
function problemsOf({ connection, election, state }: WebWiring): string[] {
  if (state.problem !== undefined) return [state.problem];
  if (!election.leading() || !state.engine) return [];
  return connection.caches
    .health()
    .filter(({ healthy }) => !healthy)
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
