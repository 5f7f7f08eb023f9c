import type { CanaryMetric } from '../api/canary-metric.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { objectKey, type RenderResult } from '../render/render.ts';
import { kindOf } from './validate-kinds.ts';
import type { Finding } from './validate-releases.ts';

/** Kinds of Kubernetes' own that live in namespaces; of others nothing is known without a cluster. */
const namespacedKinds = new Set([
  'ConfigMap',
  'CronJob',
  'DaemonSet',
  'Deployment',
  'Gateway',
  'HTTPProxy',
  'HTTPRoute',
  'HorizontalPodAutoscaler',
  'Ingress',
  'Job',
  'NetworkPolicy',
  'PersistentVolumeClaim',
  'Pod',
  'PodDisruptionBudget',
  'Role',
  'RoleBinding',
  'Secret',
  'Service',
  'ServiceAccount',
  'StatefulSet',
]);

/** Objects that name no namespace: a Source refuses them unless it has a default one. */
export function namespaceFindings({ objects }: RenderResult, complete: boolean): Finding[] {
  return objects
    .filter(({ object }) => !object.metadata.namespace && isNamespaced(object))
    .map(({ object, origin }) => ({
      file: origin.file,
      line: origin.line,
      field: 'metadata.namespace',
      message: `${object.kind} ${object.metadata.name} names no namespace; add it, or set spec.defaultNamespace of the Source`,
      severity: complete ? 'problem' : 'warning',
    }));
}

function isNamespaced(object: KubernetesObject): boolean {
  return namespacedKinds.has(object.kind) || kindOf(object) !== undefined;
}

/** MetricTemplates that Canaries name and that are in none of the files. */
export function templateFindings({ objects, lineOf }: RenderResult): Finding[] {
  const keys = new Set(objects.map(({ object }) => objectKey(object)));
  return objects.flatMap(({ object, origin }) =>
    kindOf(object) === 'Canary'
      ? templateReferences(object)
          .filter(({ namespace, name }) => !keys.has(`flagger.app|MetricTemplate|${namespace}|${name}`))
          .map(({ field, namespace, name }): Finding => {
            const shown = namespace ? `${namespace}/${name}` : name;
            const message = `MetricTemplate ${shown} is in none of these files; it must come from elsewhere`;
            return { file: origin.file, line: lineOf(origin, field), field, message, severity: 'warning' };
          })
      : [],
  );
}

/** From the object as it came: one that does not parse is named anyway. */
function templateReferences(canary: KubernetesObject) {
  const spec = canary.spec as
    | { analysis?: { metrics?: unknown }; postPromotion?: { metrics?: unknown } }
    | undefined;
  const lists = { analysis: spec?.analysis?.metrics, postPromotion: spec?.postPromotion?.metrics };
  return Object.entries(lists).flatMap(([part, metrics]) =>
    (Array.isArray(metrics) ? (metrics as Partial<CanaryMetric>[]) : []).flatMap((metric, index) => {
      const reference = metric?.templateRef;
      if (!reference?.name) return [];
      const namespace = reference.namespace || canary.metadata.namespace || '';
      return [{ field: `spec.${part}.metrics[${index}].templateRef`, namespace, name: reference.name }];
    }),
  );
}
