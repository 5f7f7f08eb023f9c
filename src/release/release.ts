import { type CommitInfo, gitPart } from '../api/commit.ts';
import {
  canonicalJson,
  fromEntries,
  isRecord,
  type KubernetesObject,
  numberOf,
  type PodTemplate,
  podTemplatePath,
  present,
  recordOf,
  recordsOf,
  shortHash,
  textOf,
  valueAt,
} from '../api/kubernetes.ts';

/** One port of the generated Services. */
export interface ServicePort {
  name: string;
  protocol: string;
  port: number;
  targetPort: number | string;
  appProtocol?: string;
}

/**
 * One Canary's workload at one commit: everything that is rolled out and reverted together (design section 3). `target` and `configs` are the
 * rendered objects as in Git, with their namespace.
 */
export interface Release {
  /** Identity of the release: `v1:` + sha256 (see digest.ts), and a hash of `liveConfigs`; does not depend on the commit. */
  digest: string;
  commit: CommitInfo;
  canary: { namespace: string; name: string };
  target: KubernetesObject;
  /** Ports of the generated Services: the Canary's first, then discovered ones. */
  ports: ServicePort[];
  /** ConfigMaps and Secrets of the template that are in Git. */
  configs: KubernetesObject[];
  /** Tracked ones that are not in Git; they are copied from the cluster. */
  liveConfigs: Array<{ kind: 'ConfigMap' | 'Secret'; name: string; optional: boolean }>;
  /** Hash of the content of `configs`, 16 hex digits; absent: there are none. */
  configKey?: string;
  /** Files of the repository this release was read from (sorted, unique), as `path:line` of each object. */
  origins: string[];
  /** JSON pointers below `/spec/template/`, of a Service below `/spec/`, that are not part of the digest; absent: none. */
  revisionIgnore?: string[];
}

/** Fields of the workload that are not part of the digest: applied without analysis (design section 3, "settings"). */
export interface WorkloadSettings {
  replicas?: number;
  strategy?: Record<string, unknown>;
  minReadySeconds?: number;
  progressDeadlineSeconds?: number;
  revisionHistoryLimit?: number;
}

/** The release with this hash of its `liveConfigs` in its digest; undefined removes the hash. */
export function withLivePart(release: Release, live: string | undefined): Release {
  const digest = gitPart(release.digest);
  return { ...release, digest: live === undefined ? digest : `${digest}+${live}` };
}

/** The pod template of a release's target; one without containers if the target has none, as a Service. */
export function templateOf({ target }: { readonly target: KubernetesObject }): PodTemplate {
  const template = valueAt(target, podTemplatePath(target.kind)) as PodTemplate | undefined;
  return template ?? { spec: { containers: [] } };
}

/** The part of a target that is rolled out and in the digest: its pod template, or the content of a Service. */
export function digestedPart(target: KubernetesObject): {
  readonly template?: PodTemplate;
  readonly service?: ServiceContent;
} {
  if (isService(target)) return { service: serviceContent(target.spec) };
  return { template: templateOf({ target }) };
}

const numberSettings = [
  'replicas',
  'minReadySeconds',
  'progressDeadlineSeconds',
  'revisionHistoryLimit',
] as const;

/** The settings in a target's manifest; those that it does not have are absent. */
export function settingsOf(target: KubernetesObject): WorkloadSettings {
  const spec = recordOf(target.spec);
  const settings: WorkloadSettings = {};
  for (const name of numberSettings) {
    const value = numberOf(spec[name]);
    if (value !== undefined) settings[name] = value;
  }
  const strategy = spec[strategyField(target.kind)];
  if (isRecord(strategy)) settings.strategy = strategy;
  return settings;
}

/** Equal for equal settings: 16 hex digits. */
export function settingsKey(settings: WorkloadSettings): string {
  return shortHash(canonicalJson(settings), 16);
}

