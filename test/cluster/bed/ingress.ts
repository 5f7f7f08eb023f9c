import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { addresses } from './addresses.ts';
import { type ApiClient, applyObject } from './api-client.ts';
import { gateway } from './gateway.ts';
import { createObjects } from './objects.ts';
import { type Program, type Programs, waitForAnswer } from './program.ts';
import type { Tools } from './tools.ts';

const CLASS_NAME = 'contour';
const START_MS = 300_000;

/** Paths of the programs of a gateway. */
export type GatewayPrograms = Pick<Tools, 'contour' | 'envoy'>;

/** One Contour with its Envoy: whose routes it serves, and where it listens. */
export interface GatewaySettings {
  /** In the names of logs and files. */
  readonly name: string;
  readonly gateway: { readonly name: string; readonly namespace: string };
  readonly kubeconfig: string;
  readonly folder: string;
  /** Where Envoy takes requests. Default: the loopback address. */
  readonly address?: string;
  readonly debugPort: number;
  readonly healthPort: number;
  readonly statsPort: number;
  readonly xdsPort: number;
  /** Threads of Envoy that take requests. */
  readonly workers: number;
  /** Further flags of Contour. */
  readonly flags: readonly string[];
}

/** Installs the CRDs and the Gateway, and starts Contour and Envoy; Envoy then serves on `addresses.envoy`. */
export async function startIngress(
  tools: Tools,
  programs: Programs,
  client: ApiClient,
  kubeconfig: string,
  folder: string,
): Promise<void> {
  await installDefinitions(tools, client);
  await applyObject(client, `/api/v1/namespaces/${gateway.namespace}`, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: gateway.namespace },
  });
  await createGateway(client, gateway, 80);
  await startGateway(tools, programs, {
    name: '',
    gateway,
    kubeconfig,
    folder,
    debugPort: addresses.contourDebugPort,
    healthPort: addresses.contourHealthPort,
    statsPort: addresses.envoyStatsPort,
    xdsPort: addresses.contourXdsPort,
    // Each thread is woken for its part of the requests that come together.
    workers: 1,
    flags: [`--envoy-service-http-port=${new URL(addresses.envoy).port}`],
  });
}

/** Starts a Contour and its Envoy for one Gateway; returns when Envoy is ready. */
export async function startGateway(
  paths: GatewayPrograms,
  programs: Programs,
  settings: GatewaySettings,
): Promise<{ readonly contour: Program }> {
  const { name, folder, xdsPort } = settings;
  const configuration = join(folder, `contour${name}.yaml`);
  writeFileSync(configuration, stringify({ gateway: { gatewayRef: { ...settings.gateway } } }));
  const contour = programs.start(`contour${name}`, paths.contour, contourFlags(settings, configuration));
  await waitForAnswer(contour, `http://127.0.0.1:${settings.healthPort}/healthz`, START_MS);
  const bootstrap = join(folder, `envoy${name}.json`);
  const flags = ['--xds-address', '127.0.0.1', '--xds-port', String(xdsPort)];
  const admin = ['--admin-address', join(folder, `envoy${name}-admin.sock`)];
  const made = spawnSync(paths.contour, ['bootstrap', bootstrap, ...flags, ...admin], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`contour bootstrap failed: ${made.stderr}`);
  // Hot restart keeps its state in the machine's shared memory, where a second bed would meet it.
  const envoyArgs = [
    '--disable-hot-restart',
    '-c',
    bootstrap,
    '--service-cluster',
    'bed',
    '--service-node',
    'bed',
    '--log-level',
    'warn',
    // What a failed test is looked into with is in the log by then.
    '--file-flush-interval-msec',
    '500',
  ];
  const workers = ['--concurrency', String(settings.workers)];
  const envoy = programs.start(`envoy${name}`, paths.envoy, [...envoyArgs, ...workers]);
  await waitForAnswer(envoy, `http://127.0.0.1:${settings.statsPort}/ready`, START_MS);
  return { contour };
}

function contourFlags(settings: GatewaySettings, configuration: string): readonly string[] {
  return [
    'serve',
    '--no-incluster',
    `--kubeconfig=${settings.kubeconfig}`,
    `--config-path=${configuration}`,
    '--insecure',
    '--xds-address=127.0.0.1',
    `--xds-port=${settings.xdsPort}`,
    `--debug-http-port=${settings.debugPort}`,
    `--health-port=${settings.healthPort}`,
    `--http-port=${settings.healthPort}`,
    '--disable-leader-election',
    `--envoy-service-http-address=${settings.address ?? '127.0.0.1'}`,
    '--stats-address=127.0.0.1',
    `--stats-port=${settings.statsPort}`,
    '--ingress-status-address=127.0.0.1',
    '--kubernetes-client-qps=200',
    '--kubernetes-client-burst=400',
    ...settings.flags,
  ];
}

/** Applies the CRDs of Contour and of the Gateway API and waits until they are served. */
async function installDefinitions(tools: Tools, client: ApiClient): Promise<void> {
  await createObjects(client).define(definitionsIn(tools.crds));
}

/** The CustomResourceDefinitions in the YAML files of a folder. */
export function definitionsIn(folder: string): KubernetesObject[] {
  return manifestsIn(folder).filter(({ kind }) => kind === 'CustomResourceDefinition');
}

/** All objects in the YAML files of a folder and of those in it. */
export function manifestsIn(folder: string): KubernetesObject[] {
  return (
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.ya?ml$/.test(file))
      .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
      .map((document) => document.toJS() as KubernetesObject | null)
      // A document of comments alone is null.
      .filter((object) => object !== null)
  );
}

/** A Gateway of the bed's class, which takes HTTPRoutes from every namespace. */
export async function createGateway(
  client: ApiClient,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  port: number,
): Promise<void> {
  const group = 'gateway.networking.k8s.io/v1';
  await applyObject(client, `/apis/${group}/gatewayclasses/${CLASS_NAME}`, {
    apiVersion: group,
    kind: 'GatewayClass',
    metadata: { name: CLASS_NAME },
    spec: { controllerName: 'projectcontour.io/gateway-controller' },
  });
  await applyObject(client, `/apis/${group}/namespaces/${namespace}/gateways/${name}`, {
    apiVersion: group,
    kind: 'Gateway',
    metadata: { name, namespace },
    spec: {
      gatewayClassName: CLASS_NAME,
      listeners: [{ name: 'http', protocol: 'HTTP', port, allowedRoutes: { namespaces: { from: 'All' } } }],
    },
  });
}
