import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { installObjects } from '../../../src/cli/install/install.ts';
import type { BedClient } from './client.ts';

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
  const token = (await bed.kubectl(['-n', namespace, 'create', 'token', account, '--duration=12h'])).trim();
  const config = parse(readFileSync(bed.kubeconfigPath, 'utf8')) as { users: Array<{ user: object }> };
  const [user] = config.users;
  if (user) user.user = { token };
  const path = join(mkdtempSync(join(tmpdir(), 'holdfast-account-')), 'kubeconfig');
  writeFileSync(path, stringify(config), { mode: 0o600 });
  return path;
}
