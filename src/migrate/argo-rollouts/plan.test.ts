import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { validate } from '../../review/validate/validate.ts';
import type { Move } from '../steps.ts';
import { planRollouts } from './plan.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-rollouts-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function rollout(strategy: string, more = 'replicas: 4'): string {
  return `apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  ${more}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "shop/web:1", ports: [{name: http, containerPort: 8080}]}]}
  strategy: ${strategy}
`;
}

function service(name: string, ports = '[{port: 80, targetPort: http}]'): string {
  return `apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: shop}
spec: {selector: {app: web}, ports: ${ports}}
`;
}

function template(metric: string, args = ''): string {
  return `apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: checks, namespace: shop}
spec:
  args: [${args}]
  metrics:
    - ${metric}
`;
}

const prometheus = (query: string, more = '') =>
  `{name: errors, successCondition: "result[0] <= 1", ${more}provider: {prometheus: {address: "http://prometheus:9090", query: '${query}'}}}`;

/** Writes the files and plans them, without a cluster. */
async function plan(files: Record<string, string>): Promise<Move[]> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return planRollouts({ path: folder, connection: undefined });
}

async function planOne(...documents: string[]): Promise<Move> {
  const [move, ...others] = await plan({ 'web.yaml': documents.join('---\n') });
  expect(others).toEqual([]);
  return move as Move;
}

/** What the files hold after so many steps. */
async function after({ steps }: Move, count = steps.length): Promise<KubernetesObject[]> {
  const files = new Map(
    steps
      .slice(0, count)
      .flatMap(({ changes }) => changes.map(({ file, after: text }) => [file, text] as const)),
  );
  for (const [file, text] of files) {
    if (text === undefined) await rm(file);
    else await writeFile(file, text);
  }
  return [...files.values()]
    .flatMap((text = '') => parseAllDocuments(text))
    .map((one) => one.toJS() as KubernetesObject);
}

function specOf(objects: readonly KubernetesObject[], kind: string, name?: string): Record<string, unknown> {
  const found = objects.find(
    (one) => one.kind === kind && (name === undefined || one.metadata.name === name),
  );
  expect(found, kind).toBeDefined();
  return found?.spec as Record<string, unknown>;
}

/** The Canary that a strategy becomes; everything that is written must be valid by Holdfast's own rules. */
async function canaryFrom(...documents: string[]): Promise<Record<string, unknown>> {
  const move = await planOne(...documents);
  expect(move.stops).toEqual([]);
  const objects = await after(move);
  const { findings } = await validate({ paths: [folder] });
  expect(findings.filter(({ severity }) => severity === 'problem')).toEqual([]);
  return specOf(objects, 'Canary');
}

const stopsOf = async (...documents: string[]) =>
  (await planOne(...documents)).stops.map((stop) => stop.replace(/^.*?:\d+: /, ''));

it.each([
  ['canary: {stableService: web, steps: [{setWeight: 50}, {pause: {duration: 1m}}]}', { maxSurge: '25%' }],
  ['canary: {maxUnavailable: 0, steps: [{setWeight: 50}]}', { maxUnavailable: 0 }],
])(
  'leaves a field in the strategy that lets go: server-side apply makes null of one that lost all, which is no strategy: %s',
  async (strategy, left) => {
    const objects = await after(await planOne(rollout(`{${strategy}}`), service('web')), 1);
    expect(specOf(objects, 'Rollout').strategy).toEqual({ canary: left });
  },
);

it('writes weights, the longest pause and gates where a person goes on', async () => {
  const strategy =
    'canary: {steps: [{setWeight: 20}, {pause: {duration: 60}}, {setWeight: 50}, {pause: {duration: 10m}}, {setWeight: 80}, {pause: {}}]}';
  const { provider, analysis, suspend, service: none } = await canaryFrom(rollout(`{${strategy}}`));
  expect({ provider, suspend, none }).toEqual({ provider: 'native' });
  expect(analysis).toEqual({
    ...{ interval: '10m', threshold: 1, stepWeights: [20, 50, 80] },
    webhooks: [
      { name: 'promotion', type: 'confirm-promotion', url: 'http://holdfast.holdfast-system/gate/check' },
    ],
  });
});

