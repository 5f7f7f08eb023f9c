/** The Services and routes generated for a Canary (Flagger's `spec.service`). */
import * as z from 'zod';
import {
  intOrString,
  oneOf,
  originMatchSchema,
  stringMap,
  stringMatchSchema,
  withFlaggerDefault,
} from '../schema.ts';

const groupPattern = /^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const kindPattern = /^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$/;
const namespacePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const sectionPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const port = z.int().min(1).max(65_535);

/** A Gateway (or other parent) that the route attaches to. */
const parentReferenceSchema = z.object({
  group: withFlaggerDefault(
    z.string().max(253).regex(groupPattern).describe('API group. Default gateway.networking.k8s.io.'),
    'gateway.networking.k8s.io',
  ).optional(),
  kind: withFlaggerDefault(
    z.string().min(1).max(63).regex(kindPattern).describe('Kind. Default Gateway.'),
    'Gateway',
  ).optional(),
  name: z.string().min(1).max(253).describe('Name of the Gateway.'),
  namespace: z.string().min(1).max(63).regex(namespacePattern).describe("Default: the Canary's.").optional(),
  sectionName: z
    .string()
    .min(1)
    .max(253)
    .regex(sectionPattern)
    .describe('Listener of the Gateway.')
    .optional(),
  port: port.describe('Port of the Gateway.').optional(),
});

const mirrorBackend = z
  .object({
    group: withFlaggerDefault(
      z.string().max(253).regex(groupPattern).describe('API group. Default: the core group.'),
      '',
    ).optional(),
    kind: withFlaggerDefault(
      z.string().min(1).max(63).regex(kindPattern).describe('Kind. Default Service.'),
      'Service',
    ).optional(),
    name: z.string().min(1).max(253).describe('Name of the Service.'),
    namespace: z
      .string()
      .min(1)
      .max(63)
      .regex(namespacePattern)
      .describe("Default: the Canary's.")
      .optional(),
    port: port.describe('Port; needed for a Service.').optional(),
  })
  .refine((to) => to.port !== undefined || Boolean(to.group) || (to.kind ?? 'Service') !== 'Service', {
    error: 'port is needed for a Service',
    path: ['port'],
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: "(has(self.group) && self.group != '') || (has(self.kind) && self.kind != 'Service') || has(self.port)",
        message: 'port is needed for a Service',
      },
    ],
  });

/** One further mirror target of the HTTPRoute (Gateway API). Not related to analysis.mirror. */
const requestMirrorSchema = z.object({
  backendRef: mirrorBackend.describe('Where the copies go.').optional(),
});

/** A condition of Istio's VirtualService or Gateway API's HTTPRoute. */
const serviceMatchSchema = z.object({
  name: z.string().describe('Name of the condition.').optional(),
  uri: stringMatchSchema.describe('The path.').optional(),
  scheme: stringMatchSchema.describe('The scheme.').optional(),
  method: stringMatchSchema.describe('The method.').optional(),
  authority: stringMatchSchema.describe('The host.').optional(),
  headers: z.record(z.string(), stringMatchSchema).describe('Headers by name.').optional(),
  queryParams: z.record(z.string(), stringMatchSchema).describe('Query parameters by name.').optional(),
  withoutHeaders: z.record(z.string(), stringMatchSchema).describe('Headers that must not match.').optional(),
  sourceLabels: stringMap().describe('Labels of the calling pod.').optional(),
  sourceNamespace: z.string().describe('Namespace of the calling pod.').optional(),
  gateways: z.array(z.string()).describe('Gateways the condition holds for.').optional(),
  port: z.int().describe('Port of the request.').optional(),
  ignoreUriCase: z.boolean().describe('Compares the path without regard to case.').optional(),
});

const headerOperations = z.object({
  add: stringMap().describe('Headers to add.').optional(),
  set: stringMap().describe('Headers to set.').optional(),
  remove: z.array(z.string()).describe('Headers to remove.').optional(),
});

const corsPolicySchema = z.object({
  allowOrigin: z.array(z.string()).describe('Allowed origins, as they are.').optional(),
  allowOrigins: z.array(originMatchSchema).describe('Allowed origins by comparison.').optional(),
  allowMethods: z.array(z.string()).describe('Allowed methods.').optional(),
  allowHeaders: z.array(z.string()).describe('Allowed request headers.').optional(),
  exposeHeaders: z.array(z.string()).describe('Response headers a page may read.').optional(),
  maxAge: z.string().describe('How long a browser may keep the answer.').optional(),
  allowCredentials: z.boolean().describe('Allows credentials.').optional(),
});

