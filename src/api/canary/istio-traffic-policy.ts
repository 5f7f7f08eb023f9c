/** Istio's TrafficPolicy as far as Flagger's CRD carries it; copied to the DestinationRules. */
import * as z from 'zod';
import { oneOf } from '../schema.ts';

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

export const trafficPolicySchema = z.object({
  connectionPool: connectionPool.describe('Limits of connections.').optional(),
  loadBalancer: loadBalancer.describe('How pods are chosen.').optional(),
  outlierDetection: outlierDetection.describe('When a failing pod is taken out.').optional(),
  tls: tls.describe('TLS towards the pods.').optional(),
});