it.each([
  ['1h', '60m'],
  ['90m', '90m'],
  ['1h0m30s', '3630s'],
  ['5s', '10s'],
])(
  'a pause of %s is an interval that a Canary may have, and the report says which',
  async (pause, interval) => {
    const strategy = `{canary: {steps: [{setWeight: 20}, {pause: {duration: ${pause}}}]}}`;

    const { converted, notes } = await planOne(rollout(strategy));
    const { analysis } = await canaryFrom(rollout(strategy));

    expect(analysis).toMatchObject({ interval });
    expect([...(converted ?? []), ...notes].join()).toContain(
      `the pauses are analysis.interval, ${interval}`,
    );
  },
);

it('hours before the promotion and between the checks after it are intervals that a Canary may have', async () => {
  const strategy =
    '{blueGreen: {activeService: web, autoPromotionSeconds: 3600, postPromotionAnalysis: {templates: [{templateName: checks}]}}}';

  const { analysis, postPromotion } = await canaryFrom(
    rollout(strategy),
    service('web'),
    template(prometheus('up', 'interval: 2h, ')),
  );

  expect([analysis, postPromotion]).toMatchObject([{ interval: '60m' }, { interval: '120m' }]);
});

it.each([
  ['{pause: {}}, {setWeight: 20}', 'confirm-rollout'],
  ['{setWeight: 20}, {pause: {}}, {setWeight: 60}', 'confirm-traffic-increase'],
  ['{setWeight: 20}, {setWeight: 60}, {pause: {}}', 'confirm-promotion'],
])('a pause without an end is a gate: %s', async (steps, type) => {
  const { analysis } = await canaryFrom(rollout(`{canary: {steps: [${steps}]}}`));
  expect((analysis as { webhooks: unknown[] }).webhooks).toEqual([expect.objectContaining({ type })]);
});

it('a step of two fields is not converted, since one of them would be lost', async () => {
  const strategy = '{canary: {steps: [{setWeight: 20, pause: {}}, {setWeight: 50}]}}';
  expect(await stopsOf(rollout(strategy))).toEqual([expect.stringContaining('make one step of each')]);
});

it('a Rollout without steps is promoted without analysis, as a rolling update', async () => {
  const { skipAnalysis, analysis } = await canaryFrom(rollout('{canary: {maxSurge: 1, maxUnavailable: 0}}'));
  expect([skipAnalysis, analysis]).toEqual([true, { interval: '1m', threshold: 1, stepWeights: [100] }]);
});

it('weights of another total are percent, and one that is not whole is told', async () => {
  const routing = 'trafficRouting: {maxTrafficWeight: 1000, nginx: {stableIngress: web}}';
  const move = await planOne(
    rollout(
      `{canary: {stableService: web, canaryService: web-next, ${routing}, steps: [{setWeight: 5}, {setWeight: 200}]}}`,
    ),
    service('web'),
  );
  expect(specOf(await after(move), 'Canary')).toMatchObject({ analysis: { stepWeights: [1, 20] } });
  expect(move.notes).toContainEqual(
    expect.stringContaining('steps[0].setWeight: is in analysis.stepWeights, rounded to 1 percent'),
  );
});

const httpRoute = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: front, namespace: shop}
spec:
  parentRefs: [{name: gateway}]
  rules:
    # everything
    - backendRefs:
        - {name: web, port: 80, weight: 100}
        - {name: web-next, port: 80, weight: 0}
    - backendRefs: [{name: blog, port: 80}]
