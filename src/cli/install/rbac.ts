import { type KubernetesObject, sourceAccount } from '../../api/kubernetes.ts';
import type { InstalledNames } from './policies.ts';
import {
  applyRights,
  holdfastRights,
  holdfastVerbs,
  ownership,
  ownRights,
  type Right,
  type RightsOptions,
} from './rights.ts';

const apiVersion = 'rbac.authorization.k8s.io/v1';

/** Label of ClusterRoles whose rules Holdfast may use to apply further kinds from Git. */
const applyLabel = 'holdfast.dev/aggregate-to-apply';

/** Who gets the rights, and where. */
interface RbacOptions extends Omit<InstalledNames, 'selector'>, RightsOptions {}

/** The account, its rights, and roles for people. Nothing holds `*` or escalate; impersonate and bind hold for one name each unless more is asked for. */
export function rbacObjects(options: RbacOptions): KubernetesObject[] {
  const { name, namespace, labels } = options;
  const account: KubernetesObject = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace, labels: { ...labels } },
    automountServiceAccountToken: false,
  };
  return [
    account,
    ...roles(options),
    ...bindings(options),
    ...sourceBindings(options),
    ...rolesForPeople(options),
  ];
}

function roles(options: RbacOptions): KubernetesObject[] {
  const { name, namespace, labels } = options;
  return [
    {
      apiVersion,
      kind: 'Role',
      metadata: { name, namespace, labels: { ...labels } },
      rules: rules(ownRights),
    },
    clusterRole(name, { ...labels }, holdfastRights(options)),
    {
      apiVersion,
      kind: 'ClusterRole',
      metadata: {
        name: `${name}-apply`,
        labels: { ...labels },
        annotations: {
          'holdfast.dev/description': `What Holdfast watches of what Sources apply, and may apply itself for trusted ones. To add a kind, label your own ClusterRole with ${applyLabel}=true.`,
        },
      },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [applyLabel]: 'true' } }] },
    },
    clusterRole(`${name}-apply-defaults`, { ...labels, [applyLabel]: 'true' }, applyRights(options)),
  ];
}

function bindings({ name, namespace, labels, watchNamespaces, dashboard }: RbacOptions): KubernetesObject[] {
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  const bind = (kind: string, roleKind: string, role: string, where?: string): KubernetesObject => ({
    apiVersion,
    kind,
    metadata: { name: role, ...(where ? { namespace: where } : {}), labels: { ...labels } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: roleKind, name: role },
    subjects,
  });
  const shared = [name, `${name}-apply`];
  const own = bind('RoleBinding', 'Role', name, namespace);
  if (watchNamespaces.length === 0)
    return [own, ...shared.map((role) => bind('ClusterRoleBinding', 'ClusterRole', role))];
  // Reviews of who looks belong to no namespace.
  const reviews = renamed(
    bind('ClusterRoleBinding', 'ClusterRole', 'system:auth-delegator'),
    `${name}-reviews`,
  );
  return [
    own,
    ...(dashboard ? [reviews] : []),
    ...watchNamespaces.flatMap((where) =>
      shared.map((role) => renamed(bind('RoleBinding', 'ClusterRole', role, where), `${role}-watched`)),
    ),
  ];
}

/** Where Holdfast may not make them itself: the account of Sources that name none gets the role `edit` in the namespaces that are watched. */
function sourceBindings({ watchNamespaces, labels, defaultServiceAccount }: RbacOptions): KubernetesObject[] {
  if (defaultServiceAccount !== undefined) return [];
  return watchNamespaces.map((namespace) => ({
    apiVersion,
    kind: 'RoleBinding',
    metadata: { name: sourceAccount, namespace, labels: { ...labels } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
    subjects: [{ kind: 'ServiceAccount', name: sourceAccount, namespace }],
  }));
}

/** Holdfast's own namespace may be watched too: its bindings must not share a name. */
function renamed(object: KubernetesObject, name: string): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, name } };
}

/** Aggregated to the roles that clusters have for people; the requests of holdfast.dev annotations only to `admin`. */
function rolesForPeople({ name, labels }: RbacOptions): KubernetesObject[] {
  const people = (role: string, rights: readonly Right[]) =>
    clusterRole(
      `${name}-${role}`,
      { ...labels, [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' },
      rights,
    );
  const kinds: ReadonlyArray<readonly [string, string]> = [
    ['flagger.app', 'canaries'],
    ['flagger.app', 'metrictemplates'],
    ['flagger.app', 'alertproviders'],
    ['holdfast.dev', 'sources'],
  ];
  const on = (verbs: Right['verbs'], why: string) =>
    kinds.map(([group, resource]) => ({ group, resource, verbs, why }));
  const requests = kinds
    .filter(([, resource]) => resource === 'canaries' || resource === 'sources')
    .map(([group, resource]) => ({ group, resource, verbs: holdfastVerbs, why: 'to make requests' }));
  return [
    people('view', on(['get', 'list', 'watch'], 'to look')),
    people('edit', [...on(['create', 'delete', 'patch', 'update'], 'to change'), ownership]),
    people('admin', requests),
  ];
}

function clusterRole(
  name: string,
  labels: Record<string, string>,
  rights: readonly Right[],
): KubernetesObject {
  return { apiVersion, kind: 'ClusterRole', metadata: { name, labels }, rules: rules(rights) };
}

/** Neighbours with the same group, verbs and names become one rule. */
function rules(rights: readonly Right[]): object[] {
  const merged = new Map<
    string,
    { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }
  >();
  for (const { group, resource, verbs, names } of rights) {
    const key = JSON.stringify([group, verbs, names]);
    const known = merged.get(key);
    if (known) known.resources.push(resource);
    else
      merged.set(key, {
        apiGroups: [group],
        resources: [resource],
        verbs: [...verbs],
        ...(names ? { resourceNames: [...names] } : {}),
      });
  }
  return [...merged.values()];
}
