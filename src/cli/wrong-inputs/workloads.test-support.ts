/** What people write wrongly in objects of Kubernetes' own kinds. */
import type { Slip, Slips } from './slips.test-support.ts';

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

const inDeployment: readonly Slip[] = [
  [
    'kind: Deployment',
    'kind: Deploymnet',
    [
      'apps/canary.yaml:6: spec.targetRef.name: Deployment shop/web, the target of Canary shop/web, is in no file of this Source',
      'apps/deployment.yaml:2: kind: apps/v1 has no kind Deploymnet; did you mean Deployment?',
    ],
  ],
  [
    'apps/v1',
    'apps/v1beta1',
    ['apps/deployment.yaml:1: apiVersion: apps/v1beta1 has no Deployment; did you mean apps/v1?'],
  ],
  [
    'apps/v1',
    'extensions/v1beta1',
    [
      'apps/canary.yaml:6: spec.targetRef.name: Deployment shop/web, the target of Canary shop/web, is in no file of this Source',
      'apps/deployment.yaml:1: apiVersion: extensions/v1beta1 has no Deployment; did you mean apps/v1?',
    ],
  ],
  [
    'apps/v1',
    'app/v1',
    [
      'apps/canary.yaml:6: spec.targetRef.name: Deployment shop/web, the target of Canary shop/web, is in no file of this Source',
      'apps/deployment.yaml:1: apiVersion: app/v1 has no Deployment; did you mean apps/v1?',
    ],
  ],
  ['apiVersion: apps/v1\n', '', ['apps/deployment.yaml:1: apiVersion: is missing']],
  [
    'replicas: 2',
    'replicas: two',
    ['apps/deployment.yaml:5: spec.replicas: must be a whole number, is a string'],
  ],
  ['replicas: 2', 'replicas: -2', ['apps/deployment.yaml:5: spec.replicas: must be at least 0']],
  [
    'image: example',
    'imge: example',
    [
      'apps/deployment.yaml:11: spec.template.spec.containers[0].image: is missing',
      'apps/deployment.yaml:12: spec.template.spec.containers[0].imge: is not a field of Container; did you mean image?',
    ],
  ],
  [
    'image: example.com/web:1',
    'image: example.com/web :1',
    ['apps/deployment.yaml:12: spec.template.spec.containers[0].image: must not contain spaces'],
  ],
  [
    'containers:',
    'container:',
    [
      'apps/deployment.yaml:9: spec.template.spec.containers: is missing',
      'apps/deployment.yaml:9: spec.template.spec.containers: Deployment shop/web: the pod template has no containers',
      'apps/deployment.yaml:10: spec.template.spec.container: is not a field of PodSpec; did you mean containers?',
    ],
  ],
  [
    'containerPort: 8080',
    'containerPort: 80800',
    [
      'apps/canary.yaml:11: warning: spec.service.targetPort: sends requests to port 8080, which no container of Deployment shop/web declares and no probe checks (its ports: 80800); if nothing listens there, every request fails while the endpoints are ready. Declare the port, or better check it with a readinessProbe',
      'apps/deployment.yaml:14: spec.template.spec.containers[0].ports[0].containerPort: must be between 1 and 65535',
    ],
  ],
  [
    'containerPort: 8080',
    'containerPort: "8080"',
    [
      'apps/deployment.yaml:14: spec.template.spec.containers[0].ports[0].containerPort: must be a whole number, is a string',
    ],
  ],
  [
    'matchLabels: {app: web}',
    'matchLabels: {app: wbe}',
    [
      'apps/deployment.yaml:6: spec.selector.matchLabels.app: is not a label of spec.template, so no pod would be selected',
      'apps/deployment.yaml:8: spec.template.metadata.labels[app]: Deployment shop/web of Canary shop/web: must be wbe, as in spec.selector.matchLabels',
    ],
  ],
  [
    'memory: 64Mi',
    'memory: 64MB',
    [
      'apps/deployment.yaml:15: spec.template.spec.containers[0].resources.requests.memory: must be a quantity such as 500m, 2, 128Mi or 1Gi',
    ],
  ],
  [
    'value: "1"',
    'value: 1',
    ['apps/deployment.yaml:17: spec.template.spec.containers[0].env[0].value: must be a string: quote it'],
  ],
  [
    'labels: {app: web}}\nspec:\n  repl',
    'labels: {app: web server}}\nspec:\n  repl',
    [
      'apps/deployment.yaml:3: metadata.labels.app: must be a label value: letters, digits, -, _ and ., at most 63 characters, a letter or digit at both ends',
    ],
  ],
  [
    'name: web, namespace',
    'name: Web, namespace',
    [
      'apps/canary.yaml:6: spec.targetRef.name: Deployment shop/web, the target of Canary shop/web, is in no file of this Source',
      'apps/deployment.yaml:3: metadata.name: must be lower-case letters, digits, - and ., at most 253 characters',
    ],
  ],
  ['          ports:', '\t  ports:', ['apps/deployment.yaml:13: is not valid YAML: tabs cannot indent']],
];

const scaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  minReplicas: 2
  maxReplicas: 4
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
`;

const inScaler: readonly Slip[] = [
  [
    'autoscaling/v2',
    'autoscaling/v2beta2',
    [
      'apps/scaler.yaml:1: apiVersion: autoscaling/v2beta2 has no HorizontalPodAutoscaler; did you mean autoscaling/v2?',
    ],
  ],
  [
    'maxReplicas: 4',
    'maxReplica: 4',
    [
      'apps/scaler.yaml:4: spec.maxReplicas: is missing',
      'apps/scaler.yaml:6: spec.maxReplica: is not a field of HorizontalPodAutoscalerSpec; did you mean maxReplicas?',
    ],
  ],
];

const service = `apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec:
  selector: {app: cart}
  ports:
    - {name: http, port: 80, targetPort: http}
`;

const inService: readonly Slip[] = [
  [
    'port: 80, ',
    'prot: 80, ',
    [
      'apps/service.yaml:7: spec.ports[0].port: is missing',
      'apps/service.yaml:7: spec.ports[0].prot: is not a field of ServicePort; did you mean port?',
    ],
  ],
  [
    'selector: {app: cart}',
    'selector: [app, cart]',
    ['apps/service.yaml:5: spec.selector: must be a mapping, is a list'],
  ],
];

/** The files, and what may be wrong in them. */
export const wrongWorkloads: readonly Slips[] = [
  { file: 'apps/deployment.yaml', valid: deployment, slips: inDeployment },
  { file: 'apps/scaler.yaml', valid: scaler, slips: inScaler },
  { file: 'apps/service.yaml', valid: service, slips: inService },
];
