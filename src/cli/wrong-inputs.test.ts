import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { reportText, validate } from './validate.ts';

const canary = `apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: web, namespace: shop}
spec:
  provider: contour
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  autoscalerRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: web}
  progressDeadlineSeconds: 60
  service:
    port: 80
    targetPort: 8080
  analysis:
    interval: 30s
    threshold: 2
    iterations: 5
    metrics:
      - name: latency
        interval: 1m
        templateRef: {name: latency}
        templateVariables: {quantile: "0.99"}
        thresholdRange: {max: 500}
      - name: request-success-rate
        interval: 1m
        thresholdRange: {min: 99}
    webhooks:
      - name: load
        type: rollout
        url: http://load.shop/
        timeout: 5s
    alerts:
      - name: team
        severity: error
        providerRef: {name: team}
`;
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: example.com/web:1
          ports:
            - containerPort: 8080
          resources: {requests: {cpu: 100m, memory: 64Mi}}
          env:
            - {name: LEVEL, value: "1"}
`;
const scaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  minReplicas: 2
  maxReplicas: 4
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
`;
const template = `apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: latency, namespace: shop}
spec:
  provider: {type: prometheus, address: "http://prometheus:9090"}
  query: |
    histogram_quantile({{ variables.quantile }},
      sum(rate(latency_bucket{job="{{ target }}"}[{{ interval }}])) by (le))
`;
const alert = `apiVersion: flagger.app/v1beta1
kind: AlertProvider
metadata: {name: team, namespace: shop}
spec: {type: slack, channel: team, address: "https://hooks.example.com/x"}
`;
const source = `apiVersion: holdfast.dev/v1alpha1
kind: Source
metadata: {name: shop, namespace: shop}
spec:
  url: https://git.example.com/shop.git
  ref: {branch: main}
  path: apps
  interval: 30s
`;
const service = `apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec:
  selector: {app: cart}
  ports:
    - {name: http, port: 80, targetPort: http}
`;
const sound: Readonly<Record<string, string>> = {
  'apps/alert.yaml': alert,
  'apps/canary.yaml': canary,
  'apps/deployment.yaml': deployment,
  'apps/scaler.yaml': scaler,
  'apps/service.yaml': service,
  'apps/template.yaml': template,
  'clusters/source.yaml': source,
  'compose.yaml': 'services:\n  web: {image: web}\n',
};

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-wrong-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function linesOf(files: Readonly<Record<string, string>>): Promise<string[]> {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { stdout } = reportText(await validate({ paths: [folder] }), { columns: 80, colour: false });
  return stdout.replaceAll(`${folder}/`, '').trim().split('\n');
}

it('has nothing to say about a sound repository, and leaves YAML of other tools alone', async () => {
  expect(await linesOf(sound)).toEqual(['no problems in 7 objects of 7 files; 1 other file left alone']);
});

type Row = readonly [file: keyof typeof sound, found: string, replaced: string, lines: readonly string[]];