`;
const virtualService = (destinations: string) => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: front, namespace: shop}
spec:
  hosts: [shop.example.com]
  http: [{name: primary, route: [${destinations}]}]
`;
const ends = '{destination: {host: web}, weight: 100}, {destination: {host: web-next}, weight: 0}';
const subsets =
  '{destination: {host: web, subset: stable}, weight: 100}, {destination: {host: web, subset: canary}, weight: 0}';

it.each([
  [
    'plugins: {argoproj-labs/gatewayAPI: {httpRoute: front, namespace: shop}}',
    httpRoute,
    'gatewayapi:v1',
    'HTTPRoute',
    [{ backendRefs: [{ name: 'web', port: 80 }] }, { backendRefs: [{ name: 'blog', port: 80 }] }],
  ],
  [
    'istio: {virtualService: {name: front}}',
    virtualService(ends),
    'istio',
    'VirtualService',
    [{ name: 'primary', route: [{ destination: { host: 'web' } }] }],
  ],
  [
    'istio: {virtualServices: [{name: front, routes: [primary]}], destinationRule: {name: web, stableSubsetName: stable, canarySubsetName: canary}}',
    virtualService(subsets),
    'istio',
    'VirtualService',
    [{ name: 'primary', route: [{ destination: { host: 'web' } }] }],
  ],
])('keeps a route, which leads to one Service: %s', async (routing, route, provider, kind, rules) => {
  const services = routing.includes('destinationRule') ? '' : 'stableService: web, canaryService: web-next, ';
  const strategy = `{canary: {${services}trafficRouting: {${routing}}, steps: [{setWeight: 50}]}}`;
  const move = await planOne(rollout(strategy), service('web'), route);
  expect(move.stops).toEqual([]);
  const objects = await after(move);
  expect(specOf(objects, 'Canary')).toMatchObject({
    provider,
    routeRef: { kind, name: 'front' },
    service: { port: 80, targetPort: 'http' },
  });
  const { rules: found, http = found } = specOf(objects, kind);
  expect(http).toEqual(rules);
});

it.each([
  ['nginx: {stableIngress: front}', { provider: 'nginx', ingressRef: { name: 'front' } }],
  ['traefik: {weightedTraefikServiceName: web}', { provider: 'traefik' }],
  [
    'apisix: {route: {name: front}}',
    { provider: 'apisix', routeRef: { kind: 'ApisixRoute', name: 'front' } },
  ],
  ['smi: {rootService: web}', { provider: 'smi:v1alpha1' }],
])('names the provider of a router: %s', async (routing, spec) => {
  const move = await planOne(
    rollout(
      `{canary: {stableService: web, canaryService: web-next, trafficRouting: {${routing}}, steps: [{setWeight: 50}]}}`,
    ),
    service('web'),
  );
  expect([move.stops, specOf(await after(move), 'Canary')]).toMatchObject([[], spec]);
});

it.each([
  [
    '{canary: {trafficRouting: {alb: {ingress: web}}}}',
    /trafficRouting\.alb: Holdfast does not write actions/,
  ],
  ['{canary: {trafficRouting: {plugins: {acme/lb: {}}}}}', /plugins\["acme\/lb"\]: Holdfast has no plugins/],
  [
    '{canary: {stableService: web, trafficRouting: {nginx: {stableIngresses: [a, b]}}}}',
    /stableIngresses: has several/,
  ],
  ['{canary: {stableService: web, trafficRouting: {nginx: {}}}}', /trafficRouting\.nginx: names no route/],
  ['{canary: {steps: [{experiment: {}}]}}', /steps\[0\]\.experiment: has no counterpart/],
  ['{canary: {steps: [{setHeaderRoute: {name: a}}]}}', /steps\[0\]\.setHeaderRoute: .* analysis\.match/],
  ['{canary: {steps: [{plugin: {name: a}}]}}', /steps\[0\]\.plugin: .* webhook/],
  ['{canary: {stepz: []}}', /strategy\.canary\.stepz: is not known here/],
  ['{recreate: {}}', /strategy: must be canary or blueGreen/],
  ['{blueGreen: {activeService: nowhere}}', /Service nowhere with its port is neither in these files/],
])('stops on what would be lost, with its line and a way out: %s', async (strategy, why) => {
  expect(await stopsOf(rollout(strategy))).toContainEqual(expect.stringMatching(why));
});

