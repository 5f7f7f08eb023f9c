import type { KubernetesObject } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import type { InstalledNames } from './policies.ts';
import { flagArguments, type ProgramFlags } from './program-flags.ts';
import type { RightsOptions } from './rights.ts';

/** What the pod is made of. */
interface DeploymentOptions extends InstalledNames, RightsOptions {
  readonly image: string;
  readonly crossNamespaceRefs: boolean;
  readonly ingressClass: string | undefined;
  readonly replicas: number;
  /** Secret with the key `secret` of the login proxy in front of the dashboard. */
  readonly dashboardProxySecret: string | undefined;
  readonly flags: ProgramFlags;
}

const port = 8080;
/** For probes alone: what others do at the other one must not end the pod. */
const probePort = 8081;
const dashboardPort = 8082;
const proxyDirectory = '/etc/holdfast/dashboard-proxy';
const dataDirectory = '/data';
/** The user that the image runs as. */
const userId = 65_532;

/** One pod under the restricted pod security standard (docs/security.md): nothing on its file system can be written but the Git stores. */
export function deployment(options: DeploymentOptions): KubernetesObject {
  const { name, namespace, labels, selector, replicas } = options;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels: { ...labels } },
    spec: {
      replicas,
      // A copy that waits for the Lease is ready: the next one is there before this one hands the Lease back.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: { ...selector } },
      template: {
        metadata: { labels: { ...labels } },
        spec: podSpec(options),
      },
    },
  };
}

function podSpec(options: DeploymentOptions): object {
  const { name, image, selector, replicas, dashboard, dashboardProxySecret: proxySecret } = options;
  const onDifferentNodes = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: { ...selector } },
  };
  return {
    serviceAccountName: name,
    automountServiceAccountToken: true,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 30,
    ...(replicas > 1 ? { topologySpreadConstraints: [onDifferentNodes] } : {}),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: userId,
      runAsGroup: userId,
      fsGroup: userId,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name,
        image,
        args: [
          'run',
          `--listen=0.0.0.0:${port}`,
          `--probe-listen=0.0.0.0:${probePort}`,
          `--data-dir=${dataDirectory}`,
          ...(dashboard ? [`--dashboard-listen=0.0.0.0:${dashboardPort}`] : []),
          ...(proxySecret ? [`--dashboard-proxy-secret=${proxyDirectory}/secret`] : []),
          ...chosenFlags(options),
        ],
        // A standby replica reads them: it takes over the Lease at once when exactly this pod is gone (ADR 33).
        env: [
          fromPod('POD_NAME', 'metadata.name'),
          fromPod('POD_UID', 'metadata.uid'),
          fromPod('POD_NAMESPACE', 'metadata.namespace'),
        ],
        ports: [
          { name: 'http', containerPort: port, protocol: 'TCP' },
          { name: 'probes', containerPort: probePort, protocol: 'TCP' },
          ...(dashboard ? [{ name: 'dashboard', containerPort: dashboardPort, protocol: 'TCP' }] : []),
        ],
        livenessProbe: probe('/healthz', { periodSeconds: 10, failureThreshold: 6 }),
        readinessProbe: probe('/readyz', { periodSeconds: 5, failureThreshold: 3 }),
        resources: {
          requests: { cpu: '50m', memory: '128Mi', 'ephemeral-storage': '256Mi' },
          // Two programs that render may use 256 MiB each, beside Holdfast itself.
          limits: {
            cpu: '1',
            memory: '1Gi',
            'ephemeral-storage': quantityOf(volumeMib(options.flags) + 256),
          },
        },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        volumeMounts: [
          { name: 'data', mountPath: dataDirectory },
          ...(proxySecret ? [{ name: 'dashboard-proxy', mountPath: proxyDirectory, readOnly: true }] : []),
        ],
      },
    ],
    volumes: [
      { name: 'data', emptyDir: { sizeLimit: quantityOf(volumeMib(options.flags)) } },
      ...(proxySecret ? [{ name: 'dashboard-proxy', secret: { secretName: proxySecret } }] : []),
    ],
  };
}

/** Twice what repositories may take, by default at least, and what is fetched or compacted at the moment. */
function volumeMib(flags: ProgramFlags): number {
  const defaultMib = limits.gitDiskBytes / 1_048_576;
  return 2 * Math.max(defaultMib, Number(flags['git-disk-mib'] ?? defaultMib)) + 256;
}

function quantityOf(mib: number): string {
  return mib % 1024 === 0 ? `${mib / 1024}Gi` : `${mib}Mi`;
}

/** What the administrator chose, as the program takes it. */
function chosenFlags(options: DeploymentOptions): string[] {
  const { watchNamespaces, defaultServiceAccount, trustedSourceNamespaces } = options;
  const { crossNamespaceRefs, ingressClass, flags } = options;
  return [
    ...(watchNamespaces.length > 0 ? [`--watch-namespaces=${watchNamespaces.join(',')}`] : []),
    ...(defaultServiceAccount ? [`--default-service-account=${defaultServiceAccount}`] : []),
    ...(trustedSourceNamespaces.length > 0
      ? [`--trusted-source-namespaces=${trustedSourceNamespaces.join(',')}`]
      : []),
    ...(crossNamespaceRefs ? ['--cross-namespace-refs'] : []),
    ...(ingressClass ? [`--ingress-class=${ingressClass}`] : []),
    ...flagArguments(flags),
  ];
}

function fromPod(name: string, fieldPath: string): object {
  return { name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } };
}

function probe(path: string, times: object): object {
  return { httpGet: { path, port: 'probes' }, timeoutSeconds: 3, ...times };
}

/** The port inside the cluster for push webhooks, metrics and gates, and that of the dashboard. */
export function service({
  name,
  namespace,
  labels,
  selector,
  dashboard,
}: DeploymentOptions): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: { ...labels } },
    spec: {
      selector: { ...selector },
      ports: [
        { name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' },
        ...(dashboard
          ? [{ name: 'dashboard', port: dashboardPort, targetPort: 'dashboard', protocol: 'TCP' }]
          : []),
      ],
    },
  };
}
