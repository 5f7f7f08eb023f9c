import {
  fromEntries,
  isRecord,
  type KubernetesObject,
  numberOf,
  recordOf,
  recordsOf,
  textOf,
} from '../api/kubernetes.ts';

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

function present(fields: Record<string, unknown>): Record<string, unknown> {
  return fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