/** A copy of the target with exactly these settings: absent ones are removed. */
export function withSettings(target: KubernetesObject, settings: WorkloadSettings): KubernetesObject {
  const { strategy, ...numbers } = settings;
  const field = strategyField(target.kind);
  const settable = new Set<string>([...numberSettings, field]);
  const kept = Object.entries(recordOf(target.spec)).filter(([name]) => !settable.has(name));
  const added = Object.entries({ ...numbers, ...(strategy ? { [field]: strategy } : {}) });
  return { ...target, spec: fromEntries([...kept, ...added]) };
}

/** The field of the strategy in the spec: a DaemonSet and a StatefulSet have `updateStrategy`. */
export function strategyField(kind: string): string {
  return kind === 'Deployment' ? 'strategy' : 'updateStrategy';
}

/** A ConfigMap or Secret that a pod template names. */
export interface ConfigReference {
  kind: 'ConfigMap' | 'Secret';
  name: string;
  /** Every place that names it can do without it. */
  optional: boolean;
  /** Named by a volume, so that running pods see a change of its data. */
  mounted: boolean;
}

/** Annotation by which an object of several workloads opts out of tracking: any value that starts with `disable`, as in Flagger. */
const trackingAnnotation = 'flagger.app/config-tracking';

/** Our own annotation: the primary's copy of a config outside Git is updated at once, and a change starts no release. */
const followAnnotation = 'holdfast.dev/config-tracking';

/** Secret types that are tracked, as in Flagger; others belong to their own controllers (service account tokens, Helm, ...). */
const trackedSecretTypes = new Set([
  'Opaque',
  'kubernetes.io/basic-auth',
  'kubernetes.io/ssh-auth',
  'kubernetes.io/tls',
]);

/**
 * ConfigMaps and Secrets of volumes, projected volumes, env and envFrom of containers and init containers, sorted by kind and name (as
 * Flagger). A name that is optional in one place and required in another is required.
 */
export function configReferences(workload: KubernetesObject): ConfigReference[] {
  const spec = recordOf(templateOf({ target: workload }).spec);
  const containers = [...recordsOf(spec.containers), ...recordsOf(spec.initContainers)];
  const found = [...recordsOf(spec.volumes).flatMap(volumeReferences), ...containers.flatMap(envReferences)];
  const byName = new Map<string, ConfigReference>();
  for (const reference of found) {
    const key = `${reference.kind}/${reference.name}`;
    const known = byName.get(key) ?? reference;
    byName.set(key, {
      ...reference,
      optional: known.optional && reference.optional,
      mounted: known.mounted || reference.mounted,
    });
  }
  return [...byName.keys()].sort().flatMap((key) => byName.get(key) ?? []);
}

/** Those that the releases of a target are about, as far as they are tracked. Config of Knative is not (flagger-behaviour 2.10). */
export function trackedReferences(target: KubernetesObject, tracksConfig = true): ConfigReference[] {
  return tracksConfig && !isKnative(target) ? configReferences(target) : [];
}

/** Whether changes of this ConfigMap or Secret are part of a release. */
export function isTracked(object: KubernetesObject): boolean {
  const optOut = recordOf(object.metadata.annotations)[trackingAnnotation];
  if (typeof optOut === 'string' && optOut.startsWith('disable')) return false;
  if (object.kind === 'ConfigMap') return true;
  return object.kind === 'Secret' && trackedSecretTypes.has(textOf(object.type) ?? 'Opaque');
}

/** Whether the primary's copy follows this object at once. */
export function isFollowed({ metadata }: Pick<KubernetesObject, 'metadata'>): boolean {
  return recordOf(metadata.annotations)[followAnnotation] === 'follow';
}

function volumeReferences(volume: Record<string, unknown>): ConfigReference[] {
  const projected = recordsOf(recordOf(volume.projected).sources);
  return [
    reference('ConfigMap', volume.configMap, 'name', true),
    reference('Secret', volume.secret, 'secretName', true),
    ...projected.flatMap((source) => [
      reference('ConfigMap', source.configMap, 'name', true),
      reference('Secret', source.secret, 'name', true),
    ]),
  ].flat();
}

