import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inject } from 'vitest';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { accountToken } from './access.ts';
import { type ApiClient, createApiClient } from './api-client.ts';
import type { BedAddresses } from './bed.ts';
import { createGitRepo, type GitRepo } from './git-repo.ts';
import type { Load, LoadOptions } from './load.ts';
import { askForLoad } from './load-server.ts';
import { createObjects, type Objects } from './objects.ts';

/** The running bed as a test uses it. */
export interface BedClient extends BedAddresses {
  /** Raw requests as an administrator. */
  readonly api: ApiClient;
  readonly readObject: Objects['read'];
  readonly listObjects: Objects['list'];
  /** Runs kubectl and returns its output. Throws with its messages when it fails. */
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
  /** As `kubectl apply --server-side`, by default in the namespace `default`. */
  apply(objects: readonly KubernetesObject[], namespace?: string): Promise<void>;
  readonly define: Objects['define'];
  /** A token of a service account, valid for twelve hours. */
  tokenOf(namespace: string, account: string): Promise<string>;
  createNamespace(name: string): Promise<void>;
  /** Deletes the workloads and routes of a namespace whose story is over, so that they cost the others nothing. */
  clearNamespace(name: string): Promise<void>;
  createGitRepo(name: string): Promise<GitRepo>;
  /** Through the bed's Envoy, unless another one is named. */
  startLoad(options: Omit<LoadOptions, 'envoyUrl'> & Partial<Pick<LoadOptions, 'envoyUrl'>>): Load;
  /** The value of each series of an instant query, with its labels. */
  queryPrometheus(query: string): Promise<readonly PrometheusSeries[]>;
  /** Requests to the API server in the audit log, of one user or of a user agent's beginning; the bed's own parts are not in it. */
  auditedRequests(filter: { readonly user?: string; readonly userAgent?: string }): readonly AuditedRequest[];
}

/** One series of an instant query. */
export interface PrometheusSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One request to the API server: a finished one, or a watch that was opened. */
export interface AuditedRequest {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent: string;
  readonly user: { readonly username: string };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
}

/** What keeps processes, proxies and controllers busy. */
const atWork = [
  ['autoscaling/v2', 'horizontalpodautoscalers'],
  ['apps/v1', 'deployments'],
  ['apps/v1', 'daemonsets'],
  ['apps/v1', 'statefulsets'],
  ['gateway.networking.k8s.io/v1', 'httproutes'],
  ['projectcontour.io/v1', 'httpproxies'],
] as const;

/** The bed that global-setup.ts has started. */
export function useBed(): BedClient {
  const bed = inject('bed');
  const { apiServer: server, ca, adminToken: token } = bed;
  const api = createApiClient({ server, ca, token, userAgent: 'bed-test' });
  const { read, list, apply, define } = createObjects(api);
  const kubectl = (args: readonly string[], stdin?: string) => runKubectl(bed, args, stdin);
  return {
    ...bed,
    api,
    readObject: read,
    listObjects: list,
    kubectl,
    apply: (objects, namespace = 'default') => apply(objects, namespace),
    define,
    tokenOf: (namespace, account) => accountToken(api, namespace, account),
    createNamespace: async (name) => {
      await api.request('POST', '/api/v1/namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name },
      });
    },
    clearNamespace: async (name) => {
      const deletions = atWork.map(([version, plural]) =>
        api.request('DELETE', `/apis/${version}/namespaces/${name}/${plural}?propagationPolicy=Background`),
      );
      await Promise.all(deletions);
    },
    createGitRepo: (name) => createGitRepo(bed.gitRoot, bed.gitBaseUrl, name),
    startLoad: (options) => askForLoad(bed.loadUrl, { envoyUrl: bed.envoyUrl, ...options }),
    queryPrometheus: (query) => queryPrometheus(bed.prometheusUrl, query),
    auditedRequests: ({ user, userAgent }) =>
      readAuditLog(bed.auditLogPath, user ?? userAgent).filter(
        (request) =>
          (user === undefined || request.user.username === user) &&
          (userAgent === undefined || request.userAgent.startsWith(userAgent)),
      ),
  };
}

/** How long and how often to look. */
export interface WaitOptions {
  readonly timeoutMs: number;
  readonly intervalMs?: number;
  /** What is waited for, in the words of a failure. */
  readonly what: string;
  /** Shown when it does not come about: what there was instead. */
  readonly describe?: () => Promise<unknown>;
}

/** Looks until `look` gives something that is neither undefined nor false, and returns it. Throws when the time is over. */
export async function waitFor<T>(
  look: () => Promise<T | undefined | false>,
  options: WaitOptions,
): Promise<T> {
  const { timeoutMs, intervalMs = 250 } = options;
  const deadline = Date.now() + timeoutMs;
  // On a busy machine looks are late: as many are taken as on a quiet one.
  for (let looks = 1; ; looks += 1) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline && looks >= timeoutMs / intervalMs) {
      const instead = options.describe ? `; there is ${JSON.stringify(await options.describe())}` : '';
      throw new Error(`${options.what}: not within ${timeoutMs / 1000} s${instead}`);
    }
    await sleep(intervalMs);
  }
}

/** A load on a host, from the moment Envoy answers for it. */
export async function answering(bed: BedClient, hostHeader: string): Promise<Load> {
  const answers = async () => {
    const load = bed.startLoad({ hostHeader, requestsPerSecond: 50 });
    await sleep(300);
    const { requests, failed } = await load.stop();
    return requests > 0 && failed === 0;
  };
  await waitFor(answers, { timeoutMs: 60_000, what: `${hostHeader} answers through Envoy` });
  return bed.startLoad({ hostHeader, requestsPerSecond: 50 });
}

function runKubectl(bed: BedAddresses, args: readonly string[], stdin = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(bed.kubectlPath, [`--kubeconfig=${bed.kubeconfigPath}`, ...args]);
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`kubectl ${args.join(' ')} ended with code ${code}: ${errors.trim()}`));
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(stdin);
  });
}

async function queryPrometheus(base: string, query: string): Promise<readonly PrometheusSeries[]> {
  const response = await fetch(`${base}/api/v1/query?query=${encodeURIComponent(query)}`);
  const answer = (await response.json()) as {
    readonly error?: string;
    readonly data?: {
      readonly result: ReadonlyArray<{ metric: Record<string, string>; value: [number, string] }>;
    };
  };
  if (!answer.data) throw new Error(`Prometheus refused ${query}: ${answer.error}`);
  return answer.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}

/** All requests whose line holds this text, but for the line that is being written at this moment. */
export function readAuditLog(path: string, text = ''): readonly AuditedRequest[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  // At the end of a run the log has tens of thousands of lines, of which a test means a few hundred.
  const requests = lines.flatMap((line) => (line.includes(text) ? [JSON.parse(line) as AuditedRequest] : []));
  return requests.filter(({ verb, stage }) => verb !== 'watch' || stage === 'ResponseStarted');
}
