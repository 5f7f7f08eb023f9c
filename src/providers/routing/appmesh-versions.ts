/** The two versions of App Mesh's objects: what differs in their names and fields. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteContext, RouteKind, RouteReference } from '../../contracts/routing.ts';

/** An object to be, but for the metadata that all have. */
interface MeshObject extends RouteReference {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: object;
}

/** What the nodes share. */
interface NodeParts {
  readonly listener: object;
  readonly timeout: object | undefined;
}

/** What routes to one name. */
interface RoutingParts {
  readonly name: string;
  readonly listener: object;
  readonly routes: readonly object[];
}

type Names = RouteContext['names'];

/** One version. */
export interface MeshVersion {
  readonly provider: string;
  readonly variants?: string;
  readonly kinds: readonly RouteKind[];
  readonly resources: readonly string[];
  /** Fields that this version ignores, besides those that both ignore. */
  readonly ignores: readonly string[];
  /** The field of a route with what is about HTTP, and whether that has a timeout. */
  readonly http: string;
  readonly routesTimeOut: boolean;
  /** The field of a retry policy with the longest time of a try. */
  perTry(ms: number): object;
  references(names: Names, namespace: string): readonly RouteReference[];
  /** A weighted target without its weight. */
  target(node: string): object;
  nodes(context: RouteContext, parts: NodeParts): MeshObject[];
  routing(context: RouteContext, parts: RoutingParts): MeshObject[];
  /** The object whose routes have the weights. */
  holder(names: Names, namespace: string): RouteReference;
  /** Why the controller has not taken it; undefined: it has, or it does not say which generation it means. */
  refusal(holder: KubernetesObject): string | undefined;
}

const namespaceOf = ({ canary }: RouteContext) => canary.metadata.namespace ?? 'default';
const ofKind = (apiVersion: string) => (kind: string) => ({ apiVersion, kind });
const resourcesOf = (...plurals: string[]) => plurals.map((plural) => `${plural}.appmesh.k8s.aws`);

const first = ofKind('appmesh.k8s.aws/v1beta1');
const second = ofKind('appmesh.k8s.aws/v1beta2');

const v1beta1: MeshVersion = {
  provider: 'appmesh',
  kinds: [first('VirtualNode'), first('VirtualService')],
  resources: resourcesOf('virtualnodes', 'virtualservices'),
  ignores: [],
  http: 'http',
  routesTimeOut: false,
  perTry: (perRetryTimeoutMillis) => ({ perRetryTimeoutMillis }),
  references: ({ apex, primary, canary }, namespace) => [
    ...[apex, primary, canary].map((name) => ({ ...first('VirtualNode'), name })),
    ...[apex, canary].map((name) => ({ ...first('VirtualService'), name: `${name}.${namespace}` })),
  ],
  target: (virtualNodeName) => ({ virtualNodeName }),
  nodes(context, { listener }) {
    const { apex, primary, canary } = context.names;
    const { meshName } = context.canary.spec.service ?? {};
    const backends = (context.canary.spec.service?.backends ?? []).map((virtualServiceName) => ({
      virtualService: { virtualServiceName },
    }));
    const node = (name: string, host: string) => ({
      ...first('VirtualNode'),
      name,
      annotations: {},
      spec: {
        meshName,
        listeners: [listener],
        serviceDiscovery: { dns: { hostName: `${host}.${namespaceOf(context)}` } },
        ...(backends.length > 0 ? { backends } : {}),
        ...logging(context),
      },
    });
    return [node(apex, primary), node(primary, primary), node(canary, canary)];
  },
  routing(context, { name, listener, routes }) {
    const { meshName } = context.canary.spec.service ?? {};
    const virtualRouter = { name, listeners: [listener] };
    return [
      {
        ...first('VirtualService'),
        name: `${name}.${namespaceOf(context)}`,
        annotations: name === context.names.apex ? gatewayAnnotations(context) : {},
        spec: { meshName, virtualRouter, routes },
      },
    ];
  },
  holder: ({ apex }, namespace) => ({ ...first('VirtualService'), name: `${apex}.${namespace}` }),
  refusal: () => undefined,
};

