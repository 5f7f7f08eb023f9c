import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { installObjects } from '../../../src/cli/install/install.ts';
import { type BedClient, waitFor } from './client.ts';

type InstallOptions = Omit<Parameters<typeof installObjects>[0], 'image'>;

const ofCluster = /^(ClusterRole(Binding)?|ValidatingAdmissionPolicy(Binding)?)$/;
const rightsAndPolicies = /^(ServiceAccount|(Cluster)?Role(Binding)?|ValidatingAdmissionPolicy(Binding)?)$/;

/**
 * The rights and admission policies that `holdfast install` prints. What belongs to no namespace gets names of its own (`PREFIX-...`), and Holdfast's kinds their own
 * label of aggregation: suites side by side must not take them from each other.
 */
export function installedRights(prefix: string, options: InstallOptions): KubernetesObject[] {
  const objects = installObjects({ ...options, image: 'holdfast:test' }).filter(({ kind }) =>
    rightsAndPolicies.test(kind),
  );
  const apart = JSON.stringify(objects).replaceAll(
    'holdfast.dev/aggregate-to-apply',
    `${prefix}.holdfast.dev/apply`,
  );
  return (JSON.parse(apart) as KubernetesObject[]).map((object) => {
    const named = (name: string) => `${prefix}-${name}`;
    const { roleRef, spec } = object as {
      roleRef?: { kind: string; name: string };
      spec?: { policyName?: string };
    };
    return {
      ...object,
      ...(ofCluster.test(object.kind)
        ? { metadata: { ...object.metadata, name: named(object.metadata.name) } }
        : {}),
      ...(roleRef?.kind === 'ClusterRole' && roleRef.name !== 'edit'
        ? { roleRef: { ...roleRef, name: named(roleRef.name) } }
        : {}),
      ...(spec?.policyName ? { spec: { ...spec, policyName: named(spec.policyName) } } : {}),
    };
  });
}

/** A kubeconfig with a token of a service account. */
export async function kubeconfigOf(bed: BedClient, namespace: string, account: string): Promise<string> {
  const token = await bed.tokenOf(namespace, account);
  const config = parse(readFileSync(bed.kubeconfigPath, 'utf8')) as { users: Array<{ user: object }> };
  const [user] = config.users;
  if (user) user.user = { token };
  const path = join(mkdtempSync(join(tmpdir(), 'holdfast-account-')), 'kubeconfig');
  writeFileSync(path, stringify(config), { mode: 0o600 });
  return path;
}

/** Kinds of the bed's suites that Kubernetes' role `edit` does not cover; whoever uses them gives them to the account, as a team would. */
const customKinds = [
  { apiGroups: ['gateway.networking.k8s.io'], resources: ['httproutes'] },
  { apiGroups: ['projectcontour.io'], resources: ['httpproxies'] },
  { apiGroups: ['keda.sh'], resources: ['scaledobjects'] },
  { apiGroups: ['serving.knative.dev'], resources: ['services'] },
  { apiGroups: ['traefik.io'], resources: ['ingressroutes'] },
].map((rule) => ({ ...rule, verbs: ['get', 'create', 'patch', 'delete'] }));

/**
 * Gives a Holdfast of these namespaces, which runs in the first one, exactly the rights that `holdfast install` prints for it, and returns its
 * kubeconfig. Sources may name service accounts.
 */
export async function grantInstalled(bed: BedClient, namespaces: readonly string[]): Promise<string> {
  const [namespace = ''] = namespaces;
  const options = { namespace, watchNamespaces: namespaces, impersonation: true };
  const rights = installedRights(`bed-${namespace}`, options).filter(
    ({ kind }) => !kind.startsWith('Validating'),
  );
  const rbac = 'rbac.authorization.k8s.io';
  const custom = namespaces.flatMap((where) => [
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata: { name: 'custom-kinds', namespace: where },
      rules: customKinds,
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'custom-kinds', namespace: where },
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'custom-kinds' },
      subjects: [{ kind: 'ServiceAccount', name: 'holdfast-source', namespace: where }],
    },
  ]);
  await bed.apply([...rights, ...custom, ...rightsOfCluster(`bed-${namespace}`, namespace)]);
  for (const where of namespaces) {
    await untilMay(bed, `system:serviceaccount:${namespace}:holdfast`, { namespace: where, verb: 'patch' });
    await untilMay(bed, `system:serviceaccount:${where}:holdfast-source`, {
      namespace: where,
      verb: 'create',
    });
  }
  return kubeconfigOf(bed, namespace, 'holdfast');
}

/** What is left out where Holdfast is confined to namespaces, and suites look at all the same: who opens a gate, and the order of nodes. */
function rightsOfCluster(prefix: string, namespace: string): KubernetesObject[] {
  const everywhere = installedRights(prefix, { namespace }).find(
    ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === `${prefix}-holdfast`,
  );
  const isOfCluster = /^(tokenreviews|subjectaccessreviews|nodes)$/;
  const rules = ((everywhere?.rules ?? []) as Array<{ resources: string[] }>).filter(({ resources }) =>
    resources.every((resource) => isOfCluster.test(resource)),
  );
  const rbac = 'rbac.authorization.k8s.io';
  const name = `${prefix}-cluster`;
  return [
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: 'holdfast', namespace }],
    },
  ];
}

/** Roles are aggregated, and known to the API server, a moment after they were written. */
async function untilMay(
  bed: BedClient,
  user: string,
  { namespace, verb }: { namespace: string; verb: string },
): Promise<void> {
  const resourceAttributes = { group: 'flagger.app', resource: 'canaries', namespace, verb };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, resourceAttributes },
  };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const mayIt = async () =>
    ((await bed.api.request('POST', path, review)).status as { allowed?: boolean }).allowed === true;
  await waitFor(mayIt, {
    timeoutMs: 120_000,
    intervalMs: 50,
    what: `${user} may ${verb} Canaries in ${namespace}`,
  });
}
