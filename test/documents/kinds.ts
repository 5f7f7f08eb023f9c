/**
 * Documents that the kinds accept or refuse. One table for three judges: our parser, our schemas as CRDs on a real API
 * server, and the reader of the test. `refusedAt` names the field a message must name.
 */

/** One document and its verdict. */
export interface DocumentRow {
  name: string;
  object: Record<string, unknown>;
  /** Absent: accepted. */
  refusedAt?: string;
}

type Json = Record<string, unknown>;

const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shop' };
const weighted = { interval: '1m', threshold: 5, maxWeight: 50, stepWeight: 10 };
const successRate = { name: 'request-success-rate', thresholdRange: { min: 99 }, interval: '1m' };

/** A Canary of the ordinary kind; `spec` replaces its top-level fields. */
export function canaryDocument(spec: Json = {}, metadata: Json = {}): Json {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'shop', namespace: 'default', ...metadata },
    spec: { targetRef: target, service: { port: 80 }, analysis: weighted, ...spec },
  };
}

/** A Source of the ordinary kind; `spec` replaces its top-level fields. */
export function sourceDocument(spec: Json = {}): Json {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'default' },
    spec: { url: 'https://git.example.com/acme/shop.git', ref: { branch: 'main' }, ...spec },
  };
}

function templateDocument(spec: Json): Json {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'MetricTemplate',
    metadata: { name: 'latency', namespace: 'default' },
    spec,
  };
}

function alertDocument(spec: Json): Json {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'AlertProvider',
    metadata: { name: 'chat', namespace: 'default' },
    spec,
  };
}

function analysis(fields: Json): Json {
  return canaryDocument({ analysis: { ...weighted, ...fields } });
}

function service(fields: Json): Json {
  return canaryDocument({ service: { port: 80, ...fields } });
}

