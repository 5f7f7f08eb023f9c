import type { KubernetesObject } from '../api/kubernetes.ts';
import { asRecords, at, isRecord } from './json.ts';
import type { KindInfo } from './kinds.ts';

const OBJECT = words('apiVersion kind metadata spec status');
const WORKLOAD_SPEC = `replicas selector template minReadySeconds revisionHistoryLimit`;
const SPECS: Readonly<Record<string, ReadonlySet<string>>> = {
  'apps/deployments': words(`${WORKLOAD_SPEC} strategy paused progressDeadlineSeconds`),
  'apps/replicasets': words(WORKLOAD_SPEC),
  'apps/daemonsets': words(`${WORKLOAD_SPEC} updateStrategy`),
  'apps/statefulsets': words(
    `${WORKLOAD_SPEC} serviceName volumeClaimTemplates podManagementPolicy updateStrategy persistentVolumeClaimRetentionPolicy ordinals`,
  ),
};
const POD_SPEC = words(
  `volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy
  nodeSelector serviceAccountName serviceAccount automountServiceAccountToken nodeName hostNetwork hostPID hostIPC
  shareProcessNamespace securityContext imagePullSecrets hostname subdomain affinity schedulerName tolerations hostAliases
  priorityClassName priority dnsConfig readinessGates runtimeClassName enableServiceLinks preemptionPolicy overhead
  topologySpreadConstraints setHostnameAsFQDN os hostUsers schedulingGates resourceClaims resources hostnameOverride`,
);
const CONTAINER = words(
  `name image command args workingDir ports envFrom env resources resizePolicy restartPolicy restartPolicyRules volumeMounts
  volumeDevices livenessProbe readinessProbe startupProbe lifecycle terminationMessagePath terminationMessagePolicy
  imagePullPolicy securityContext stdin stdinOnce tty`,
);

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}

/**
 * Paths (`.spec.foo`) of fields that the kind does not declare. Covers the workload kinds down to their containers, which is
 * where a misspelt field hurts most; other built-in kinds answer with an empty list.
 */
export function undeclaredFields(kind: KindInfo, object: KubernetesObject): string[] {
  const specFields = SPECS[kind.storageKey];
  if (!specFields) return [];
  const pod = at(object, 'spec', 'template', 'spec');
  const containers = ['initContainers', 'containers'].flatMap((list) => {
    return asRecords(at(pod, list)).flatMap((each) => {
      return unknownIn(each, CONTAINER, `.spec.template.spec.${list}[name="${String(each.name)}"]`);
    });
  });
  return [
    ...unknownIn(object, OBJECT, ''),
    ...unknownIn(object.spec, specFields, '.spec'),
    ...unknownIn(at(object, 'spec', 'template'), words('metadata spec'), '.spec.template'),
    ...unknownIn(pod, POD_SPEC, '.spec.template.spec'),
    ...containers,
  ];
}

function unknownIn(value: unknown, known: ReadonlySet<string>, path: string): string[] {
  if (!isRecord(value)) return [];
  return Object.keys(value)
    .filter((field) => !known.has(field))
    .map((field) => `${path}.${field}`);
}

/** Drops the undeclared fields, as a real server does for writes that are not strict. */
export function withoutFields(object: KubernetesObject, paths: readonly string[]): KubernetesObject {
  if (paths.length === 0) return object;
  const copy = structuredClone(object);
  for (const path of paths) removePath(copy, path);
  return copy;
}

function removePath(object: unknown, path: string): void {
  const match = /^\.(\w+)(?:\[name="([^"]*)"\])?(.*)$/.exec(path);
  if (!match || !isRecord(object)) return;
  const [, field = '', itemName, rest = ''] = match;
  if (rest === '') delete object[field];
  else if (itemName === undefined) removePath(object[field], rest);
  else
    removePath(
      asRecords(object[field]).find((item) => item.name === itemName),
      rest,
    );
}
