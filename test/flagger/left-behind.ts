/** Objects as Flagger 1.44 leaves them (flagger-behaviour 1.4, 2.9, 2.10, 2.16), written the way it writes them and not by code of ours. */
import { randomUUID } from 'node:crypto';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';

/** One request to the API server; throws, or answers with the object. */
export type Send = (
  method: string,
  path: string,
  body: unknown,
  contentType?: string,
) => Promise<{ readonly status: number; readonly body: unknown }>;

/** What of one application Flagger left when it stopped. */
export interface Scene {
  /** The Canary's manifest. Provider `kubernetes` or `gatewayapi:v1`. */
  readonly canary: KubernetesObject;
  /** The target's manifest now, and as it was when it was written to the primary last. `app` must be its selector label. */
  readonly target: KubernetesObject;
  readonly promoted: KubernetesObject;
  /** ConfigMaps that the pods name: as they are now, and as they were promoted. */
  readonly configs?: readonly KubernetesObject[];
  readonly promotedConfigs?: readonly KubernetesObject[];
  /** Pods of the target; the primary has `primaryReplicas`, 2 unless said. */
  readonly targetReplicas: number;
  readonly primaryReplicas?: number;
  /** Share of the canary in the route. */
  readonly canaryWeight?: number;
  /** Status as Flagger wrote it; hashes and times are filled in. */
  readonly status: Readonly<Record<string, unknown>> & { readonly phase: string };
}

const keepAway = {
  'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
  'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
};

/** Creates everything in the order in which it came about. The Canary comes first, since all else is owned by it. */
export async function leaveBehind(send: Send, scene: Scene): Promise<void> {
  const canary = await create(send, scene.canary, 'kubectl-create');
  for (const config of scene.configs ?? []) await create(send, config, 'kubectl-create');
  await create(send, withReplicas(scene.target, scene.targetReplicas), 'kubectl-create');
  for (const config of scene.promotedConfigs ?? scene.configs ?? [])
    await create(send, copyOf(config, canary), 'flagger');
  await create(send, primaryOf(scene, canary), 'flagger');
  for (const service of servicesOf(scene, canary)) await create(send, service, 'flagger');
  for (const route of routesOf(scene, canary)) await create(send, route, 'flagger');
  const status = { ...statusOf(scene), ...scene.status };
  const path = `${pathOf(scene.canary)}/${scene.canary.metadata.name}/status?fieldManager=flagger`;
  await checked(send, 'PATCH', path, { status }, 'application/merge-patch+json');
}

async function create(send: Send, object: KubernetesObject, manager: string): Promise<KubernetesObject> {
  return checked(send, 'POST', `${pathOf(object)}?fieldManager=${manager}`, object);
}

async function checked(
  send: Send,
  method: string,
  path: string,
  body: unknown,
  contentType?: string,
): Promise<KubernetesObject> {
  const answer = await send(method, path, body, contentType);
  if (answer.status > 201)
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body as KubernetesObject;
}

const plurals: Readonly<Record<string, string>> = { Canary: 'canaries', HTTPProxy: 'httpproxies' };

