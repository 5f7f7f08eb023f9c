import { stringify } from 'yaml';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { commitFiles, createRepository, revertHead } from '../git-server/git-repository.ts';
import type { ObjectName, Pace } from './options.ts';
import type { Chapter } from './story.ts';

/** The demo's repository and what was committed to it. */
export interface CommitLog {
  /** Commits the release of a chapter, or reverts head; returns the full SHA. */
  add(chapter: Chapter): Promise<string>;
  /** Full SHA of a chapter's commit; empty when it is not committed yet. */
  commitOf(name: Chapter['name']): string;
  /** Release of a commit: v1, v2, v3; the revert of v3 is v2 again. The short SHA for others. */
  releaseOf(commit: string): string;
}

/** Creates `shop.git`, bare and empty, in the folder. */
export async function createCommits(root: string, manifests: ManifestOptions): Promise<CommitLog> {
  const repository = await createRepository(root, 'shop');
  const commits = new Map<string, string>();
  return {
    async add({ name, subject, env }) {
      const common = commits.size === 0 ? commonFiles(manifests) : {};
      const commit = env
        ? await commitFiles(repository, { subject, files: { ...common, ...releaseFiles(manifests, env) } })
        : await revertHead(repository);
      commits.set(name, commit);
      return commit;
    },
    commitOf: (name) => commits.get(name) ?? '',
    releaseOf(commit) {
      const found = [...commits].find(([, sha]) => sha === commit)?.[0];
      return found === 'revert' ? 'v2' : (found ?? commit.slice(0, 7));
    },
  };
}

/** Name of the application: its Deployment, Canary and Service. */
export const application = 'shop';

/** Port of the application's Service. */
const servicePort = 80;

const containerPort = 8080;
const replicas = 2;

/** What the manifests depend on besides the release. */
export interface ManifestOptions {
  readonly namespace: string;
  readonly provider: string;
  readonly image: string;
  readonly gateway: ObjectName | undefined;
  readonly host: string | undefined;
  /** Prometheus that knows the sandbox's traffic; absent: readiness alone decides. */
  readonly prometheus: string | undefined;
  readonly pace: Pace;
}

/** The files of the repository that stay the same from commit to commit, by path. */
function commonFiles(options: ManifestOptions): Record<string, string> {
  const objects = [canary(options), ...metricTemplates(options), ...rootProxies(options)];
  return Object.fromEntries(
    objects.map((object) => [
      `shop/${object.kind.toLowerCase()}-${object.metadata.name}.yaml`,
      stringify(object),
    ]),
  );
}

/** The file that a release changes, by path. */
function releaseFiles(
  { namespace, image }: ManifestOptions,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  return { 'shop/deployment.yaml': stringify(deployment(namespace, image, env)) };
}

/** The Source file that Holdfast is started with. */
export function sourceFile(namespace: string, url: string): string {
  return stringify({
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: application, namespace },
    spec: { url, ref: { branch: 'main' }, path: './shop', interval: '1s' },
  });
}

/**
 * Serves VERSION with busybox's own web server. With PRIMARY_READY=false the pods of a primary never get the file that the readiness
 * probe asks for; sandbox and test bed know the same variable, so that one manifest works everywhere.
 */
const startScript = `
mkdir -p /tmp/www && cd /tmp/www && echo "$VERSION" > index.html
case "$PRIMARY_READY-$(hostname)" in
  false-*-primary-*) echo "never ready" ;;
  *) echo ready > ready ;;
esac
exec httpd -f -p ${containerPort} -h /tmp/www
`.trim();

function deployment(
  namespace: string,
  image: string,
  env: Readonly<Record<string, string>>,
): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: application, namespace },
    spec: {
      replicas,
      selector: { matchLabels: { app: application } },
      template: {
        metadata: { labels: { app: application } },
        spec: {
          terminationGracePeriodSeconds: 3,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_534,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'app',
              image,
              command: ['sh', '-c', startScript],
              env: Object.entries(env).map(([name, value]) => ({ name, value })),
              ports: [{ name: 'http', containerPort }],
              readinessProbe: {
                httpGet: { path: '/ready', port: 'http' },
                periodSeconds: 1,
                failureThreshold: 2,
              },
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
            },
          ],
        },
      },
    },
  };
}

function canary(options: ManifestOptions): KubernetesObject {
  const { namespace, provider, gateway, host, pace } = options;
  const metrics = checks(options);
  // Without a router the canary gets no traffic before promotion, so there is nothing to measure.
  const analysis = provider === 'kubernetes' ? { iterations: 2 } : { stepWeight: 20, maxWeight: 60, metrics };
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: application, namespace },
    spec: {
      provider,
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: application },
      service: {
        port: servicePort,
        targetPort: 'http',
        ...(gateway ? { gatewayRefs: [{ name: gateway.name, namespace: gateway.namespace }] } : {}),
        ...(host && provider !== 'contour' ? { hosts: [host] } : {}),
      },
      progressDeadlineSeconds: 120,
      analysis: { interval: '2s', threshold: 3, ...analysis },
      postPromotion: {
        interval: '1s',
        successThreshold: 2,
        progressDeadlineSeconds: pace.promotionDeadlineSeconds,
        onFailure: 'auto',
        metrics,
      },
    },
  };
}

function checks({ namespace, prometheus }: ManifestOptions): object[] {
  if (prometheus === undefined) return [];
  const metric = (name: string, thresholdRange: object) => ({
    name,
    templateRef: { name, namespace },
    interval: '1s',
    thresholdRange,
  });
  return [metric('success-rate', { min: 99 }), metric('latency-ms', { max: 500 })];
}

function metricTemplates({ namespace, prometheus }: ManifestOptions): KubernetesObject[] {
  if (prometheus === undefined) return [];
  const of = (name: string, series: string): KubernetesObject => ({
    apiVersion: 'flagger.app/v1beta1',
    kind: 'MetricTemplate',
    metadata: { name, namespace },
    spec: {
      provider: { type: 'prometheus', address: prometheus },
      query: `${series}{namespace="{{ namespace }}",workload="{{ target }}"}`,
    },
  });
  return [of('success-rate', 'sandbox_success_rate'), of('latency-ms', 'sandbox_request_duration_ms')];
}

/** Contour serves the Canary's HTTPProxy only through one that has a virtual host. */
function rootProxies({ namespace, provider, host }: ManifestOptions): KubernetesObject[] {
  if (provider !== 'contour' || host === undefined) return [];
  return [
    {
      apiVersion: 'projectcontour.io/v1',
      kind: 'HTTPProxy',
      metadata: { name: `${application}-root`, namespace },
      spec: { virtualhost: { fqdn: host }, includes: [{ name: application, namespace }] },
    },
  ];
}
