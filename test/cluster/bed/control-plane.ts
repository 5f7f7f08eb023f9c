import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { createTokens, type Tokens, type User, users, writeKubeconfig } from './access.ts';
import { addresses } from './addresses.ts';
import { type Program, type Programs, waitForAnswer } from './program.ts';
import type { Tools } from './tools.ts';

/** How to reach the API server, and as whom. */
export interface ControlPlane {
  readonly tokens: Tokens;
  /** PEM of the API server's own certificate. */
  readonly ca: string;
  readonly kubeconfigs: Readonly<Record<User, string>>;
  readonly auditLogPath: string;
  /** The controller manager and the scheduler. */
  readonly controllers: readonly Program[];
}

const API_SERVER_START_MS = 300_000;

/** Starts etcd, the API server, the controller manager and the scheduler in `folder` and returns when the API server is ready. */
export async function startControlPlane(
  tools: Tools,
  programs: Programs,
  folder: string,
  logsFolder: string,
): Promise<ControlPlane> {
  const etcd = programs.start('etcd', tools.etcd, etcdFlags(folder));
  const tokens = createTokens(join(folder, 'tokens.csv'));
  const auditLogPath = join(logsFolder, 'audit.jsonl');
  const files = writeServerFiles(folder);
  const flags = apiServerFlags(folder, files, auditLogPath);
  const apiServer = programs.start('kube-apiserver', tools['kube-apiserver'], flags);
  await waitForAnswer(apiServer, `${addresses.apiServer}/readyz`, API_SERVER_START_MS);
  etcd.assertRunning();
  const ca = readFileSync(join(folder, 'certificates', 'apiserver.crt'), 'utf8');
  const paths = users.map((user) => [user, writeKubeconfig(folder, user, tokens[user], ca)]);
  const kubeconfigs = Object.fromEntries(paths) as Record<User, string>;
  const managerFlags = controllerManagerFlags(kubeconfigs['controller-manager'], files.serviceAccountKey);
  const schedulerFlags = [
    `--kubeconfig=${kubeconfigs.scheduler}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=200',
    '--kube-api-burst=400',
  ];
  const controllers = [
    programs.start('kube-controller-manager', tools['kube-controller-manager'], managerFlags),
    programs.start('kube-scheduler', tools['kube-scheduler'], schedulerFlags),
  ];
  return { tokens, ca, kubeconfigs, auditLogPath, controllers };
}

function etcdFlags(folder: string): readonly string[] {
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${addresses.etcdClient}`,
    `--advertise-client-urls=${addresses.etcdClient}`,
    `--listen-peer-urls=${addresses.etcdPeer}`,
    `--initial-advertise-peer-urls=${addresses.etcdPeer}`,
    `--initial-cluster=default=${addresses.etcdPeer}`,
    '--log-level=warn',
  ];
}

interface ServerFiles {
  readonly serviceAccountKey: string;
  readonly auditPolicy: string;
}

/** The audit log names every request of everyone but the bed's own parts, so that a test can count them. */
function writeServerFiles(folder: string): ServerFiles {
  mkdirSync(join(folder, 'certificates'), { recursive: true });
  const serviceAccountKey = join(folder, 'service-account.key');
  if (!existsSync(serviceAccountKey)) {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(serviceAccountKey, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  }
  const auditPolicy = join(folder, 'audit-policy.yaml');
  const quiet = users.filter((user) => user !== 'admin').map((user) => `bed-${user}`);
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [
      { level: 'None', users: [...quiet, 'system:apiserver', 'system:anonymous'] },
      { level: 'Metadata' },
    ],
  };
  writeFileSync(auditPolicy, stringify(policy));
  return { serviceAccountKey, auditPolicy };
}

function apiServerFlags(folder: string, files: ServerFiles, auditLogPath: string): readonly string[] {
  return [
    `--etcd-servers=${addresses.etcdClient}`,
    `--secure-port=${new URL(addresses.apiServer).port}`,
    '--bind-address=127.0.0.1',
    `--advertise-address=${addresses.advertise}`,
    `--cert-dir=${join(folder, 'certificates')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.96.0.0/16',
    // No kube-proxy answers at the address of a webhook's Service: its pods are asked.
    '--enable-aggregator-routing=true',
    '--disable-admission-plugins=ServiceAccount',
    // As on OpenShift: who names an owner that blocks must have the right to its finalizers.
    '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
    '--allow-privileged=true',
    `--audit-policy-file=${files.auditPolicy}`,
    `--audit-log-path=${auditLogPath}`,
    '--event-ttl=2h',
  ];
}

function controllerManagerFlags(kubeconfig: string, serviceAccountKey: string): readonly string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--service-account-private-key-file=${serviceAccountKey}`,
    '--use-service-account-credentials=false',
    '--leader-elect=false',
    '--secure-port=0',
    // No container has the certificate of its namespace's ConfigMap mounted.
    '--controllers=*,-node-ipam-controller,-root-ca-certificate-publisher-controller',
    '--node-monitor-grace-period=24h',
    '--kube-api-qps=200',
    '--kube-api-burst=400',
    '--concurrent-deployment-syncs=10',
    '--horizontal-pod-autoscaler-sync-period=2s',
    // Of all programs of the bed only Knative reads Endpoints; the others read EndpointSlices, which are written at once.
    '--endpoint-updates-batch-period=2s',
  ];
}

/**
 * Waits until the controller manager and the scheduler have made a pod's way free: the default namespace's service account exists. Fails early when
 * one of them ends.
 */
export async function waitForControllers(
  controllers: readonly Program[],
  ready: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await ready())) {
    for (const program of controllers) program.assertRunning();
    if (Date.now() > deadline)
      throw new Error(`the controller manager is not at work after ${timeoutMs / 1000} s`);
    await sleep(100);
  }
}