it('one Rollout that cannot be converted stops only itself, and so does a broken file', async () => {
  const other = rollout('{canary: {steps: [{setWeight: 50}]}}').replace('name: web,', 'name: api,');
  const moves = await plan({
    'a.yaml': rollout('{canary: {steps: [{experiment: {}}]}}'),
    'b.yaml': other,
    'c.yaml': 'apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nspec: {{ .Values.rollout }}\n',
  });
  expect(
    moves.map(({ name, stops, steps }) => [name.replace(/\/.*\//, ''), stops.length, steps.length]),
  ).toEqual([
    ['Rollout shop/web', 1, 0],
    ['Rollout shop/api', 0, 3],
    ['File c.yaml', 1, 0],
  ]);
});

/** A canary with an analysis in the background. */
const analysed = (args = '') =>
  rollout(
    `{canary: {analysis: {templates: [{templateName: checks}], args: [${args}]}, steps: [{setWeight: 50}]}}`,
  );

it('a metric becomes a MetricTemplate with its arguments, and its limits become the threshold', async () => {
  const move = await planOne(
    analysed('{name: service, value: web}'),
    template(
      prometheus(
        'rate(errors{service="{{args.service}}", region="{{ args.region }}"}[1m])',
        'failureLimit: 2, interval: 30s, ',
      ),
      '{name: service}, {name: region, value: eu}, {name: unused, valueFrom: {secretKeyRef: {name: a, key: b}}}',
    ),
  );
  const objects = await after(move);
  expect(specOf(objects, 'Canary').analysis).toMatchObject({
    ...{ threshold: 3, interval: '30s' },
    metrics: [{ name: 'errors', templateRef: { name: 'web-errors' }, thresholdRange: { max: 1 } }],
  });
  expect(specOf(objects, 'MetricTemplate')).toEqual({
    provider: { type: 'prometheus', address: 'http://prometheus:9090' },
    query: 'rate(errors{service="web", region="eu"}[1m])',
  });
  expect(move.notes).toContainEqual(
    expect.stringMatching(/web\.yaml:\d+: spec\.metrics\[0\]\.failureLimit: /),
  );
});

it('a Service of Argo Rollouts in an argument is the Service that has its pods now', async () => {
  const strategy = `{canary: {stableService: web, canaryService: web-next, trafficRouting: {nginx: {stableIngress: web}},
    analysis: {templates: [{templateName: checks}], args: [{name: service, value: web-next.shop.svc}]}, steps: [{setWeight: 50}]}}`;
  const move = await planOne(
    rollout(strategy),
    service('web'),
    template(prometheus('up{s="{{args.service}}"}'), '{name: service}'),
  );
  expect(specOf(await after(move), 'MetricTemplate').query).toBe('up{s="web-canary.shop.svc"}');
  expect(move.notes).toContainEqual(expect.stringContaining('web-next is web-canary in the query'));
});

it.each([
  [
    'web: {url: "http://slo/api?a=1", jsonPath: "{$.data}"}',
    'result.ratio < 2',
    { provider: { type: 'web', address: 'http://slo', jsonPointer: '/data/ratio' }, query: '/api?a=1' },
  ],
  [
    'datadog: {query: "avg:errors{*}", secretRef: {name: keys, namespaced: true}}',
    'result <= 1',
    { provider: { type: 'datadog', secretRef: { name: 'keys' } }, query: 'avg:errors{*}' },
  ],
  [
    'newRelic: {query: "SELECT count(*) FROM Errors"}',
    'result.count <= 1',
    { provider: { type: 'newrelic', secretRef: { name: 'newrelic' } }, query: 'SELECT count(*) FROM Errors' },
  ],
  [
    'graphite: {address: "http://graphite", query: "errors.count"}',
    'result[0] <= 1',
    { provider: { type: 'graphite', address: 'http://graphite' }, query: 'target=errors.count' },
  ],
])('writes the query of a metric system: %s', async (provider, condition, spec) => {
  const metric = `{name: errors, successCondition: "${condition}", provider: {${provider}}}`;
  expect(specOf(await after(await planOne(analysed(), template(metric))), 'MetricTemplate')).toEqual(spec);
});

it('a Job becomes a CronJob that is suspended, of which each check runs a Job', async () => {
  const job =
    '{name: smoke, provider: {job: {spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: a, image: "b:1"}]}}}}}}';
  const objects = await after(await planOne(analysed(), template(job)));
  expect(specOf(objects, 'CronJob', 'web-smoke')).toMatchObject({
    suspend: true,
    jobTemplate: { spec: { backoffLimit: 0 } },
  });
  expect(specOf(objects, 'MetricTemplate')).toEqual({
    provider: { type: 'job' },
    query: 'cronjob/web-smoke',
  });
  expect(specOf(objects, 'Canary').analysis).toMatchObject({ metrics: [{ thresholdRange: { min: 1 } }] });
});

it.each([
  [
    prometheus('up').replace('address: "http://prometheus:9090", ', ''),
    '',
    /prometheus\.address: is missing/,
  ],
  [prometheus('up').replace('result[0] <= 1', 'all(result, # < 1)'), '', /successCondition: is no range/],
  [
    prometheus('up{a="{{args.hash}}"}'),
    '{name: hash, valueFrom: {podTemplateHashValue: Latest}}',
    /args\[0\]: .*\{\{ pods \}\}/,
  ],
  [
    prometheus('up{a="{{args.token}}"}'),
    '{name: token, valueFrom: {secretKeyRef: {name: a, key: b}}}',
    /args\[0\]: reads a Secret/,
  ],
  [prometheus('up{a="{{args.none}}"}'), '', /spec\.args: has no argument none/],
  ['{name: a, provider: {kayenta: {address: b}}}', '', /provider\.kayenta: .*does not ask kayenta/],
  [
    '{name: a, successCondition: "result <= 1", provider: {web: {url: "http://a", method: POST, body: a}}}',
    '',
    /web\.method: .* GET alone/,
  ],
  [
    '{name: a, successCondition: "result <= 1", provider: {web: {url: "http://me:hidden@a/b"}}}',
    '',
    /web\.url: has a login(?!.*hidden)/,
  ],
  [
    '{name: a, successCondition: "result[0] <= 1", provider: {influxdb: {profile: a, query: b}}}',
    '',
    /influxdb\.profile: holds the address/,
  ],
  [
    '{name: a, successCondition: "result[0] <= 1", provider: {cloudWatch: {metricDataQueries: [{id: a}]}}}',
    '',
    /metricDataQueries: needs a region/,
  ],
])('no check is dropped in silence: %s', async (metric, args, why) => {
  expect(await stopsOf(analysed(), template(metric, args))).toContainEqual(expect.stringMatching(why));
});

it('a template that is not in the files stops, and a metric of a dry run is left out with a word', async () => {
  expect(await stopsOf(analysed())).toContainEqual(
    expect.stringContaining('AnalysisTemplate checks is not in these files'),
  );
  const dry = template(prometheus('up')).replace(
    '  metrics:',
    '  dryRun: [{metricName: errors}]\n  metrics:',
  );
  const move = await planOne(analysed(), dry);
  expect(specOf(await after(move), 'Canary').analysis).not.toHaveProperty('metrics');
  expect(move.notes).toContainEqual(expect.stringContaining('spec.metrics[0]: is left out: it is in dryRun'));
});

const blueGreen = 'activeService: web-active, previewService: web-preview';

it.each([
  ['', { interval: '1m', threshold: 1, iterations: 1 }],
  [', autoPromotionEnabled: false', { iterations: 1, webhooks: [{ type: 'confirm-promotion' }] }],
  [', autoPromotionEnabled: false, autoPromotionSeconds: 30', { interval: '30s', iterations: 1 }],
])('blue/green keeps the active Service and who promotes: %s', async (more, analysis) => {
  const spec = await canaryFrom(
    rollout(`{blueGreen: {${blueGreen}${more}}}`),
    service('web-active', '[{name: web, port: 80, targetPort: http}]'),
  );
  expect(spec).toMatchObject({
    provider: 'kubernetes',
    service: { name: 'web-active', port: 80, portName: 'web', targetPort: 'http' },
    analysis,
  });
  expect(JSON.stringify(spec).includes('confirm-promotion')).toBe(
    JSON.stringify(analysis).includes('confirm-promotion'),
  );
});

it('analysis before and after the promotion of blue/green is in analysis and postPromotion', async () => {
  const use = '{templates: [{templateName: checks}]}';
  const spec = await canaryFrom(
    rollout(`{blueGreen: {${blueGreen}, prePromotionAnalysis: ${use}, postPromotionAnalysis: ${use}}}`),
    service('web-active'),
    template(prometheus('up', 'count: 3, interval: 20s, failureLimit: 1, ')),
  );
  expect(spec).toMatchObject({
    analysis: { interval: '20s', iterations: 3, threshold: 2, metrics: [{ name: 'errors' }] },
    postPromotion: {
      interval: '20s',
      successThreshold: 3,
      failureThreshold: 2,
      metrics: [{ name: 'errors' }],
    },
  });
});

it('one template with other arguments is another metric', async () => {
  const use = (value: string) =>
    `{templates: [{templateName: checks}], args: [{name: service, value: ${value}}]}`;
  const move = await planOne(
    rollout(
      `{blueGreen: {${blueGreen}, prePromotionAnalysis: ${use('a')}, postPromotionAnalysis: ${use('b')}}}`,
    ),
    service('web-active'),
    template(prometheus('up{s="{{args.service}}"}'), '{name: service}'),
  );
  const objects = await after(move);
  expect(specOf(objects, 'MetricTemplate', 'web-errors').query).toBe('up{s="a"}');
  expect(specOf(objects, 'MetricTemplate', 'web-errors-2').query).toBe('up{s="b"}');
  expect(specOf(objects, 'Canary').postPromotion).toMatchObject({
    metrics: [{ templateRef: { name: 'web-errors-2' } }],
  });
});

const scaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web}, maxReplicas: 9}
`;

it('a scaler scales the Deployment when that is there, not before', async () => {
  const move = await planOne(rollout('{canary: {steps: [{setWeight: 50}]}}', 'minReadySeconds: 1'), scaler);
  expect(specOf(await after(move, 1), 'HorizontalPodAutoscaler').scaleTargetRef).toMatchObject({
    kind: 'Rollout',
  });
  const objects = await after(move);
  expect(specOf(objects, 'HorizontalPodAutoscaler').scaleTargetRef).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    name: 'web',
  });
  expect(specOf(objects, 'Canary').autoscalerRef).toMatchObject({
    kind: 'HorizontalPodAutoscaler',
    name: 'web',
  });
});

it('a Deployment that workloadRef names is the target, with the pods of the Rollout', async () => {
  const named = `apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  replicas: 5
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: app, scaleDown: onsuccess}
  strategy: {canary: {steps: [{setWeight: 50}]}}