const flaggerShapes: DocumentRow[] = [
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

const ourCanaries: DocumentRow[] = [
  {
    name: 'everything of postPromotion',
    object: canaryDocument({
      postPromotion: {
        progressDeadlineSeconds: 600,
        interval: '500ms',
        successThreshold: 0,
        threshold: 1,
        onFailure: 'revert',
        expect: { maxRestarts: 2 },
        metrics: [{ ...successRate, onNoData: 'wait', minSamples: 20 }],
        webhooks: [{ name: 'smoke', type: 'post-promotion', url: 'http://smoke.test/' }],
      },
      revisionIgnore: ['/spec/template/metadata/annotations/build'],
    }),
  },
  {
    name: 'a metric compared with the primary',
    object: analysis({ metrics: [{ ...successRate, compareWith: 'primary', maxRelativeIncrease: 10 }] }),
  },
  {
    name: 'a StatefulSet stepped in place',
    object: canaryDocument({ provider: 'native', targetRef: { ...target, kind: 'StatefulSet' } }),
  },
];

const refusedCanaries: DocumentRow[] = [
  { name: 'no analysis', object: canaryDocument({ analysis: undefined }), refusedAt: 'spec.analysis' },
  { name: 'no target', object: canaryDocument({ targetRef: undefined }), refusedAt: 'spec.targetRef' },
  { name: 'two kinds of steps', object: analysis({ iterations: 5 }), refusedAt: 'spec.analysis' },
  { name: 'steps given twice', object: analysis({ stepWeights: [1, 2] }), refusedAt: 'spec.analysis' },
  {
    name: 'no steps',
    object: canaryDocument({ analysis: { interval: '1m', threshold: 1 } }),
    refusedAt: 'spec.analysis',
  },
  {
    name: 'steps without threshold',
    object: canaryDocument({ analysis: { interval: '1m', stepWeight: 1 } }),
    refusedAt: 'spec.analysis',
  },
  { name: 'an interval in hours', object: analysis({ interval: '1h' }), refusedAt: 'spec.analysis.interval' },
  { name: 'an unknown provider', object: canaryDocument({ provider: 'istoi' }), refusedAt: 'spec.provider' },
  {
    name: 'a target of an unknown kind',
    object: canaryDocument({ targetRef: { ...target, kind: 'Job' } }),
    refusedAt: 'spec.targetRef.kind',
  },
  { name: 'a service without port', object: canaryDocument({ service: {} }), refusedAt: 'spec.service.port' },
  { name: 'a port in quotes', object: service({ port: '80' }), refusedAt: 'spec.service.port' },
  {
    name: 'a target port that is a list',
    object: service({ targetPort: [80] }),
    refusedAt: 'spec.service.targetPort',
  },
  {
    name: 'a metric without name',
    object: analysis({ metrics: [{ interval: '1m' }] }),
    refusedAt: 'spec.analysis.metrics[0].name',
  },
  {
    name: 'a webhook without url',
    object: analysis({ webhooks: [{ name: 'load' }] }),
    refusedAt: 'spec.analysis.webhooks[0].url',
  },
  {
    name: 'a webhook of an unknown type',
    object: analysis({ webhooks: [{ name: 'load', url: 'http://x', type: 'pre-roll-out' }] }),
    refusedAt: 'spec.analysis.webhooks[0].type',
  },
  {
    name: 'a header compared in two ways',
    object: analysis({ match: [{ headers: { a: { exact: 'x', regex: 'y' } } }] }),
    refusedAt: 'spec.analysis.match[0].headers.a',
  },
  {
    name: 'a path compared in two ways',
    object: service({ match: [{ uri: { exact: '/a', prefix: '/b' } }] }),
    refusedAt: 'spec.service.match[0].uri',
  },
  {
    name: 'a mirror to a Service without port',
    object: service({ mirror: [{ backendRef: { name: 'shadow' } }] }),
    refusedAt: 'spec.service.mirror[0].backendRef',
  },
  {
    name: 'a scaler with no replicas',
    object: canaryDocument({
      autoscalerRef: {
        apiVersion: 'a',
        kind: 'ScaledObject',
        name: 'b',
        primaryScalerReplicas: { minReplicas: 0 },
      },
    }),
    refusedAt: 'spec.autoscalerRef.primaryScalerReplicas.minReplicas',
  },
  {
    name: 'an unknown onFailure',
    object: canaryDocument({ postPromotion: { onFailure: 'pray' } }),
    refusedAt: 'spec.postPromotion.onFailure',
  },
  {
    name: 'a negative threshold after promotion',
    object: canaryDocument({ postPromotion: { threshold: -1 } }),
    refusedAt: 'spec.postPromotion.threshold',
  },
  {
    name: 'a pointer without a slash',
    object: canaryDocument({ revisionIgnore: ['spec/template'] }),
    refusedAt: 'spec.revisionIgnore[0]',
  },
  {
    name: 'a null in a list',
    object: analysis({ stepWeight: undefined, stepWeights: [1, null] }),
    refusedAt: 'spec.analysis.stepWeights[1]',
  },
];

const sources: DocumentRow[] = [
  { name: 'a Source with url and branch', object: sourceDocument() },
  {
    name: 'a Source with everything',
    object: sourceDocument({
      ref: { semver: '>=1.0.0', rewrite: 'allow' },
      path: './clusters/prod',
      schedule: '*/2 * * * *',
      timeZone: 'Europe/Oslo',
      timeout: '1m',
      retryInterval: '10s',
      secretRef: { name: 'shop-git' },
      verify: { mode: 'HEAD', secretRef: { name: 'signers' } },
      renderer: 'kustomize',
      apply: false,
      prune: true,
      wait: true,
      force: false,
      ignore: ['docs/**'],
      defaultNamespace: 'shop',
      serviceAccountName: 'shop-deployer',
      allow: { namespaces: ['shop'], kinds: ['Deployment.apps'] },
      windows: [{ kind: 'deny', schedule: '0 8 * * 1-5', duration: '9h', timeZone: 'Europe/Oslo' }],
      write: { ledger: true, revert: 'pullRequest', status: true },
      alerts: [{ name: 'ops', severity: 'error', providerRef: { name: 'chat' } }],
      dependsOn: [{ name: 'base' }],
      suspend: true,
    }),
  },
  { name: 'a Source at a commit', object: sourceDocument({ ref: { commit: 'a'.repeat(40) } }) },
  { name: 'a Source without ref', object: sourceDocument({ ref: undefined }), refusedAt: 'spec.ref' },
  { name: 'an empty ref', object: sourceDocument({ ref: { rewrite: 'wait' } }), refusedAt: 'spec.ref' },
  {
    name: 'a branch and a tag',
    object: sourceDocument({ ref: { branch: 'main', tag: 'v1' } }),
    refusedAt: 'spec.ref',
  },
  {
    name: 'a short commit',
    object: sourceDocument({ ref: { commit: 'abc1234' } }),
    refusedAt: 'spec.ref.commit',
  },
  {
    name: 'an ssh address',
    object: sourceDocument({ url: 'ssh://git@example.com/a.git' }),
    refusedAt: 'spec.url',
  },
  {
    name: 'interval and schedule',
    object: sourceDocument({ interval: '30s', schedule: '@hourly' }),
    refusedAt: 'spec',
  },
  { name: 'an interval in words', object: sourceDocument({ interval: 'often' }), refusedAt: 'spec.interval' },
  {
    name: 'a window without length',
    object: sourceDocument({ windows: [{ kind: 'allow', schedule: '@daily' }] }),
    refusedAt: 'spec.windows[0].duration',
  },
  {
    name: 'a revert by an unknown way',
    object: sourceDocument({ write: { revert: 'push' } }),
    refusedAt: 'spec.write.revert',
  },
];

const templatesAndAlerts: DocumentRow[] = [
  {
    name: 'a Prometheus template',
    object: templateDocument({
      provider: {
        type: 'prometheus',
        address: 'http://prometheus:9090',
        headers: { 'X-Scope-OrgID': ['shop'] },
        secretRef: { name: 'prometheus' },
        insecureSkipVerify: true,
      },
      query: 'sum(rate(x{namespace="{{ namespace }}"}[{{ interval }}]))',
    }),
  },
  {
    name: 'a CloudWatch template',
    object: templateDocument({ provider: { type: 'cloudwatch', region: 'eu-north-1' }, query: '[]' }),
  },
  {
    name: 'a template without query',
    object: templateDocument({ provider: { type: 'prometheus' } }),
    refusedAt: 'spec.query',
  },
  {
    name: 'a template of an unknown provider',
    object: templateDocument({ provider: { type: 'zabbix' }, query: 'x' }),
    refusedAt: 'spec.provider.type',
  },
  {
    name: 'a chat by address',
    object: alertDocument({ type: 'slack', channel: 'on-call', address: 'https://chat.example.com/x' }),
  },
  {
    name: 'a chat by Secret',
    object: alertDocument({ type: 'msteams', username: 'cd', secretRef: { name: 'chat' } }),
  },
  {
    name: 'a chat by address and Secret',
    object: alertDocument({
      type: 'slack',
      address: 'https://chat.example.com/x',
      secretRef: { name: 'chat' },
    }),
    refusedAt: 'spec',
  },
  {
    name: 'a chat of an unknown type',
    object: alertDocument({ type: 'irc', address: 'https://x' }),
    refusedAt: 'spec.type',
  },
  { name: 'a chat without address', object: alertDocument({ type: 'slack' }), refusedAt: 'spec' },
];

/** All rows. Rows of `flaggerShapes` and their like are what Flagger's own CRD takes too. */
export const documentRows: readonly DocumentRow[] = [
  ...flaggerShapes,
  ...ourCanaries,
  ...refusedCanaries,
  ...sources,
  ...templatesAndAlerts,
];