/** Labels and annotations of a generated Service. */
const customMetadataSchema = z.object({
  labels: stringMap().describe('Labels to add.').optional(),
  annotations: stringMap().describe('Annotations to add.').optional(),
});

// Istio's TrafficPolicy as far as Flagger's CRD has it; copied to the DestinationRules.

const connectionPool = z.object({
  http: z
    .object({
      h2UpgradePolicy: z
        .enum(['DEFAULT', 'DO_NOT_UPGRADE', 'UPGRADE'])
        .describe('Upgrade to HTTP/2.')
        .optional(),
      http1MaxPendingRequests: z.int().describe('Requests that may wait for a connection.').optional(),
      http2MaxRequests: z.int().describe('Requests in flight.').optional(),
      idleTimeout: z.string().describe('Idle time after which a connection is closed.').optional(),
      maxRequestsPerConnection: z.int().describe('Requests per connection.').optional(),
      maxRetries: z.int().describe('Retries in flight.').optional(),
    })
    .describe('Limits of HTTP connections.')
    .optional(),
});

const consistentHash = oneOf(
  z.object({
    httpCookie: z
      .object({
        name: z.string().describe('Name of the cookie.').optional(),
        path: z.string().describe('Path of the cookie.').optional(),
        ttl: z.string().describe('Lifetime of the cookie.').optional(),
      })
      .describe('Hash of a cookie.')
      .optional(),
    httpHeaderName: z.string().describe('Hash of a header.').optional(),
    httpQueryParameterName: z.string().describe('Hash of a query parameter.').optional(),
    useSourceIp: z.boolean().describe('Hash of the source address.').optional(),
    minimumRingSize: z.int().describe('Least number of virtual nodes of the ring.').optional(),
  }),
  'exactlyOne',
  [['httpHeaderName'], ['httpCookie'], ['useSourceIp'], ['httpQueryParameterName']],
);

const locality = z.object({
  enabled: z.boolean().describe('Turns locality load balancing on or off.').optional(),
  distribute: z
    .array(
      z.object({
        from: z.string().describe('Locality of the caller.').optional(),
        to: z.record(z.string(), z.int()).describe('Weights by locality.').optional(),
      }),
    )
    .describe('Share of traffic per locality.')
    .optional(),
  failover: z
    .array(
      z.object({
        from: z.string().describe('Region that fails.').optional(),
        to: z.string().describe('Region that takes over.').optional(),
      }),
    )
    .describe('Where traffic goes when a region fails.')
    .optional(),
});

const loadBalancer = oneOf(
  z.object({
    simple: z
      .enum(['ROUND_ROBIN', 'LEAST_CONN', 'RANDOM', 'PASSTHROUGH', 'LEAST_REQUEST'])
      .describe('A standard algorithm.')
      .optional(),
    consistentHash: consistentHash.describe('Keeps requests of one kind on one pod.').optional(),
    localityLbSetting: locality.describe('Load balancing by locality.').optional(),
    warmupDurationSecs: z.string().describe('Time in which a new pod gets a growing share.').optional(),
  }),
  'exactlyOne',
  [['simple'], ['consistentHash']],
);

const outlierDetection = z.object({
  baseEjectionTime: z.string().describe('Shortest time a pod stays out.').optional(),
  consecutive5xxErrors: z.int().describe('5xx answers in a row before a pod is taken out.').optional(),
  consecutiveErrors: z.int().describe('Deprecated: errors in a row before a pod is taken out.').optional(),
  consecutiveGatewayErrors: z.int().describe('Gateway errors in a row before a pod is taken out.').optional(),
  consecutiveLocalOriginFailures: z
    .int()
    .describe('Local failures in a row before a pod is taken out.')
    .optional(),
  interval: z.string().describe('Time between two looks.').optional(),
  maxEjectionPercent: z.int().describe('Largest share of pods that may be out.').optional(),
  minHealthPercent: z.int().describe('Share of healthy pods below which detection is off.').optional(),
  splitExternalLocalOriginErrors: z.boolean().describe('Counts local and external errors apart.').optional(),
});