`;
  const deployment =
    'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app, namespace: shop}\nspec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: b}]}}}\n';
  const move = await planOne(named, deployment);
  expect(specOf(await after(move, 1), 'Rollout')).toMatchObject({ workloadRef: { scaleDown: 'never' } });
  const objects = await after(move);
  expect(specOf(objects, 'Canary').targetRef).toMatchObject({ kind: 'Deployment', name: 'app' });
  expect(specOf(objects, 'Deployment').replicas).toBe(5);
  expect(objects.filter(({ kind }) => kind === 'Deployment')).toHaveLength(1);
});

it('the Rollout keeps its pods until the Canary has taken over, and each run goes on from the files', async () => {
  const first = await planOne(
    rollout('{blueGreen: {activeService: web-active, maxUnavailable: 1}}'),
    service('web-active'),
  );
  const one = await after(first, 1);
  expect(specOf(one, 'Rollout').strategy).toEqual({ canary: { maxUnavailable: 1 } });
  expect(specOf(one, 'Canary').suspend).toBe(true);
  expect(one.map(({ kind }) => kind)).not.toContain('Deployment');

  const second = await planRollouts({ path: folder, connection: undefined });
  expect(second[0]?.steps.map(({ changes }) => changes.length)).toEqual([0, 1, 1]);
  const two = await after(second[0] as Move, 2);
  expect(specOf(two, 'Canary')).not.toHaveProperty('suspend');
  expect(specOf(two, 'Rollout').template).toEqual(specOf(two, 'Deployment').template);
  expect(specOf(two, 'Deployment').strategy).toEqual({
    type: 'RollingUpdate',
    rollingUpdate: { maxUnavailable: 1 },
  });

  const third = await planRollouts({ path: folder, connection: undefined });
  expect(third[0]?.steps.map(({ changes }) => changes.length)).toEqual([0, 0, 1]);
  expect((await after(third[0] as Move)).map(({ kind }) => kind)).toEqual([
    'Deployment',
    'Canary',
    'Service',
  ]);
  expect(await planRollouts({ path: folder, connection: undefined })).toEqual([]);
});

it('tells what else names the Rollout or its pods, and takes the namespace from the kustomization', async () => {
  const text = rollout('{canary: {steps: [{setWeight: 50}]}}').replace(', namespace: shop', '');
  const budget =
    'apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {selector: {matchLabels: {app: web}}}\n';
  const [move] = await plan({
    'web.yaml': text,
    'budget.yaml': budget,
    'kustomization.yaml':
      'namespace: shop\nresources: [web.yaml, budget.yaml]\npatches:\n  - target: {kind: Rollout}\n    path: patch.yaml\n',
  });
  expect(move?.name).toBe('Rollout shop/web');
  const added = (await after(move as Move)).filter(({ kind }) => ['Canary', 'Deployment'].includes(kind));
  expect(added.map(({ metadata }) => metadata.namespace)).toEqual([undefined, undefined]);
  expect(move?.notes).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/web\.yaml:\d+: metadata: names no namespace; shop is meant/),
      expect.stringMatching(/kustomization\.yaml:4: names Rollouts/),
      expect.stringMatching(/budget\.yaml:\d+: PodDisruptionBudget web selects/),
    ]),
  );
});

it.each([
  ['by the namespace of its kustomization', 'namespace: NAME\nresources: [web.yaml]\n'],
  ['by its folder', 'resources: [web.yaml]\n'],
])('what was migrated for one environment is not taken for that of another: %s', async (_, kustomization) => {
  const web = rollout('{canary: {steps: [{setWeight: 50}]}}').replace(', namespace: shop', '');
  const files = Object.fromEntries(
    ['prod', 'test'].flatMap((name) => [
      [`${name}/web.yaml`, `${web}---\n${scaler.replace(', namespace: shop', '')}`],
      [`${name}/kustomization.yaml`, kustomization.replace('NAME', name)],
    ]),
  );
  const [, test] = await plan(files);
  expect((await after(test as Move)).map(({ kind }) => kind)).toContain('Canary');
  expect(await readFile(join(folder, 'prod/web.yaml'), 'utf8')).toBe(files['prod/web.yaml']);
  const [prod, ...others] = await planRollouts({ path: folder, connection: undefined });
  expect(others).toEqual([]);
  const kinds = (await after(prod as Move)).map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['Deployment', 'Canary']));
});

it('labels that the strategy gives a name by an anchor stay where they are named', async () => {
  const text = `apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  strategy: {canary: {canaryMetadata: {labels: &labels {app: web}}, steps: [{setWeight: 50}]}}
  selector: {matchLabels: *labels }
  template: {metadata: {labels: *labels }, spec: {containers: [{name: app, image: "shop/web:1"}]}}
