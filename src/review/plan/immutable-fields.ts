/** Fields that API servers do not let anybody change. Pure. */
import { canonicalJson, type KubernetesObject, valueAt } from '../../api/kubernetes.ts';

/** Paths by kind, as the API server refuses them on update (Kubernetes 1.34). */
const immutable: Readonly<Record<string, readonly string[]>> = {
  Deployment: ['spec.selector'],
  DaemonSet: ['spec.selector'],
  ReplicaSet: ['spec.selector'],
  StatefulSet: ['spec.selector', 'spec.serviceName', 'spec.podManagementPolicy', 'spec.volumeClaimTemplates'],
  Job: [
    'spec.selector',
    'spec.template',
    'spec.completionMode',
    'spec.completions',
    'spec.backoffLimitPerIndex',
    'spec.podFailurePolicy',
    'spec.successPolicy',
  ],
  PersistentVolumeClaim: [
    'spec.accessModes',
    'spec.selector',
    'spec.storageClassName',
    'spec.volumeMode',
    'spec.volumeName',
    'spec.dataSource',
  ],
  StorageClass: ['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode'],
  PriorityClass: ['value', 'preemptionPolicy'],
  RuntimeClass: ['handler'],
  RoleBinding: ['roleRef'],
  ClusterRoleBinding: ['roleRef'],
  IngressClass: ['spec.controller'],
  Secret: ['type'],
  CustomResourceDefinition: ['spec.group', 'spec.scope', 'spec.names.plural', 'spec.names.kind'],
};

/** Fields that the server fills in where Git does not name them: leaving them out is no change, and naming them may be none. */
const defaulted: ReadonlySet<string> = new Set([
  'spec.podManagementPolicy',
  'spec.completionMode',
  'spec.completions',
  'spec.storageClassName',
  'spec.volumeMode',
  'spec.volumeName',
  'reclaimPolicy',
  'volumeBindingMode',
  'preemptionPolicy',
  'type',
]);

/** Those that differ, as paths; `data` stands for the content of an immutable ConfigMap or Secret. */
export function immutableFields(before: KubernetesObject, after: KubernetesObject): string[] {
  const paths = (immutable[after.kind] ?? []).filter((path) => {
    const [old, now] = [fieldAt(before, path), fieldAt(after, path)];
    const isLeftOut = old === undefined || now === undefined;
    if (path === 'spec.completions' && fieldAt(after, 'spec.completionMode') === 'Indexed') return false;
    return !(isLeftOut && defaulted.has(path)) && differ(old, now);
  });
  const found = [...paths, ...clusterAddress(before, after)];
  if (!['ConfigMap', 'Secret'].includes(after.kind) || before.immutable !== true) return found;
  const content = ({ data, stringData, binaryData }: KubernetesObject) => ({ data, stringData, binaryData });
  if (differ(content(before), content(after))) found.push('data');
  return after.immutable === true ? found : [...found, 'immutable'];
}

/** A Service may get an address and may not change it, but by becoming one of type ExternalName and back. */
function clusterAddress(before: KubernetesObject, after: KubernetesObject): string[] {
  if (after.kind !== 'Service') return [];
  const [old, now] = [fieldAt(before, 'spec.clusterIP'), fieldAt(after, 'spec.clusterIP')];
  // This field says whether a Service is headless; without it the Service has an address.
  const headless = (value: unknown) => value === 'None';
  const isOther = old !== undefined && now !== undefined && old !== '' && now !== '' && old !== now;
  return isOther || headless(old) !== headless(now) ? ['spec.clusterIP'] : [];
}

function fieldAt(object: KubernetesObject, path: string): unknown {
  return valueAt(object, path.split('.'));
}

/** Null, absent and empty mean the same to the API server. */
function differ(old: unknown, now: unknown): boolean {
  const text = (value: unknown) => {
    const isEmpty = typeof value === 'object' && Object.keys(value ?? {}).length === 0;
    return value === undefined || isEmpty ? '' : canonicalJson(value);
  };
  return text(old) !== text(now);
}