const tls = z.object({
  mode: z
    .enum(['DISABLE', 'SIMPLE', 'MUTUAL', 'ISTIO_MUTUAL'])
    .describe('How connections are secured.')
    .optional(),
  caCertificates: z.string().describe('File of the certificate authority.').optional(),
  clientCertificate: z.string().describe('File of the client certificate.').optional(),
  privateKey: z.string().describe("File of the client's key.").optional(),
  sni: z.string().describe('Server name sent in the handshake.').optional(),
  subjectAltNames: z.array(z.string()).describe('Names the server may have.').optional(),
});

const trafficPolicySchema = z.object({
  connectionPool: connectionPool.describe('Limits of connections.').optional(),
  loadBalancer: loadBalancer.describe('How pods are chosen.').optional(),
  outlierDetection: outlierDetection.describe('When a failing pod is taken out.').optional(),
  tls: tls.describe('TLS towards the pods.').optional(),
});

export const canaryServiceSchema = z.object({
  name: z.string().describe('Name of the apex Service. Default: targetRef.name.').optional(),
  port: z.number().describe('Port of the Services.'),
  portName: z.string().describe('Name of that port. Default http.').optional(),
  targetPort: intOrString()
    .describe('Container port, number or name. A name must be one of the template. Default: port.')
    .optional(),
  appProtocol: z.string().describe("The port's application protocol.").optional(),
  trafficDistribution: z
    .enum(['PreferClose', 'PreferSameZone', 'PreferSameNode'])
    .describe('Which endpoints are preferred.')
    .optional(),
  portDiscovery: z.boolean().describe("Adds the workload's other container ports. Default false.").optional(),
  headless: z.boolean().describe('Makes the Services headless. Default false.').optional(),
  timeout: z.string().describe('Longest time of a request.').optional(),
  backendTimeout: z.string().describe('Longest time of one try at a backend (Gateway API).').optional(),
  gateways: z.array(z.string()).describe('Istio gateways. Default mesh.').optional(),
  gatewayRefs: z
    .array(parentReferenceSchema)
    .max(32)
    .describe('Gateway API parents of the route.')
    .optional(),
  hosts: z.array(z.string()).describe('Host names of the route.').optional(),
  delegation: z.boolean().describe('Istio: makes a delegate VirtualService. Default false.').optional(),
  trafficPolicy: trafficPolicySchema.describe('Istio: policy of both DestinationRules.').optional(),
  match: z.array(serviceMatchSchema).describe('Which requests the route takes. Default: all.').optional(),
  rewrite: z
    .object({
      uri: z.string().describe('New path or prefix.').optional(),
      authority: z.string().describe('New host.').optional(),
      type: z.string().describe('ReplacePrefixMatch, or anything else for the full path.').optional(),
    })
    .describe('Changes the request on its way.')
    .optional(),
  retries: z
    .object({
      attempts: z.int().describe('Number of retries.').optional(),
      perTryTimeout: z.string().describe('Longest time of one try.').optional(),
      retryOn: z.string().describe('Causes, separated by commas.').optional(),
    })
    .describe('Retries of the proxy.')
    .optional(),
  headers: z
    .object({
      request: headerOperations.describe('Changes to request headers.').optional(),
      response: headerOperations.describe('Changes to response headers.').optional(),
    })
    .describe('Changes to headers.')
    .optional(),
  mirror: z.array(requestMirrorSchema).describe('Gateway API: further mirror targets.').optional(),
  corsPolicy: corsPolicySchema.describe('Cross-origin policy.').optional(),
  meshName: z.string().describe('App Mesh: name of the mesh.').optional(),
  backends: z.array(z.string()).describe('App Mesh: backends of the virtual nodes.').optional(),
  apex: customMetadataSchema.describe('Metadata of the apex Service and the route.').optional(),
  primary: customMetadataSchema.describe('Metadata of the primary Service.').optional(),
  canary: customMetadataSchema.describe('Metadata of the canary Service.').optional(),
  unmanagedMetadata: z
    .object({
      labels: z.array(z.string()).describe('Label keys to leave as found.').optional(),
      annotations: z.array(z.string()).describe('Annotation keys to leave as found.').optional(),
    })
    .describe('Metadata of generated Services that belongs to others.')
    .optional(),
});

export type ServiceMatch = z.infer<typeof serviceMatchSchema>;
export type CorsPolicy = z.infer<typeof corsPolicySchema>;
export type CustomMetadata = z.infer<typeof customMetadataSchema>;
export type CanaryService = z.infer<typeof canaryServiceSchema>;