`;
  const objects = await after(await planOne(text), 2);
  for (const kind of ['Rollout', 'Deployment'])
    expect(specOf(objects, kind)).toMatchObject({
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } } },
    });
});

it.each(['err.*', '^errors$'])(
  'dryRun names metrics by regular expressions, also those of other templates: %s',
  async (name) => {
    const outer = `apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: checks, namespace: shop}
spec: {dryRun: [{metricName: '${name}'}], templates: [{templateName: inner}]}
`;
    const inner = template(prometheus('up')).replace('name: checks', 'name: inner');
    const move = await planOne(analysed(), outer, inner);
    expect(specOf(await after(move), 'Canary').analysis).not.toHaveProperty('metrics');
  },
);

it.each([
  ['', '5m'],
  ['interval: 10m, ', '10m'],
  ['interval: 1h, ', '60m'],
])('a query of Datadog covers the time that it did: %s', async (given, interval) => {
  const metric = `{name: errors, successCondition: "result <= 1", provider: {datadog: {${given}query: "avg:errors{*}"}}}`;
  const { stops, steps } = await planOne(analysed(), template(metric));
  expect(stops).toEqual([]);
  const { analysis } = specOf(await after({ steps } as Move), 'Canary');
  expect(analysis).toMatchObject({ metrics: [{ interval }] });
});

it('an interval of Datadog that cannot be read is a stop, and not the usual five minutes', async () => {
  const metric =
    '{name: errors, successCondition: "result <= 1", provider: {datadog: {interval: soon, query: "avg:errors{*}"}}}';
  expect(await stopsOf(analysed(), template(metric))).toEqual([
    expect.stringContaining('spec.analysis.metrics[0].interval'),
  ]);
});

it('a metric of which any number of checks may fail is not one of which none may', async () => {
  expect(await stopsOf(analysed(), template(prometheus('up', 'failureLimit: -1, ')))).toContainEqual(
    expect.stringContaining('failureLimit: lets every check fail'),
  );
});

it('an argument without a value does not ask for the text null', async () => {
  const text = template(prometheus('up{s="{{args.service}}"}'), '{name: service, value: }');
  expect(await stopsOf(analysed(), text)).toContainEqual(expect.stringContaining('args[0]: has no value'));
});

it.each([
  '{canary: {constructor: {}}}',
  '{canary: {toString: 1, steps: [{constructor: {}}, {__proto__: {}}]}}',
  '{canary: {steps: [{setWeight: {toString: 1}}, {pause: {duration: [{}]}}]}}',
  '{canary: {stableService: web, trafficRouting: {constructor: {}}}}',
  '{canary: {stableService: web, trafficRouting: {istio: {virtualService: {name: {toString: 1}}}}}}',
  '{canary: {analysis: {templates: [{templateName: {toString: 1}}]}}}',
  '{canary: {analysis: {templates: [{templateName: checks}], args: [{name: a, value: {toString: 1}}]}}}',
])('what is in no schema stops and never ends the command: %s', async (strategy) => {
  const odd = template('{name: a, provider: {constructor: {query: "{{args.a}}"}}}');
  const stops = await stopsOf(rollout(strategy), service('web'), odd);
  expect(stops).toContainEqual(expect.stringMatching(/spec\./));
});
