import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { allCrds } from '../../../src/api/kinds/crd.ts';
import { createRunFolder } from '../../temporary-folder.ts';
import { addresses } from './addresses.ts';
import { type ApiClient, createApiClient } from './api-client.ts';
import { startControlPlane, waitForControllers } from './control-plane.ts';
import { gateway } from './gateway.ts';
import { startGitServer } from './git-server.ts';
import { type GatewayPrograms, startIngress } from './ingress.ts';
import { startKubelet } from './kubelet/kubelet.ts';
import { startLoadServer } from './load-server.ts';
import { createObjects } from './objects.ts';
import { createPrograms } from './program.ts';
import { startPrometheus } from './prometheus.ts';
import { followScrapeTargets } from './scrape-targets.ts';
import type { Tools } from './tools.ts';

/** What a test needs to know of the running bed; plain data, so that it travels to test workers. */
export interface BedAddresses {
  readonly kubeconfigPath: string;
  readonly apiServer: string;
  readonly ca: string;
  readonly adminToken: string;
  readonly kubectlPath: string;
  readonly envoyUrl: string;
  /** Where loads are asked for; see load-server.ts. */
  readonly loadUrl: string;
  /** Programs of which a suite may start more; see own-gateway.ts. */
  readonly gatewayPrograms: GatewayPrograms;
  /** Folder of the forge's program; see gitea.ts. */
  readonly giteaFolder: string;
  /** Folder of Flagger's own program; see flagger.ts. */
  readonly flaggerFolder: string;
  /** Folder of Istio's control plane; see istio.ts. */
  readonly istioFolder: string;
  /** Folder of Knative's programs and manifests; see knative.ts. */
  readonly knativeFolder: string;
  /** Folder of Traefik's program; see traefik.ts. */
  readonly traefikFolder: string;
  readonly prometheusUrl: string;
  /** Prometheus also scrapes what the JSON files in this folder name, in the form of its file_sd. */
  readonly scrapeTargetsDir: string;
  readonly gitBaseUrl: string;
  /** Folder of the Git server's bare repositories. */
  readonly gitRoot: string;
  readonly gateway: { readonly name: string; readonly namespace: string };
  readonly logsDir: string;
  /** One JSON line per request to the API server by anyone but the bed's own parts. */
  readonly auditLogPath: string;
  /** Process ids of the bed's programs, by name. */
  readonly pids: Readonly<Record<string, number>>;
}

/** A running bed. */
export interface Bed {
  readonly addresses: BedAddresses;
  stop(): Promise<void>;
}

const CONTROLLERS_START_MS = 300_000;

/** Starts the whole bed inside the current network namespace, with Holdfast's kinds. What fails to start is named with the end of its log. */
export async function startBed(tools: Tools): Promise<Bed> {
  const folder = createRunFolder('holdfast-bed-');
  const logsDir = join(folder, 'logs');
  const gitRoot = join(folder, 'git');
  mkdirSync(logsDir);
  mkdirSync(gitRoot);
  const scrapeTargetsDir = join(folder, 'scrape');
  mkdirSync(scrapeTargetsDir);
  const startedAt = Date.now();
  const note = (what: string) =>
    appendFileSync(join(logsDir, 'bed.log'), `${Date.now() - startedAt} ms: ${what}\n`);
  const programs = createPrograms(logsDir);
  const stops: Array<() => Promise<void>> = [programs.stopAll];
  const stop = async () => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  try {
    const plane = await startControlPlane(tools, programs, folder, logsDir);
    note('control plane answers');
    const { tokens, ca, kubeconfigs } = plane;
    const access = { server: addresses.apiServer, ca, token: tokens.kubelet, userAgent: 'bed-kubelet' };
    const client = createApiClient(access);
    const targetsPath = join(scrapeTargetsDir, 'pods.json');
    const loads = await startLoadServer();
    stops.push(loads.stop);
    const following = new AbortController();
    const targets = followScrapeTargets(client, targetsPath, following.signal);
    stops.push(() => {
      following.abort();
      return targets;
    });
    const kubelet = {
      client,
      ca,
      program: tools.app,
      knativeFolder: tools.knative,
      logsFolder: join(logsDir, 'pods'),
      folder,
    };
    await allDone([
      startIngress(tools, programs, client, kubeconfigs.contour, folder).then(() =>
        note('Contour and Envoy serve'),
      ),
      startPrometheus(tools.prometheus, programs, folder, scrapeTargetsDir).then(() =>
        note('Prometheus is ready'),
      ),
      startGitServer(gitRoot, '0.0.0.0', addresses.gitPort).then((git) => stops.push(git.stop)),
      startKubelet(kubelet).then((running) => stops.push(running.stop)),
      createObjects(client)
        .define(allCrds())
        .then(() => note("Holdfast's kinds are served")),
      waitForControllers(plane.controllers, () => controllersWork(client), CONTROLLERS_START_MS).then(() =>
        note('controllers work'),
      ),
    ]);
    return {
      addresses: {
        kubeconfigPath: kubeconfigs.admin,
        apiServer: addresses.apiServer,
        ca,
        adminToken: tokens.admin,
        kubectlPath: tools.kubectl,
        envoyUrl: addresses.envoy,
        loadUrl: loads.url,
        gatewayPrograms: { contour: tools.contour, envoy: tools.envoy },
        giteaFolder: tools.gitea,
        flaggerFolder: tools.flagger,
        istioFolder: tools.istio,
        knativeFolder: tools.knative,
        traefikFolder: tools.traefik,
        prometheusUrl: addresses.prometheus,
        scrapeTargetsDir,
        gitBaseUrl: addresses.git,
        gitRoot,
        gateway,
        logsDir,
        auditLogPath: plane.auditLogPath,
        pids: programs.pids(),
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw new Error(`the test bed did not start; logs are in ${logsDir}`, { cause: error });
  }
}

/** Waits for all, so that nothing is still starting when a failure is reported. */
async function allDone(parts: ReadonlyArray<Promise<unknown>>): Promise<void> {
  for (const result of await Promise.allSettled(parts)) {
    if (result.status === 'rejected') throw result.reason;
  }
}

/** The default service account comes from the controller manager; the nodes' taints go when it has seen them Ready. */
async function controllersWork(client: ApiClient): Promise<boolean> {
  const nodes = await client.request<{ items: Array<{ spec: { taints?: unknown[] } }> }>(
    'GET',
    '/api/v1/nodes',
  );
  const account = client.request('GET', '/api/v1/namespaces/default/serviceaccounts/default');
  const found = await account.then(
    () => true,
    () => false,
  );
  return found && nodes.items.length > 0 && nodes.items.every(({ spec }) => !spec.taints?.length);
}
