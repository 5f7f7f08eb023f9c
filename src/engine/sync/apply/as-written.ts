/** What is written of an object of Git: without what is the API server's or its controllers' to say. Pure. */
import { isRecord, type KubernetesObject, listOf, valueAt, withoutPath } from '../../../api/kubernetes.ts';
import { withEncodedData } from '../../../workload/shared/configs.ts';

/** What API servers set themselves. */
const setByServers: ReadonlySet<string> = new Set([
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
]);

/**
 * The object without what a manifest has that was exported from a cluster (a version that is gone would be a conflict, and a status is nobody's to
 * write), and without what others fill in whatever the manifest says: the two would write against each other without end.
 */
export function asWritten(object: KubernetesObject): KubernetesObject {
  const { status: _, ...written } = withEncodedData(object);
  const metadata = Object.entries(object.metadata).filter(([field]) => !setByServers.has(field));
  const own = { ...written, metadata: Object.fromEntries(metadata) } as KubernetesObject;
  return filledByOthers(own).reduce((rest, path) => withoutPath(rest, path) as KubernetesObject, own);
}

/** Placeholders of an authority that a controller injects; the last one is an empty line, as kubebuilder writes it. */
const noAuthority: ReadonlySet<unknown> = new Set([null, '', 'Cg==']);

/** Paths to such fields: the rules of an aggregated ClusterRole, and authorities that are injected. */
function filledByOthers(object: KubernetesObject): string[][] {
  const without = (...paths: string[][]) => paths.filter((path) => noAuthority.has(valueAt(object, path)));
  switch (object.kind) {
    case 'ClusterRole':
      return isRecord(object.aggregationRule) ? [['rules']] : [];
    case 'APIService':
      return without(['spec', 'caBundle']);
    case 'CustomResourceDefinition':
      return without(['spec', 'conversion', 'webhook', 'clientConfig', 'caBundle']);
    case 'MutatingWebhookConfiguration':
    case 'ValidatingWebhookConfiguration': {
      return listOf(object.webhooks).flatMap((webhook, index) => {
        const path = ['clientConfig', 'caBundle'];
        return noAuthority.has(valueAt(webhook, path)) ? [['webhooks', `${index}`, ...path]] : [];
      });
    }
    default:
      return [];
  }
}
