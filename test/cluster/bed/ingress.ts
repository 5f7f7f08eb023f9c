import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { addresses } from './addresses.ts';
import { type ApiClient, applyObject } from './api-client.ts';
import { gateway } from './gateway.ts';
import { type Programs, waitForAnswer } from './program.ts';
import type { Tools } from './tools.ts';

const CLASS_NAME = 'contour';
const START_MS = 60_000;

/** Installs the CRDs and the Gateway, and starts Contour and Envoy; Envoy then serves on `addresses.envoy`. */
export async function startIngress(
  tools: Tools,
  programs: Programs,
  client: ApiClient,
  kubeconfig: string,
  folder: string,
): Promise<void> {
  await installDefinitions(tools, client);
  await createGateway(client);
  const configuration = join(folder, 'contour.yaml');
  writeFileSync(configuration, stringify({ gateway: { gatewayRef: { ...gateway } } }));
  const contour = programs.start('contour', tools.contour, contourFlags(kubeconfig, configuration));
  await waitForAnswer(contour, `http://127.0.0.1:${addresses.contourHealthPort}/healthz`, START_MS);
  const bootstrap = join(folder, 'envoy.json');
  const flags = ['--xds-address', '127.0.0.1', '--xds-port', String(addresses.contourXdsPort)];
  const args = ['bootstrap', bootstrap, ...flags, '--admin-address', join(folder, 'envoy-admin.sock')];
  const made = spawnSync(tools.contour, args, { encoding: 'utf8' });
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
  ];
  const envoy = programs.start('envoy', tools.envoy, [...envoyArgs, '--concurrency', '2']);
  await waitForAnswer(envoy, `http://127.0.0.1:${addresses.envoyStatsPort}/ready`, START_MS);
}

function contourFlags(kubeconfig: string, configuration: string): readonly string[] {
  const { port } = new URL(addresses.envoy);
  return [
    'serve',
    '--no-incluster',
    `--kubeconfig=${kubeconfig}`,
    `--config-path=${configuration}`,
    '--insecure',
    '--xds-address=127.0.0.1',
    `--xds-port=${addresses.contourXdsPort}`,
    `--debug-http-port=${addresses.contourDebugPort}`,
    '--disable-leader-election',
    '--envoy-service-http-address=127.0.0.1',
    `--envoy-service-http-port=${port}`,
    '--stats-address=127.0.0.1',
    `--stats-port=${addresses.envoyStatsPort}`,
    '--ingress-status-address=127.0.0.1',
    '--kubernetes-client-qps=200',
    '--kubernetes-client-burst=400',
  ];
}

/** Applies the CRDs of Contour and of the Gateway API and waits until they are served. */
async function installDefinitions(tools: Tools, client: ApiClient): Promise<void> {
  const definitions = readdirSync(tools.crds)
    .flatMap((file) => parseAllDocuments(readFileSync(join(tools.crds, file), 'utf8')))
    .map((document) => document.toJS() as { kind?: string; metadata: { name: string } } | null)
    .filter((object) => object?.kind === 'CustomResourceDefinition');
  await Promise.all(definitions.map((definition) => installDefinition(client, definition)));
}

async function installDefinition(client: ApiClient, definition: unknown): Promise<void> {
  const { name } = (definition as { metadata: { name: string } }).metadata;
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
  await applyObject(client, path, definition);
  for (const deadline = Date.now() + START_MS; Date.now() < deadline; ) {
    const { status } = await client.request<{
      status?: { conditions?: Array<{ type: string; status: string }> };
    }>('GET', path);
    if (status?.conditions?.some(({ type, status: holds }) => type === 'Established' && holds === 'True'))
      return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`CRD ${name} is not established after ${START_MS / 1000} s`);
}

async function createGateway(client: ApiClient): Promise<void> {
  const { name, namespace } = gateway;
  const group = 'gateway.networking.k8s.io/v1';
  await applyObject(client, `/api/v1/namespaces/${namespace}`, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
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
      listeners: [
        { name: 'http', protocol: 'HTTP', port: 80, allowedRoutes: { namespaces: { from: 'All' } } },
      ],
    },
  });
}