const v1beta2: MeshVersion = {
  provider: 'appmesh:v1beta2',
  variants: 'appmesh:v1beta2:',
  kinds: [second('VirtualNode'), second('VirtualRouter'), second('VirtualService')],
  resources: resourcesOf('virtualnodes', 'virtualrouters', 'virtualservices'),
  ignores: ['spec.service.meshName'],
  http: 'httpRoute',
  routesTimeOut: true,
  perTry: (value) => ({ perRetryTimeout: { unit: 'ms', value } }),
  references: ({ apex, primary, canary }) => [
    ...[primary, canary].map((name) => ({ ...second('VirtualNode'), name })),
    ...[apex, canary].flatMap((name) => [
      { ...second('VirtualRouter'), name },
      { ...second('VirtualService'), name },
    ]),
  ],
  target: (name) => ({ virtualNodeRef: { name } }),
  nodes(context, { listener, timeout }) {
    const { primary, canary } = context.names;
    const { label } = context;
    const backends = (context.canary.spec.service?.backends ?? []).map((backend) => ({
      virtualService: backend.startsWith('arn:aws')
        ? { virtualServiceARN: backend }
        : { virtualServiceRef: { name: backend } },
    }));
    const node = (name: string, pods: string | undefined) => ({
      ...second('VirtualNode'),
      name,
      annotations: {},
      spec: {
        ...(label && pods ? { podSelector: { matchLabels: { [label.key]: pods } } } : {}),
        listeners: [{ ...listener, ...(timeout ? { timeout: { http: timeout } } : {}) }],
        serviceDiscovery: { dns: { hostname: `${name}.${namespaceOf(context)}.svc.cluster.local.` } },
        ...(backends.length > 0 ? { backends } : {}),
        ...logging(context),
      },
    });
    return [node(primary, label?.primary), node(canary, label?.canary)];
  },
  routing(context, { name, listener, routes }) {
    const isApex = name === context.names.apex;
    return [
      { ...second('VirtualRouter'), name, annotations: {}, spec: { listeners: [listener], routes } },
      {
        ...second('VirtualService'),
        name,
        annotations: isApex ? gatewayAnnotations(context) : {},
        spec: { provider: { virtualRouter: { virtualRouterRef: { name } } } },
      },
    ];
  },
  holder: ({ apex }) => ({ ...second('VirtualRouter'), name: apex }),
  refusal({ metadata, status }) {
    const { name, generation = 0 } = metadata;
    const { observedGeneration = 0, conditions = [] } = (status ?? {}) as {
      observedGeneration?: number;
      conditions?: ReadonlyArray<{ type: string; status: string; message?: string }>;
    };
    const active = conditions.find(({ type }) => type === 'VirtualRouterActive');
    if (!active || observedGeneration < generation)
      return `VirtualRouter ${name}: the App Mesh controller has not observed generation ${generation} yet; check that it runs`;
    return active.status === 'True'
      ? undefined
      : `VirtualRouter ${name} is not active: ${active.message ?? ''}`;
  },
};

/** Both versions. */
export const meshVersions: readonly MeshVersion[] = [v1beta1, v1beta2];

function logging({ canary }: RouteContext): object {
  const isLogged = canary.metadata.annotations?.['appmesh.flagger.app/accesslog'] === 'enabled';
  return isLogged ? { logging: { accessLog: { file: { path: '/dev/stdout' } } } } : {};
}

/** For Flagger's App Mesh gateway, which serves these hosts. */
function gatewayAnnotations({ canary }: RouteContext): Readonly<Record<string, string>> {
  const { hosts = [], timeout, retries } = canary.spec.service ?? {};
  if (hosts.length === 0) return {};
  const prefix = 'gateway.appmesh.k8s.aws';
  return {
    [`${prefix}/expose`]: 'true',
    [`${prefix}/domain`]: hosts.join(','),
    ...(timeout ? { [`${prefix}/timeout`]: timeout } : {}),
    ...(retries?.attempts ? { [`${prefix}/retries`]: String(retries.attempts) } : {}),
  };
}
