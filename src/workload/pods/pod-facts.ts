/** What the pods of a template are made of, for every kind of workload. */
import type { KubernetesObject, PodTemplate } from '../../api/kubernetes.ts';
import type { ImageView, WorkloadView } from '../../health/workload-view.ts';
import { undeclaredPorts } from '../../release/ports.ts';
import { digestAnnotation, settingsAnnotation } from '../shared/metadata.ts';
import { type EndpointSource, endpointsOf, ownPorts, unreachedPort } from './endpoints.ts';
import { containerStatuses, isReady, type Pod } from './pods.ts';

/** The part of a view that comes from pods. */
type PodFacts = Pick<
  WorkloadView,
  | 'updatedReadyReplicas'
  | 'restarts'
  | 'imagesMatch'
  | 'images'
  | 'podContainers'
  | 'endpoints'
  | 'unreachedPort'
  | 'undeclaredPorts'
>;

/** The facts where there are no pods, or where they are not looked at. */
export const noPodFacts: Omit<PodFacts, 'updatedReadyReplicas' | 'undeclaredPorts'> = {
  restarts: 0,
  imagesMatch: true,
  images: [],
  podContainers: [],
  endpoints: undefined,
};

/** Which object a view is of, and what it was written from. */
export function identityOf({
  metadata,
}: KubernetesObject): Pick<WorkloadView, 'name' | 'uid' | 'resourceVersion' | 'digest' | 'settingsKey'> {
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    digest: metadata.annotations?.[digestAnnotation],
    settingsKey: metadata.annotations?.[settingsAnnotation],
  };
}

/** Different images of one name that are reported; more would only fill the status. */
const mostImages = 4;

/** Facts about the pods of the current template, and the Service that is to send them requests, if it exists. */
export function podFacts(pods: readonly Pod[], template: PodTemplate, source: EndpointSource): PodFacts {
  const { initContainers = [], containers } = template.spec;
  const asked = pods.map((pod) => new Map(containersOf(pod).map(({ name, image = '' }) => [name, image])));
  const run = pods.map((pod) => new Map(containerStatuses(pod).map(({ name, imageID }) => [name, imageID])));
  const images = [...initContainers, ...containers].map(({ name, image = '' }): ImageView => {
    const found = asked.map((ofPod) => ofPod.get(name) ?? '');
    const ids = run.flatMap((ofPod) => ofPod.get(name) || []);
    return { container: name, image, found: unique(found), ids: unique(ids) };
  });
  const ready = pods.filter(isReady);
  // Absent while there is no Service, and where the template declares no port that its own could be compared with.
  const endpoints = endpointsOf(source, ready);
  const unreached = endpoints === ready.length ? undefined : unreachedPort(source, ready);
  const undeclared = source.service && undeclaredPorts(template, ownPorts(source.service));
  return {
    updatedReadyReplicas: ready.length,
    restarts: Math.max(0, ...pods.flatMap(containerStatuses).map(({ restartCount = 0 }) => restartCount)),
    imagesMatch: images.every(isOneImage),
    images: images.map(({ found, ids, ...image }) => ({
      ...image,
      found: found.slice(0, mostImages),
      ids: ids.slice(0, mostImages),
    })),
    podContainers: unique(pods.flatMap((pod) => containersOf(pod).map(({ name }) => name))).sort(),
    endpoints,
    ...(unreached ? { unreachedPort: unreached } : {}),
    ...(undeclared ? { undeclaredPorts: undeclared } : {}),
  };
}

/**
 * Whether the pods run the image of the template. A registry mirror keeps an image's last name and its tag or digest; images that are
 * the same in all pods were rewritten by a rule of the cluster. Any other difference means that a pod was changed.
 */
function isOneImage({ image, found }: ImageView): boolean {
  return found.length <= 1 || found.every((one) => lastNameOf(one) === lastNameOf(image));
}

function containersOf({ spec }: Pod) {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

/** `mirror.example.com/team/shop:1.2@sha256:...` is `shop:1.2`; without a tag the digest stays. */
function lastNameOf(image: string): string {
  const last = image.slice(image.lastIndexOf('/') + 1);
  const [named = ''] = last.split('@', 1);
  return named.includes(':') ? named : last;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