function envReferences(container: Record<string, unknown>): ConfigReference[] {
  const values = recordsOf(container.env).map((variable) => recordOf(variable.valueFrom));
  return [
    ...values.flatMap((value) => [
      ...reference('ConfigMap', value.configMapKeyRef, 'name', false),
      ...reference('Secret', value.secretKeyRef, 'name', false),
    ]),
    ...recordsOf(container.envFrom).flatMap((from) => [
      ...reference('ConfigMap', from.configMapRef, 'name', false),
      ...reference('Secret', from.secretRef, 'name', false),
    ]),
  ];
}

function reference(
  kind: ConfigReference['kind'],
  source: unknown,
  nameField: string,
  mounted: boolean,
): ConfigReference[] {
  const fields = recordOf(source);
  const name = textOf(fields[nameField]);
  return name === undefined ? [] : [{ kind, name, optional: fields.optional === true, mounted }];
}

/** The part of a Service that decides which pods get requests; the same whether the API server has set its defaults or not. */
export interface ServiceContent {
  selector?: Record<string, unknown>;
  ports?: Array<Record<string, unknown>>;
  [field: string]: unknown;
}

/** The default of Kubernetes, in seconds. */
const affinitySeconds = 10_800;

/** Whether an object is a Service of Kubernetes, which as a target has no pod template. */
export function isService({ apiVersion, kind }: Pick<KubernetesObject, 'apiVersion' | 'kind'>): boolean {
  return kind === 'Service' && apiVersion === 'v1';
}

/** Kinds of Kubernetes with a pod template that can be targets. */
export const workloadKinds: readonly string[] = ['Deployment', 'DaemonSet', 'StatefulSet'];

/** Whether an object is a Service of Knative, whose releases are revisions; their config is not tracked (flagger-behaviour 2.10). */
export function isKnative({ apiVersion, kind }: Pick<KubernetesObject, 'apiVersion' | 'kind'>): boolean {
  return kind === 'Service' && apiVersion === 'serving.knative.dev/v1';
}

/**
 * The part of a Service's spec that is in a release (flagger-behaviour 2.9): ports, selector and how requests are distributed to pods.
 * Addresses, node ports and load balancers belong to the original, and are not copied.
 */
export function serviceContent(spec: unknown): ServiceContent {
  const fields = recordOf(spec);
  const ports = recordsOf(fields.ports).map(portContent);
  return present({
    ...(fields.type === 'ExternalName'
      ? { type: 'ExternalName', externalName: fields.externalName }
      : { selector: selectorOf(spec) }),
    ports: ports.length > 0 ? ports : undefined,
    ...affinityOf(fields),
    internalTrafficPolicy: fields.internalTrafficPolicy === 'Local' ? 'Local' : undefined,
    publishNotReadyAddresses: fields.publishNotReadyAddresses === true ? true : undefined,
    trafficDistribution: textOf(fields.trafficDistribution),
  });
}

/** The labels of the pods it selects; undefined: it has no selector. */
export function selectorOf(spec: unknown): Record<string, unknown> | undefined {
  const { selector } = recordOf(spec);
  return isRecord(selector) && Object.keys(selector).length > 0 ? selector : undefined;
}

/** Whether it is an alias of an external name, which needs neither selector nor ports. */
export function isExternalName(spec: unknown): boolean {
  return recordOf(spec).type === 'ExternalName';
}

function portContent(port: Record<string, unknown>): Record<string, unknown> {
  return present({
    name: textOf(port.name),
    protocol: textOf(port.protocol) ?? 'TCP',
    port: port.port,
    targetPort: port.targetPort ?? port.port,
    appProtocol: textOf(port.appProtocol),
  });
}

function affinityOf({ sessionAffinity, sessionAffinityConfig }: Record<string, unknown>) {
  if (sessionAffinity !== 'ClientIP') return {};
  const { timeoutSeconds } = recordOf(recordOf(sessionAffinityConfig).clientIP);
  const clientIP = { timeoutSeconds: numberOf(timeoutSeconds) ?? affinitySeconds };
  return { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP } };
}
