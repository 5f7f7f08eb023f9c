import { access as accessFile, readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';
import { type Clock, systemClock } from '../../api/clock.ts';
import { localError } from '../errors.ts';
import { type ClusterAccess, createCredentials } from './credentials.ts';
import { readKubeconfig, type SelectedContext, selectContext } from './kubeconfig.ts';
import { type ClusterProxy, readProxyUrl } from './proxy-url.ts';

/** Where to look for the API server, and what a kubeconfig is allowed to set. */
export interface AccessOptions {
  /** A kubeconfig file; without it: KUBECONFIG, then the pod's service account, then ~/.kube/config. */
  readonly kubeconfig?: string;
  /** A context of that file; default its current one. */
  readonly context?: string;
  /** A kubeconfig may start programs (exec plug-ins). True for a person's command line, false for a server. */
  readonly allowExec: boolean;
  readonly env?: NodeJS.ProcessEnv;
  /** Default /var/run/secrets/kubernetes.io/serviceaccount. */
  readonly serviceAccountDirectory?: string;
  readonly clock?: Clock;
}

const defaultServiceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Finds the cluster and checks that its settings are safe to use. Throws `configuration` errors that name what to change. */
export async function loadClusterAccess(options: AccessOptions): Promise<ClusterAccess> {
  const context = await findContext(options);
  const { server, proxyUrl } = context.cluster;
  const proxy = proxyUrl ? readProxyUrl(proxyUrl) : undefined;
  refuseUnsafe(context, proxy, options);
  const credentials = createCredentials(context, options.clock ?? systemClock);
  return { server, namespace: context.namespace, ...credentials, ...(proxy ? { proxy } : {}) };
}

/** The contexts of the kubeconfig that these options name, in its order; none where there is no kubeconfig. Throws `configuration` errors. */
export async function listContexts(
  options: AccessOptions,
): Promise<ReadonlyArray<{ readonly name: string; readonly namespace: string | undefined }>> {
  const files = await kubeconfigFiles(options);
  const { contexts } = await readKubeconfig(files);
  return contexts.map(({ name, namespace }) => ({ name, namespace: namespace ?? undefined }));
}

async function findContext(options: AccessOptions): Promise<SelectedContext> {
  const env = options.env ?? process.env;
  const isNamed = options.kubeconfig || env.KUBECONFIG?.split(path.delimiter).some(Boolean);
  if (!isNamed && !options.context) {
    const directory = options.serviceAccountDirectory ?? defaultServiceAccountDirectory;
    const inPod = await serviceAccountContext(env, directory);
    if (inPod) return inPod;
  }
  const files = await kubeconfigFiles(options);
  if (files.length > 0) return selectContext(await readKubeconfig(files), options.context);
  throw localError(
    'configuration',
    'no cluster configured: use --kubeconfig FILE, set KUBECONFIG, or run inside a pod',
  );
}

/** The kubeconfig files, in the order of kubectl; empty without one. */
async function kubeconfigFiles({ kubeconfig, env = process.env }: AccessOptions): Promise<string[]> {
  if (kubeconfig) return [kubeconfig];
  const listed = (env.KUBECONFIG ?? '').split(path.delimiter).filter(Boolean);
  if (listed.length === 0) {
    const home = path.join(env.HOME ?? homedir(), '.kube', 'config');
    return (await exists(home)) ? [home] : [];
  }
  const present = await Promise.all(listed.map(exists));
  const found = listed.filter((_, index) => present[index]);
  if (found.length === 0)
    throw localError('configuration', `KUBECONFIG names no file that exists: ${listed.join(path.delimiter)}`);
  return found;
}

/** The service account of the pod we run in, or undefined outside of a cluster. */
async function serviceAccountContext(
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<SelectedContext | undefined> {
  const host = env.KUBERNETES_SERVICE_HOST;
  const tokenFile = path.join(directory, 'token');
  if (!host || !(await exists(tokenFile))) return undefined;
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${env.KUBERNETES_SERVICE_PORT ?? '443'}`;
  return {
    cluster: { name: 'in-cluster', server, caFile: path.join(directory, 'ca.crt'), skipTLSVerify: false },
    user: { name: 'service-account', tokenFile, impersonateGroups: [] },
    namespace: await readFile(path.join(directory, 'namespace'), 'utf8').then(
      (text) => text.trim() || 'default',
      () => 'default',
    ),
  };
}

/** Refuses what a kubeconfig must not ask for: programs, unverified servers, and settings that would be silently ignored. */
function refuseUnsafe(
  { cluster, user }: SelectedContext,
  proxy: ClusterProxy | undefined,
  options: AccessOptions,
): void {
  if (!URL.canParse(cluster.server))
    throw localError('configuration', "kubeconfig: the cluster's server is not a URL");
  const { protocol, hostname } = new URL(cluster.server);
  // Behind a proxy elsewhere, loopback is that machine's: what is sent there crosses a network.
  const loopback = isLoopback(hostname) && (!proxy || isLoopback(new URL(proxy.origin).hostname));
  if (protocol !== 'https:' && !(protocol === 'http:' && loopback)) {
    throw localError(
      'configuration',
      `kubeconfig: server ${protocol}//${hostname} must use https (http only on loopback)`,
    );
  }
  if (cluster.skipTLSVerify && !loopback) {
    throw localError(
      'configuration',
      `kubeconfig: insecure-skip-tls-verify for ${hostname} is not allowed; set its certificate authority`,
    );
  }
  if (user.exec && !options.allowExec) {
    throw localError(
      'configuration',
      'kubeconfig: exec credential plug-ins are not allowed here; use a token, a token file or a certificate',
    );
  }
  const unsupported = unsupportedSetting(user);
  if (unsupported) throw localError('configuration', `kubeconfig: ${unsupported} is not supported`);
}

function unsupportedSetting(user: SelectedContext['user']): string | undefined {
  if (user.authProvider) return 'auth-provider (use an exec plug-in instead)';
  return user.impersonateGroups.length > 0 ? 'as-groups' : undefined;
}

/** True for addresses that never leave this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function exists(file: string): Promise<boolean> {
  return accessFile(file).then(
    () => true,
    () => false,
  );
}
