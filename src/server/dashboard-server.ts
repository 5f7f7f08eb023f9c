import { readFile } from 'node:fs/promises';
import { InputError } from '../api/problems.ts';
import { systemWords } from '../api/system-words.ts';
import { createOpenWatch } from './cluster.ts';
import { createAccess, createKeyAccess, type LoginProxy } from './dashboard/access.ts';
import { createDashboard } from './dashboard/dashboard.ts';
import { type HttpServer, startHttpServer } from './http/http-server.ts';
import { type DashboardSettings, namespacesOf } from './options.ts';
import { createSteadyClock } from './process.ts';
import { type WebWiring, webEvents } from './web-wiring.ts';

/** What is served of the dashboard. */
interface ServedDashboard extends HttpServer {
  readonly follow: () => void;
}

/** Listens on a separate port, so that the dashboard and the other endpoints do not share a limit of connections. Every copy serves it. */
export async function serveDashboard(
  wiring: WebWiring,
  settings: DashboardSettings,
): Promise<ServedDashboard> {
  const { options, connection, election, log, state } = wiring;
  const { dashboard: client } = connection.publicClients;
  const clock = createSteadyClock();
  const { listen, key, proxySecretFile } = settings;
  const proxy = proxySecretFile === undefined ? undefined : await loginProxy(proxySecretFile);
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
    events: webEvents(wiring, client, 'holdfast-dashboard'),
    log,
    clock,
    version: options.version,
    clusterName: options.clusterName,
    documentation: options.runbookUrl,
  });
  const onError = (error: unknown) => log.error({ err: error }, 'a request to the dashboard failed');
  // Behind a proxy all connections have the same address, and a login proxy adds groups and passes the cookies of its session on.
  const bounds = { total: 512, perAddress: 512, maxHeaderSize: 65_536 };
  const server = await startHttpServer(listen, dashboard.routes, onError, bounds);
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
  const content = await readFile(file, 'utf8').catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new InputError(`--dashboard-proxy-secret ${file}: ${systemWords(code) ?? message}`);
  });
  const secret = content.trim();
  if (secret.length < 16)
    throw new InputError(`${file}: the secret of the login proxy needs at least 16 characters`);
  return { secret, userHeader: 'x-forwarded-user', groupsHeader: 'x-forwarded-groups' };
}

const quietContactMs = 5_000;

/** The last contact of the watch of Canaries with the longest silence; undefined: there is no watch. */
export function contactOf(
  { caches }: Pick<WebWiring['connection'], 'caches'>,
  nowMs: number,
): { isCurrent: boolean; lastMs: number } | undefined {
  const watches = caches.health().filter(({ selection }) => selection.kind === 'Canary');
  if (watches.length === 0) return undefined;
  return {
    isCurrent: watches.every(
      // A watch that ends early and is reopened immediately counts as current.
      ({ healthy, failures, lastContactMs }) =>
        healthy && (failures === 0 || nowMs - lastContactMs < quietContactMs),
    ),
    lastMs: Math.min(...watches.map(({ lastContactMs }) => lastContactMs)),
  };
}
