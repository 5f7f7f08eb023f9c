import {
  analysis,
  canaryDocument,
  type DocumentRow,
  service,
  successRate,
  target,
  weighted,
} from './builders.ts';

/** Canaries in every shape that Flagger's documentation shows; Flagger's own CRD takes them too. */
export const flaggerShapes: DocumentRow[] = [
  { name: 'a weighted canary', object: canaryDocument() },
  {
    name: 'a weighted canary with every kind of check, hook and alert',
    object: analysis({
      stepWeightPromotion: 25,
      primaryReadyThreshold: 50,
      canaryReadyThreshold: 50,
      metrics: [
        successRate,
        { name: 'request-duration', thresholdRange: { max: 500 }, interval: '30s' },
        { name: 'old style', threshold: 99, query: 'sum(rate(errors[1m]))', interval: '1m' },
        {
          name: 'from a template',
          templateRef: { name: 'latency', namespace: 'flagger' },
          templateVariables: { direction: 'inbound' },
          thresholdRange: { min: 0.5, max: 1.5 },
        },
      ],
      alerts: [
        { name: 'dev', severity: 'info', providerRef: { name: 'slack' } },
        { name: 'ops', severity: '', providerRef: { name: 'teams', namespace: 'ops' } },
      ],
      webhooks: [
        { name: 'gate', type: 'confirm-rollout', url: 'http://loadtester.test/gate/check' },
        {
          name: 'load',
          url: 'http://loadtester.test/',
          timeout: '5s',
          retries: 2,
          muteAlert: true,
          disableTLS: true,
          metadata: { cmd: 'hey -z 1m http://shop-canary.test/' },
        },
      ],
    }),
  },
  {
    name: "steps of one's own with mirroring",
    object: canaryDocument({
      provider: 'istio',
      analysis: { interval: '1m', threshold: 2, stepWeights: [1, 2, 10, 80], mirror: true, mirrorWeight: 10 },
    }),
  },
  {
    name: 'blue/green without a mesh',
    object: canaryDocument({
      provider: 'kubernetes',
      analysis: { interval: '30s', threshold: 2, iterations: 10, metrics: [successRate] },
    }),
  },
  {
    name: 'an A/B test by header, cookie and query',
    object: canaryDocument({
      provider: 'istio',
      analysis: {
        interval: '1m',
        threshold: 10,
        iterations: 2,
        match: [
          { headers: { 'user-agent': { regex: '.*Firefox.*' }, cookie: { exact: 'canary' } } },
          { queryParams: { beta: { exact: 'yes' } }, sourceLabels: { app: 'front' } },
        ],
      },
    }),
  },
  {
    name: 'an Istio service with routes and policies',
    object: service({
      name: 'front',
      portName: 'http',
      targetPort: 'web',
      portDiscovery: true,
      gateways: ['istio-system/public'],
      hosts: ['shop.example.com'],
      match: [{ uri: { prefix: '/' }, method: { exact: 'GET' }, headers: { 'x-old': {} } }],
      rewrite: { uri: '/' },
      retries: { attempts: 3, perTryTimeout: '1s', retryOn: 'gateway-error' },
      headers: { request: { add: { 'x-a': '1' }, remove: ['x-b'] }, response: { set: { 'x-c': '2' } } },
      corsPolicy: { allowOrigins: [{ exact: 'https://example.com' }], allowMethods: ['GET'], maxAge: '24h' },
      trafficPolicy: {
        tls: { mode: 'ISTIO_MUTUAL' },
        loadBalancer: { consistentHash: { httpCookie: { name: 'user', ttl: '0s' } } },
        outlierDetection: { consecutive5xxErrors: 5, baseEjectionTime: '30s' },
        connectionPool: { http: { http2MaxRequests: 100, h2UpgradePolicy: 'UPGRADE' } },
      },
      apex: { labels: { a: 'b' }, annotations: { c: 'd' } },
      unmanagedMetadata: { annotations: ['cloud.example.com/neg'] },
    }),
  },
  {
    name: 'a Gateway API canary with sticky sessions',
    object: canaryDocument({
      provider: 'gatewayapi:v1',
      service: {
        port: 9898,
        targetPort: 9898,
        timeout: '10s',
        backendTimeout: '5s',
        trafficDistribution: 'PreferClose',
        hosts: ['shop.example.com'],
        gatewayRefs: [{ name: 'public', namespace: 'infra', sectionName: 'http', port: 80 }],
        mirror: [
          { backendRef: { name: 'shadow', port: 80 } },
          { backendRef: { name: 'b', group: 'x.dev', kind: 'Backend' } },
        ],
      },
      analysis: {
        ...weighted,
        sessionAffinity: {
          cookieName: 'canary',
          primaryCookieName: 'primary',
          maxAge: 3600,
          sameSite: 'Lax',
        },
      },
    }),
  },
  {
    name: 'a Contour canary with a scaler',
    object: canaryDocument({
      provider: 'contour',
      progressDeadlineSeconds: 60,
      autoscalerRef: {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        name: 'shop',
        primaryScalerReplicas: { minReplicas: 2, maxReplicas: 5 },
      },
    }),
  },
  {
    name: 'a KEDA scaler with queries for the primary',
    object: canaryDocument({
      autoscalerRef: {
        apiVersion: 'keda.sh/v1alpha1',
        kind: 'ScaledObject',
        name: 'shop',
        primaryScalerQueries: { requests: 'sum(rate(http_requests_total[2m]))' },
      },
    }),
  },
  {
    name: 'an nginx ingress',
    object: canaryDocument({
      provider: 'nginx',
      ingressRef: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'shop' },
    }),
  },
  {
    name: 'an APISIX route',
    object: canaryDocument({
      provider: 'apisix',
      routeRef: { apiVersion: 'apisix.apache.org/v2', kind: 'ApisixRoute', name: 'shop' },
    }),
  },
  {
    name: 'a Gloo upstream of another namespace',
    object: canaryDocument({
      provider: 'gloo',
      upstreamRef: { apiVersion: 'gloo.solo.io/v1', kind: 'Upstream', name: 'shop', namespace: 'gloo' },
    }),
  },
  {
    name: 'a Service of Kubernetes',
    object: canaryDocument({
      provider: 'contour',
      targetRef: { apiVersion: 'v1', kind: 'Service', name: 'shop' },
    }),
  },
  {
    name: 'a Knative service',
    object: canaryDocument({
      provider: 'knative',
      targetRef: { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'shop' },
    }),
  },
  {
    name: 'App Mesh',
    object: canaryDocument({
      provider: 'appmesh',
      service: { port: 80, meshName: 'global', backends: ['a.test'] },
    }),
  },
  {
    name: 'a DaemonSet without a Service',
    object: {
      ...canaryDocument(),
      spec: {
        targetRef: { ...target, kind: 'DaemonSet' },
        analysis: weighted,
        suspend: true,
        skipAnalysis: true,
      },
    },
  },
  {
    name: 'a duration that goes on after its unit, as Flagger lets in',
    object: analysis({ interval: '1m30s' }),
  },
  { name: 'a list that was left empty (null)', object: analysis({ metrics: null }) },
  { name: 'a session cookie without Max-Age', object: analysis({ sessionAffinity: { cookieName: 'c' } }) },
];
