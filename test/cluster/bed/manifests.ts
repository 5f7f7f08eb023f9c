import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { gateway } from './gateway.ts';

/** A Deployment of the bed's program, or of an image that says otherwise. */
export interface DeploymentOptions {
  readonly name: string;
  readonly image: string;
  readonly replicas?: number;
  /** Settings of the program; see test/cluster/tools/app/main.go. */
  readonly env?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly strategy?: unknown;
  /** Further fields of the container; an `envFrom`, for example. */
  readonly container?: Readonly<Record<string, unknown>>;
  readonly progressDeadlineSeconds?: number;
}

/** A Deployment labelled `app: <name>`, serving HTTP on port 8080, ready when /ready says so, looked at every second. */
export function deployment(options: DeploymentOptions): KubernetesObject {
  const { name, image, replicas = 1, env = {}, labels = {}, annotations = {} } = options;
  const container = {
    name: 'app',
    image,
    ports: [{ name: 'http', containerPort: 8080 }],
    readinessProbe: { httpGet: { path: '/ready', port: 'http' }, periodSeconds: 1, failureThreshold: 2 },
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
    ...options.container,
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels: { app: name, ...labels } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      ...(options.strategy ? { strategy: options.strategy } : {}),
      ...(options.progressDeadlineSeconds
        ? { progressDeadlineSeconds: options.progressDeadlineSeconds }
        : {}),
      template: {
        metadata: { labels: { app: name, ...labels }, annotations },
        spec: { terminationGracePeriodSeconds: 10, containers: [container] },
      },
    },
  };
}

/** A Service on port 80 for the pods labelled `app: <app>`. */
export function service(name: string, app: string = name): KubernetesObject {
  const ports = [{ name: 'http', port: 80, targetPort: 'http' }];
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { selector: { app }, ports } };
}

/** Weights by Service name, in percent. */
export type Weights = Readonly<Record<string, number>>;

/** An HTTPRoute on the bed's Gateway. */
export function httpRoute(name: string, host: string, weights: Weights): KubernetesObject {
  const backendRefs = Object.entries(weights).map(([to, weight]) => ({ name: to, port: 80, weight }));
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name },
    spec: { parentRefs: [{ ...gateway }], hostnames: [host], rules: [{ backendRefs }] },
  };
}

/** Contour's own kind of route. */
export function httpProxy(name: string, host: string, weights: Weights): KubernetesObject {
  const services = Object.entries(weights).map(([to, weight]) => ({ name: to, port: 80, weight }));
  return {
    apiVersion: 'projectcontour.io/v1',
    kind: 'HTTPProxy',
    metadata: { name },
    spec: { virtualhost: { fqdn: host }, routes: [{ conditions: [{ prefix: '/' }], services }] },
  };
}
