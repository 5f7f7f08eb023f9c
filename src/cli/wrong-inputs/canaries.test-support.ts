/** What people write wrongly in a Canary. */
import type { Slip, Slips } from './slips.test-support.ts';

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

const inCanary: readonly Slip[] = [
  [
    'kind: Canary',
    'kind: Canery',
    ['apps/canary.yaml:2: kind: flagger.app/v1beta1 has no kind Canery; did you mean Canary?'],
  ],
  ['flagger.app/v1beta1', 'flagger.app/v1', ['apps/canary.yaml:1: apiVersion: must be flagger.app/v1beta1']],
  [
    'flagger.app/v1beta1',
    'flager.app/v1beta1',
    ['apps/canary.yaml:1: apiVersion: flager.app/v1beta1 has no Canary; did you mean flagger.app/v1beta1?'],
  ],
  [
    'provider: contour',
    'provider: istoi',
    ['apps/canary.yaml:5: spec.provider: "istoi" is not one of …; did you mean istio?'],
  ],
  [
    'provider: contour',
    'proivder: contour',
    ['apps/canary.yaml:5: spec.proivder: is not a known field and would be dropped; did you mean provider?'],
  ],
  [
    'kind: Deployment, name: web',
    'kind: Deploymnet, name: web',
    ['apps/canary.yaml:6: spec.targetRef.kind: "Deploymnet" is not one of …; did you mean Deployment?'],
  ],
  [
    'kind: Deployment, name: web',
    'kind: Deployment, name: wbe',
    [
      'apps/canary.yaml:6: spec.targetRef.name: Deployment shop/wbe, the target of Canary shop/web, is in no file of this Source',
    ],
  ],
  [
    '  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n',
    '',
    ['apps/canary.yaml:4: spec.targetRef: is missing'],
  ],
  [
    'kind: HorizontalPodAutoscaler, name: web',
    'kind: HorizontalPodAutoscaler, name: wbe',
    ['apps/canary.yaml:7: spec.autoscalerRef: HorizontalPodAutoscaler shop/wbe is in no file of this Source'],
  ],
  [
    'progressDeadlineSeconds: 60',
    'progressDeadlineSeconds: 60s',
    ['apps/canary.yaml:8: spec.progressDeadlineSeconds: must be a number, is a string'],
  ],
  [
    'progressDeadlineSeconds: 60',
    'progressDeadlineSeconds: -1',
    ['apps/canary.yaml:8: warning: spec.progressDeadlineSeconds: is not above 0, so every wait ends at once'],
  ],
  ['port: 80\n', 'port: 99999\n', ['apps/canary.yaml:10: spec.service.port: must be between 1 and 65535']],
  ['port: 80\n', 'port: eighty\n', ['apps/canary.yaml:10: spec.service.port: must be a number, is a string']],
  [
    'targetPort: 8080',
    'targetPort: 8081',
    [
      'apps/canary.yaml:11: warning: spec.service.targetPort: sends requests to port 8081, which no container of Deployment shop/web declares and no probe checks (its ports: 8080); if nothing listens there, every request fails while the endpoints are ready. Declare the port, or better check it with a readinessProbe',
    ],
  ],
  [
    'targetPort: 8080',
    'targetPort: htpp',
    [
      'apps/canary.yaml:11: spec.service.targetPort: Canary shop/web: "htpp" is not the name of a TCP port of Deployment shop/web, so its pods would get no requests (its ports: 8080); use one of them, or the number',
    ],
  ],
  [
    'interval: 30s',
    'interval: 30',
    ['apps/canary.yaml:13: spec.analysis.interval: must be a string, is a number'],
  ],
  [
    'interval: 30s',
    'interval: 1s',
    [
      'apps/canary.yaml:13: warning: spec.analysis.interval: is below the shortest interval; 10s is used',
      'apps/canary.yaml:25: warning: spec.analysis.webhooks: those of type rollout may take 5s, longer than the interval: checks may come later',
    ],
  ],
  [
    'threshold: 2',
    'threshold: -2',
    [
      'apps/canary.yaml:14: warning: spec.analysis.threshold: is below 0, which means 1: the first failed check ends the analysis',
    ],
  ],
  [
    'threshold: 2',
    'threshold: two',
    ['apps/canary.yaml:14: spec.analysis.threshold: must be a number, is a string'],
  ],
  [
    'iterations: 5',
    'iterations: 0',
    ['apps/canary.yaml:15: spec.analysis.iterations: the analysis would never end; it must be at least 1'],
  ],
  [
    'iterations: 5',
    'iterations: -5',
    ['apps/canary.yaml:15: spec.analysis.iterations: the analysis would never end; it must be at least 1'],
  ],
  [
    'iterations: 5',
    'stepWeight: 150\n    maxWeight: 50',
    [
      'apps/canary.yaml:15: warning: spec.analysis.stepWeight: is above maxWeight, which is 50: there is one step only',
    ],
  ],
  [
    'iterations: 5',
    'stepWeight: 60\n    maxWeight: 50',
    [
      'apps/canary.yaml:15: warning: spec.analysis.stepWeight: is above maxWeight, which is 50: there is one step only',
    ],
  ],
  [
    'iterations: 5',
    'stepWeight: 10\n    maxWeight: 500',
    ['apps/canary.yaml:16: spec.analysis.maxWeight: must be between 0 and 100'],
  ],
  [
    'iterations: 5',
    'stepWeights: [50, 20]',
    ['apps/canary.yaml:15: warning: spec.analysis.stepWeights[1]: is not above the step before it'],
  ],
  [
    'iterations: 5',
    'stepWeights: [10, 120]',
    ['apps/canary.yaml:15: warning: spec.analysis.stepWeights[1]: is above 100, and counts as 100'],
  ],
  [
    'iterations: 5',
    'stepWeight: -10',
    ['apps/canary.yaml:15: spec.analysis.stepWeight: the analysis would never end; it must be at least 1'],
  ],
  [
    '    iterations: 5\n',
    '',
    [
      'apps/canary.yaml:12: spec.analysis: needs exactly one of: interval + threshold + iterations, or interval + threshold + stepWeight, or interval + threshold + stepWeights; none is complete',
    ],
  ],
  [
    'thresholdRange: {max: 500}',
    'thresholdRange: {min: 500, max: 5}',
    ['apps/canary.yaml:21: spec.analysis.metrics[0].thresholdRange: can never pass: min is above max'],
  ],
  [
    'thresholdRange: {max: 500}',
    'thresholdRange: {maximum: 500}',
    [
      'apps/canary.yaml:21: spec.analysis.metrics[0].thresholdRange.maximum: is not a known field and would be dropped',
    ],
  ],
  [
    'thresholdRange: {max: 500}',
    'threshholdRange: {max: 500}',
    [
      'apps/canary.yaml:21: spec.analysis.metrics[0].threshholdRange: is not a known field and would be dropped; did you mean thresholdRange?',
    ],
  ],
  [
    'templateRef: {name: latency}',
    'templateRef: {name: latnecy}',
    [
      'apps/canary.yaml:19: warning: spec.analysis.metrics[0].templateRef: MetricTemplate shop/latnecy is in none of these files; it must come from elsewhere',
    ],
  ],
  [
    '{quantile: "0.99"}',
    '{quantlie: "0.99"}',
    [
      'apps/canary.yaml:20: spec.analysis.metrics[0].templateVariables: line 1, column 23: there is no variable quantile; set it in templateVariables',
    ],
  ],
  [
    '{quantile: "0.99"}',
    '{quantile: 0.99}',
    [
      'apps/canary.yaml:20: spec.analysis.metrics[0].templateVariables.quantile: must be a string, is a number',
    ],
  ],
  [
    'type: rollout',
    'type: rolout',
    ['apps/canary.yaml:27: spec.analysis.webhooks[0].type: "rolout" is not one of …; did you mean rollout?'],
  ],
  [
    'url: http://load.shop/',
    'url: load.shop',
    ['apps/canary.yaml:28: spec.analysis.webhooks[0].url: is not an http:// or https:// URL'],
  ],
  [
    'timeout: 5s',
    'timeout: 5',
    ['apps/canary.yaml:29: spec.analysis.webhooks[0].timeout: must be a string, is a number'],
  ],
  [
    'severity: error',
    'severity: eror',
    ['apps/canary.yaml:32: spec.analysis.alerts[0].severity: "eror" is not one of …; did you mean error?'],
  ],
  [
    'providerRef: {name: team}',
    'providerRef: {name: taem}',
    [
      'apps/canary.yaml:33: warning: spec.analysis.alerts[0].providerRef: AlertProvider shop/taem is in none of these files; it must come from elsewhere',
    ],
  ],
  [
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
    'min: 99',
    'min: -99',
    [
      'apps/canary.yaml:24: warning: spec.analysis.metrics[1].thresholdRange: has a bound below 0, which this metric never is',
    ],
  ],
  [
    'provider: contour',
    'provider: gatewayapi:v1',
    ['apps/canary.yaml:9: spec.service.gatewayRefs: is missing; provider gatewayapi:v1 needs it'],
  ],
  [
    'interval: 30s',
    'intervall: 30s',
    [
      'apps/canary.yaml:12: spec.analysis: needs exactly one of: interval + threshold + iterations, or interval + threshold + stepWeight, or interval + threshold + stepWeights; none is complete',
      'apps/canary.yaml:13: spec.analysis.intervall: is not a known field and would be dropped; did you mean interval?',
    ],
  ],
];

/** The files, and what may be wrong in them. */
export const wrongCanaries: readonly Slips[] = [{ file: 'apps/canary.yaml', valid: canary, slips: inCanary }];