function pathOf({ apiVersion, kind, metadata }: KubernetesObject): string {
  const prefix = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${prefix}/namespaces/${metadata.namespace}/${plurals[kind] ?? `${kind.toLowerCase()}s`}`;
}

interface Template {
  readonly metadata?: {
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

interface WorkloadSpec {
  readonly replicas?: number;
  readonly strategy?: unknown;
  readonly progressDeadlineSeconds?: number;
  readonly template: Template;
}

function specOf({ spec }: KubernetesObject): WorkloadSpec {
  return spec as unknown as WorkloadSpec;
}

function withReplicas(workload: KubernetesObject, replicas: number): KubernetesObject {
  return { ...workload, spec: { ...specOf(workload), replicas } };
}

/** The Canary as controller, as every object that Flagger creates has it. */
function owner(canary: KubernetesObject) {
  const { apiVersion, kind, metadata } = canary;
  const { name, uid = '' } = metadata;
  return [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
}

/** 2.10: selector and selector label get `-primary`, tracked config too, and each write stamps a new `flagger-id`. */
function primaryOf(scene: Scene, canary: KubernetesObject): KubernetesObject {
  const { metadata } = scene.promoted;
  const { template, strategy, progressDeadlineSeconds = 600 } = specOf(scene.promoted);
  const app = template.metadata?.labels?.app ?? metadata.name;
  const names = (scene.promotedConfigs ?? scene.configs ?? []).map((config) => config.metadata.name);
  const renamed = JSON.stringify(template.spec, (key, value: unknown) =>
    key === 'name' && names.includes(String(value)) ? `${value}-primary` : value,
  );
  const annotations = { ...template.metadata?.annotations, 'flagger-id': randomUUID() };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: `${metadata.name}-primary`,
      namespace: metadata.namespace as string,
      labels: { app: `${app}-primary` },
      annotations: { ...metadata.annotations },
      ownerReferences: owner(canary),
    },
    spec: {
      progressDeadlineSeconds,
      minReadySeconds: 0,
      revisionHistoryLimit: 10,
      replicas: scene.primaryReplicas ?? 2,
      ...(strategy ? { strategy } : {}),
      selector: { matchLabels: { app: `${app}-primary` } },
      template: {
        metadata: { labels: { ...template.metadata?.labels, app: `${app}-primary` }, annotations },
        spec: JSON.parse(renamed),
      },
    },
  };
}

function copyOf(config: KubernetesObject, canary: KubernetesObject): KubernetesObject {
  const { name, namespace } = config.metadata;
  const metadata = {
    name: `${name}-primary`,
    namespace: namespace as string,
    ownerReferences: owner(canary),
  };
  return { ...config, metadata: { ...metadata, labels: {} } };
}

/** 2.9: CAN selects the target's pods, PRI and APEX those of the primary. */
function servicesOf({ promoted }: Scene, canary: KubernetesObject): KubernetesObject[] {
  const { namespace, name: target } = promoted.metadata;
  const app = specOf(promoted).template.metadata?.labels?.app ?? target;
  const { service } = canary.spec as {
    service: { name?: string; port: number; targetPort?: number | string };
  };
  const apex = service.name ?? target;
  const ports = [
    { name: 'http', protocol: 'TCP', port: service.port, targetPort: service.targetPort ?? service.port },
  ];
  const build = (name: string, selects: string): KubernetesObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: namespace as string,
      labels: { app: name },
      annotations: keepAway,
      ownerReferences: owner(canary),
    },
    spec: { type: 'ClusterIP', ports, selector: { app: selects } },
  });
  return [
    build(`${apex}-canary`, app),
    build(`${apex}-primary`, `${app}-primary`),
    build(apex, `${app}-primary`),
  ];
}

function routesOf({ canaryWeight = 0, ...scene }: Scene, canary: KubernetesObject): KubernetesObject[] {
  const { provider, service } = canary.spec as {
    provider: string;
    service: { name?: string; port: number; hosts?: string[]; gatewayRefs?: unknown[] };
  };
  const { namespace, name: target } = scene.target.metadata;
  const name = service.name ?? target;
  if (provider === 'contour')
    return [proxyOf({ name, namespace: namespace as string }, service.port, canary)];
  if (provider !== 'gatewayapi:v1') return [];
  const backend = (to: string, weight: number) => ({
    group: '',
    kind: 'Service',
    name: to,
    port: service.port,
    weight,
  });
  const backendRefs = [
    backend(`${name}-primary`, 100 - canaryWeight),
    backend(`${name}-canary`, canaryWeight),
  ];
  const matches = [{ path: { type: 'PathPrefix', value: '/' } }];
  return [
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: {
        name,
        namespace: namespace as string,
        labels: {},
        annotations: keepAway,
        ownerReferences: owner(canary),
      },
      spec: { parentRefs: service.gatewayRefs, hostnames: service.hosts, rules: [{ matches, backendRefs }] },
    },
  ];
}

/** 3.5, with `-ingress-class internal`. */
function proxyOf(
  { name, namespace }: { name: string; namespace: string },
  port: number,
  canary: KubernetesObject,
): KubernetesObject {
  const annotations = { ...keepAway, 'projectcontour.io/ingress.class': 'internal' };
  const backend = (side: string, weight: number) => ({ name: `${name}-${side}`, port, weight });
  const services = [backend('primary', 100), backend('canary', 0)];
  return {
    apiVersion: 'projectcontour.io/v1',
    kind: 'HTTPProxy',
    metadata: { name, namespace, labels: {}, annotations, ownerReferences: owner(canary) },
    spec: { ingressClassName: 'internal', routes: [{ conditions: [{ prefix: '/' }], services }] },
  };
}

/** 1.4: hashes are those of a Go struct, which nobody else can compute. */
function statusOf({ target, promoted, status }: Scene): Record<string, unknown> {
  const hashOf = (object: KubernetesObject) => {
    const image = JSON.stringify(specOf(object).template.spec);
    return [...image].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7).toString();
  };
  const now = new Date().toISOString().replace(/\.\d+Z/, 'Z');
  const reached = ['Initialized', 'Succeeded'].includes(status.phase) ? 'True' : 'Unknown';
  const promotedStatus = status.phase === 'Failed' ? 'False' : reached;
  return {
    failedChecks: 0,
    canaryWeight: 0,
    iterations: 0,
    trackedConfigs: {},
    lastAppliedSpec: hashOf(target),
    lastPromotedSpec: hashOf(promoted),
    lastTransitionTime: now,
    conditions: [
      {
        type: 'Promoted',
        status: promotedStatus,
        reason: status.phase,
        message: 'as Flagger said it',
        lastUpdateTime: now,
        lastTransitionTime: now,
      },
    ],
  };
}