/** Each is the sound repository with one slip in it. */
const rows: readonly Row[] = [
  [
    'apps/canary.yaml',
    'kind: Canary',
    'kind: Canery',
    ['apps/canary.yaml:2: kind: flagger.app/v1beta1 has no kind Canery; did you mean Canary?'],
  ],
  [
    'apps/canary.yaml',
    'flagger.app/v1beta1',
    'flagger.app/v1',
    ['apps/canary.yaml:1: apiVersion: must be flagger.app/v1beta1'],
  ],
  [
    'apps/canary.yaml',
    'flagger.app/v1beta1',
    'flager.app/v1beta1',
    ['apps/canary.yaml:1: apiVersion: flager.app/v1beta1 has no Canary; did you mean flagger.app/v1beta1?'],
  ],
  [
    'apps/canary.yaml',
    'provider: contour',
    'provider: istoi',
    ['apps/canary.yaml:5: spec.provider: "istoi" is not one of …; did you mean istio?'],
  ],
  [
    'apps/canary.yaml',
    'provider: contour',
    'proivder: contour',
    ['apps/canary.yaml:5: spec.proivder: is not a known field and would be dropped; did you mean provider?'],
  ],
  [
    'apps/canary.yaml',
    'kind: Deployment, name: web',
    'kind: Deploymnet, name: web',
    ['apps/canary.yaml:6: spec.targetRef.kind: "Deploymnet" is not one of …; did you mean Deployment?'],
  ],
  [
    'apps/canary.yaml',
    'kind: Deployment, name: web',
    'kind: Deployment, name: wbe',
    [
      'apps/canary.yaml:6: spec.targetRef.name: Deployment shop/wbe, the target of Canary shop/web, is in no file of this Source',
    ],
  ],
  [
    'apps/canary.yaml',
    '  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n',
    '',
    ['apps/canary.yaml:4: spec.targetRef: is missing'],
  ],
  [
    'apps/canary.yaml',
    'kind: HorizontalPodAutoscaler, name: web',
    'kind: HorizontalPodAutoscaler, name: wbe',
    ['apps/canary.yaml:7: spec.autoscalerRef: HorizontalPodAutoscaler shop/wbe is in no file of this Source'],
  ],
  [
    'apps/canary.yaml',
    'progressDeadlineSeconds: 60',
    'progressDeadlineSeconds: 60s',
    ['apps/canary.yaml:8: spec.progressDeadlineSeconds: must be a number, is a string'],
  ],
  [
    'apps/canary.yaml',
    'progressDeadlineSeconds: 60',
    'progressDeadlineSeconds: -1',
    ['apps/canary.yaml:8: warning: spec.progressDeadlineSeconds: is not above 0, so every wait ends at once'],
  ],
  [
    'apps/canary.yaml',
    'port: 80\n',
    'port: 99999\n',
    ['apps/canary.yaml:10: spec.service.port: must be between 1 and 65535'],
  ],
  [
    'apps/canary.yaml',
    'port: 80\n',
    'port: eighty\n',
    ['apps/canary.yaml:10: spec.service.port: must be a number, is a string'],
  ],
  [
    'apps/canary.yaml',
    'targetPort: 8080',
    'targetPort: 8081',
    [
      'apps/canary.yaml:11: warning: spec.service.targetPort: sends requests to port 8081, which no container of Deployment shop/web declares and no probe checks (its ports: 8080); if nothing listens there, every request fails while the endpoints are ready. Declare the port, or better check it with a readinessProbe',
    ],
  ],
  [
    'apps/canary.yaml',
    'targetPort: 8080',
    'targetPort: htpp',
    [
      'apps/canary.yaml:11: spec.service.targetPort: Canary shop/web: "htpp" is not the name of a TCP port of Deployment shop/web, so its pods would get no requests (its ports: 8080); use one of them, or the number',
    ],
  ],
  [
    'apps/canary.yaml',
    'interval: 30s',
    'interval: 30',
    ['apps/canary.yaml:13: spec.analysis.interval: must be a string, is a number'],
  ],
  [
    'apps/canary.yaml',
    'interval: 30s',
    'interval: 1s',
    [
      'apps/canary.yaml:13: warning: spec.analysis.interval: is below the shortest interval; 10s is used',
      'apps/canary.yaml:25: warning: spec.analysis.webhooks: those of type rollout may take 5s, longer than the interval: checks may come later',
    ],
  ],
  [
    'apps/canary.yaml',
    'threshold: 2',
    'threshold: -2',
    [
      'apps/canary.yaml:14: warning: spec.analysis.threshold: is below 0, which means 1: the first failed check ends the analysis',
    ],
  ],
  [
    'apps/canary.yaml',
    'threshold: 2',
    'threshold: two',
    ['apps/canary.yaml:14: spec.analysis.threshold: must be a number, is a string'],
  ],
  [
    'apps/canary.yaml',
    'iterations: 5',
    'iterations: 0',
    ['apps/canary.yaml:15: spec.analysis.iterations: the analysis would never end; it must be at least 1'],
  ],
  [
    'apps/canary.yaml',
    'iterations: 5',
    'iterations: -5',
    ['apps/canary.yaml:15: spec.analysis.iterations: the analysis would never end; it must be at least 1'],
  ],
  [
    'apps/canary.yaml',
    'iterations: 5',
    'stepWeight: 150\n    maxWeight: 50',
    [
      'apps/canary.yaml:15: warning: spec.analysis.stepWeight: is above maxWeight, which is 50: there is one step only',
    ],
  ],
  [
    'apps/canary.yaml',
    'iterations: 5',
    'stepWeight: 60\n    maxWeight: 50',
    [
      'apps/canary.yaml:15: warning: spec.analysis.stepWeight: is above maxWeight, which is 50: there is one step only',
    ],
  ],
  [
    'apps/canary.yaml',
    'iterations: 5',
    'stepWeight: 10\n    maxWeight: 500',
    ['apps/canary.yaml:16: spec.analysis.maxWeight: must be between 0 and 100'],
  ],
  [
    'apps/canary.yaml',
    'iterations: 5',
    'stepWeights: [50, 20]',
    ['apps/canary.yaml:15: warning: spec.analysis.stepWeights[1]: is not above the step before it'],
  ],
  [
    'apps/canary.yaml',
    'iterations: 5',
    'stepWeights: [10, 120]',
    ['apps/canary.yaml:15: spec.analysis.stepWeights[1]: must be between 0 and 100'],
  ],
  [
    'apps/canary.yaml',
    'iterations: 5',
    'stepWeight: -10',
    ['apps/canary.yaml:15: spec.analysis.stepWeight: the analysis would never end; it must be at least 1'],
  ],
  [
    'apps/canary.yaml',
    '    iterations: 5\n',
    '',
    [
      'apps/canary.yaml:12: spec.analysis: needs exactly one of: interval + threshold + iterations, or interval + threshold + stepWeight, or interval + threshold + stepWeights; none is complete',
    ],
  ],
  [
    'apps/canary.yaml',
    'thresholdRange: {max: 500}',
    'thresholdRange: {min: 500, max: 5}',
    ['apps/canary.yaml:21: spec.analysis.metrics[0].thresholdRange: can never pass: min is above max'],
  ],
  [
    'apps/canary.yaml',
    'thresholdRange: {max: 500}',
    'thresholdRange: {maximum: 500}',
    [
      'apps/canary.yaml:21: spec.analysis.metrics[0].thresholdRange.maximum: is not a known field and would be dropped',
    ],
  ],
  [
    'apps/canary.yaml',
    'thresholdRange: {max: 500}',
    'threshholdRange: {max: 500}',
    [
      'apps/canary.yaml:21: spec.analysis.metrics[0].threshholdRange: is not a known field and would be dropped; did you mean thresholdRange?',
    ],
  ],
  [
    'apps/canary.yaml',
    'templateRef: {name: latency}',
    'templateRef: {name: latnecy}',
    [
      'apps/canary.yaml:19: warning: spec.analysis.metrics[0].templateRef: MetricTemplate shop/latnecy is in none of these files; it must come from elsewhere',
    ],
  ],
  [
    'apps/canary.yaml',
    '{quantile: "0.99"}',
    '{quantlie: "0.99"}',
    [
      'apps/canary.yaml:20: spec.analysis.metrics[0].templateVariables: line 1, column 23: there is no variable quantile; set it in templateVariables',
    ],
  ],
  [
    'apps/canary.yaml',
    '{quantile: "0.99"}',
    '{quantile: 0.99}',
    [
      'apps/canary.yaml:20: spec.analysis.metrics[0].templateVariables.quantile: must be a string, is a number',
    ],
  ],
  [
    'apps/canary.yaml',
    'type: rollout',
    'type: rolout',
    ['apps/canary.yaml:27: spec.analysis.webhooks[0].type: "rolout" is not one of …; did you mean rollout?'],
  ],
  [
    'apps/canary.yaml',
    'url: http://load.shop/',
    'url: load.shop',
    ['apps/canary.yaml:28: spec.analysis.webhooks[0].url: is no http:// or https:// address'],
  ],
  [
    'apps/canary.yaml',
    'timeout: 5s',
    'timeout: 5',
    ['apps/canary.yaml:29: spec.analysis.webhooks[0].timeout: must be a string, is a number'],
  ],
  [
    'apps/canary.yaml',
    'severity: error',
    'severity: eror',
    ['apps/canary.yaml:32: spec.analysis.alerts[0].severity: "eror" is not one of …; did you mean error?'],
  ],
  [
    'apps/canary.yaml',
    'providerRef: {name: team}',
    'providerRef: {name: taem}',
    [
      'apps/canary.yaml:33: warning: spec.analysis.alerts[0].providerRef: AlertProvider shop/taem is in none of these files; it must come from elsewhere',
    ],
  ],
  [
    'apps/canary.yaml',
    'namespace: shop',
    'namspace: shop',
    [
      'apps/canary.yaml:1: metadata.namespace: Canary web has no namespace; set it, or set spec.defaultNamespace of the Source',
      'apps/canary.yaml:6: spec.targetRef.name: Deployment /web, the target of Canary /web, is in no file of this Source',
      'apps/canary.yaml:7: spec.autoscalerRef: HorizontalPodAutoscaler web is in no file of this Source',
      'apps/canary.yaml:19: warning: spec.analysis.metrics[0].templateRef: MetricTemplate latency is in none of these files; it must come from elsewhere',
      'apps/canary.yaml:33: warning: spec.analysis.alerts[0].providerRef: AlertProvider team is in none of these files; it must come from elsewhere',
    ],
  ],
  [
    'apps/template.yaml',
    '{{ target }}',
    '{{ tagret }}',
    ['apps/template.yaml:6: spec.query: line 2, column 35: tagret is unknown; did you mean target?'],
  ],
  [
    'apps/template.yaml',
    '{{ target }}',
    '{{ target | qoute }}',
    [
      'apps/template.yaml:6: spec.query: line 2, column 44: qoute is not a function; there are printf, print, eq, ne, not, and, or, index',
    ],
  ],
  [
    'apps/template.yaml',
    '{{ target }}',
    '{{ target }',
    ['apps/template.yaml:6: spec.query: line 2, column 32: this action has no end: }} is missing'],
  ],
  [
    'apps/template.yaml',
    'type: prometheus',
    'type: promethues',
    ['apps/template.yaml:5: spec.provider.type: "promethues" is not one of …; did you mean prometheus?'],
  ],
  [
    'apps/template.yaml',
    'http://prometheus:9090',
    'prometheus:9090',
    ['apps/template.yaml:5: spec.provider.address: must begin with http:// or https://'],
  ],
  [
    'apps/template.yaml',
    '  query: |',
    '  querry: |',
    [
      'apps/template.yaml:4: spec.query: is missing',
      'apps/template.yaml:6: spec.querry: is not a known field and would be dropped; did you mean query?',
    ],
  ],
  [
    'apps/alert.yaml',
    'type: slack',
    'type: slak',
    ['apps/alert.yaml:4: spec.type: "slak" is not one of …; did you mean slack?'],
  ],
  [
    'apps/alert.yaml',
    'https://hooks.example.com/x',
    'hooks.example.com',
    ['apps/alert.yaml:4: spec.address: must begin with http:// or https://'],
  ],
  [
    'apps/deployment.yaml',
    'kind: Deployment',
    'kind: Deploymnet',
    [
      'apps/canary.yaml:6: spec.targetRef.name: Deployment shop/web, the target of Canary shop/web, is in no file of this Source',
      'apps/deployment.yaml:2: kind: apps/v1 has no kind Deploymnet; did you mean Deployment?',
    ],
  ],
  [
    'apps/deployment.yaml',
    'apps/v1',
    'apps/v1beta1',
    ['apps/deployment.yaml:1: apiVersion: apps/v1beta1 has no Deployment; did you mean apps/v1?'],
  ],
  [
    'apps/deployment.yaml',
    'apps/v1',
    'extensions/v1beta1',
    [
      'apps/canary.yaml:6: spec.targetRef.name: Deployment shop/web, the target of Canary shop/web, is in no file of this Source',
      'apps/deployment.yaml:1: apiVersion: extensions/v1beta1 has no Deployment; did you mean apps/v1?',
    ],
  ],
  [
    'apps/deployment.yaml',
    'apps/v1',
    'app/v1',
    [
      'apps/canary.yaml:6: spec.targetRef.name: Deployment shop/web, the target of Canary shop/web, is in no file of this Source',
      'apps/deployment.yaml:1: apiVersion: app/v1 has no Deployment; did you mean apps/v1?',
    ],
  ],
  ['apps/deployment.yaml', 'apiVersion: apps/v1\n', '', ['apps/deployment.yaml:1: apiVersion: is missing']],
  [
    'apps/deployment.yaml',
    'replicas: 2',
    'replicas: two',
    ['apps/deployment.yaml:5: spec.replicas: must be a whole number, is a string'],
  ],
  [
    'apps/deployment.yaml',
    'replicas: 2',
    'replicas: -2',
    ['apps/deployment.yaml:5: spec.replicas: must be at least 0'],
  ],
  [
    'apps/deployment.yaml',
    'image: example',
    'imge: example',
    [
      'apps/deployment.yaml:11: spec.template.spec.containers[0].image: is missing',
      'apps/deployment.yaml:12: spec.template.spec.containers[0].imge: is not a field of Container; did you mean image?',
    ],
  ],
  [
    'apps/deployment.yaml',
    'image: example.com/web:1',
    'image: example.com/web :1',
    ['apps/deployment.yaml:12: spec.template.spec.containers[0].image: must not contain spaces'],
  ],
  [
    'apps/deployment.yaml',
    'containers:',
    'container:',
    [
      'apps/deployment.yaml:9: spec.template.spec.containers: is missing',
      'apps/deployment.yaml:9: spec.template.spec.containers: Deployment shop/web: the pod template has no containers',
      'apps/deployment.yaml:10: spec.template.spec.container: is not a field of PodSpec; did you mean containers?',
    ],
  ],
  [
    'apps/deployment.yaml',
    'containerPort: 8080',
    'containerPort: 80800',
    [
      'apps/canary.yaml:11: warning: spec.service.targetPort: sends requests to port 8080, which no container of Deployment shop/web declares and no probe checks (its ports: 80800); if nothing listens there, every request fails while the endpoints are ready. Declare the port, or better check it with a readinessProbe',
      'apps/deployment.yaml:14: spec.template.spec.containers[0].ports[0].containerPort: must be between 1 and 65535',
    ],
  ],
  [
    'apps/deployment.yaml',
    'containerPort: 8080',
    'containerPort: "8080"',
    [
      'apps/deployment.yaml:14: spec.template.spec.containers[0].ports[0].containerPort: must be a whole number, is a string',
    ],
  ],
  [
    'apps/deployment.yaml',
    'matchLabels: {app: web}',
    'matchLabels: {app: wbe}',
    [
      'apps/deployment.yaml:6: spec.selector.matchLabels.app: is not a label of spec.template, so no pod would be selected',
      'apps/deployment.yaml:8: spec.template.metadata.labels[app]: Deployment shop/web of Canary shop/web: must be wbe, as in spec.selector.matchLabels',
    ],
  ],
  [
    'apps/deployment.yaml',
    'memory: 64Mi',
    'memory: 64MB',
    [
      'apps/deployment.yaml:15: spec.template.spec.containers[0].resources.requests.memory: must be a quantity such as 500m, 2, 128Mi or 1Gi',
    ],
  ],
  [
    'apps/deployment.yaml',
    'value: "1"',
    'value: 1',
    ['apps/deployment.yaml:17: spec.template.spec.containers[0].env[0].value: must be a string: quote it'],
  ],
  [
    'apps/deployment.yaml',
    'labels: {app: web}}\nspec:\n  repl',
    'labels: {app: web server}}\nspec:\n  repl',
    [
      'apps/deployment.yaml:3: metadata.labels.app: must be a label value: letters, digits, -, _ and ., at most 63 characters, a letter or digit at both ends',
    ],
  ],
  [
    'apps/deployment.yaml',
    'name: web, namespace',
    'name: Web, namespace',
    [
      'apps/canary.yaml:6: spec.targetRef.name: Deployment shop/web, the target of Canary shop/web, is in no file of this Source',
      'apps/deployment.yaml:3: metadata.name: must be lower-case letters, digits, - and ., at most 253 characters',
    ],
  ],
  [
    'apps/deployment.yaml',
    '          ports:',
    '\t  ports:',
    ['apps/deployment.yaml:13: is not valid YAML: tabs cannot indent'],
  ],
  [
    'apps/scaler.yaml',
    'autoscaling/v2',
    'autoscaling/v2beta2',
    [
      'apps/scaler.yaml:1: apiVersion: autoscaling/v2beta2 has no HorizontalPodAutoscaler; did you mean autoscaling/v2?',
    ],
  ],
  [
    'apps/scaler.yaml',
    'maxReplicas: 4',
    'maxReplica: 4',
    [
      'apps/scaler.yaml:4: spec.maxReplicas: is missing',
      'apps/scaler.yaml:6: spec.maxReplica: is not a field of HorizontalPodAutoscalerSpec; did you mean maxReplicas?',
    ],
  ],
  [
    'apps/service.yaml',
    'port: 80, ',
    'prot: 80, ',
    [
      'apps/service.yaml:7: spec.ports[0].port: is missing',
      'apps/service.yaml:7: spec.ports[0].prot: is not a field of ServicePort; did you mean port?',
    ],
  ],
  [
    'apps/service.yaml',
    'selector: {app: cart}',
    'selector: [app, cart]',
    ['apps/service.yaml:5: spec.selector: must be a mapping, is a list'],
  ],
  [
    'clusters/source.yaml',
    'kind: Source',
    'kind: Sorce',
    ['clusters/source.yaml:2: kind: holdfast.dev/v1alpha1 has no kind Sorce; did you mean Source?'],
  ],
  [
    'clusters/source.yaml',
    'https://git',
    'htps://git',
    ['clusters/source.yaml:5: spec.url: must begin with http:// or https://'],
  ],
  [
    'clusters/source.yaml',
    'branch: main',
    'brnach: main',
    [
      'clusters/source.yaml:6: spec.ref: needs exactly one of: branch, or tag, or semver, or commit; none is complete',
      'clusters/source.yaml:6: spec.ref.brnach: is not a known field and would be dropped; did you mean branch?',
    ],
  ],
  [
    'clusters/source.yaml',
    'path: apps',
    'path: ../apps',
    ['clusters/source.yaml:7: spec.path: must stay inside the repository, written with /'],
  ],
  [
    'clusters/source.yaml',
    'path: apps',
    'path: aps',
    ['clusters/source.yaml:7: warning: spec.path: there is no folder aps in this repository'],
  ],
  [
    'clusters/source.yaml',
    'interval: 30s',
    'interval: half a minute',
    ['clusters/source.yaml:8: spec.interval: must be a duration such as 30s, 1m30s or 500ms'],
  ],
  [
    'apps/canary.yaml',
    'min: 99',
    'min: -99',
    [
      'apps/canary.yaml:24: warning: spec.analysis.metrics[1].thresholdRange: has a bound below 0, which this metric never is',
    ],
  ],
  [
    'apps/canary.yaml',
    'provider: contour',
    'provider: gatewayapi:v1',
    ['apps/canary.yaml:9: spec.service.gatewayRefs: is missing; provider gatewayapi:v1 needs it'],
  ],
  [
    'apps/canary.yaml',
    'interval: 30s',
    'intervall: 30s',
    [
      'apps/canary.yaml:12: spec.analysis: needs exactly one of: interval + threshold + iterations, or interval + threshold + stepWeight, or interval + threshold + stepWeights; none is complete',
      'apps/canary.yaml:13: spec.analysis.intervall: is not a known field and would be dropped; did you mean interval?',
    ],
  ],
];

it.each(rows)('%s with %j as %j', async (file, found, replaced, expected) => {
  const text = sound[file] ?? '';
  expect(text.split(found)).toHaveLength(2);
  const lines = await linesOf({ ...sound, [file]: text.replace(found, replaced) });
  const shortened = lines.map((line) =>
    line.replace(/is not one of .*; did you mean/, 'is not one of …; did you mean'),
  );
  expect(shortened.slice(0, -1)).toEqual(expected);
});
