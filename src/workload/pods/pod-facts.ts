/** What the pods of a template are made of, for every kind of workload. */
import type { PodTemplate } from '../../api/kubernetes.ts';
import type { ImageView, WorkloadView } from '../../health/workload-view.ts';
import { undeclaredPorts } from '../../release/ports.ts';
import { type EndpointSource, endpointsOf, ownPorts } from './endpoints.ts';
import { containerStatuses, isReady, type Pod, restartsOf } from './pods.ts';

/** The part of a view that comes from pods. */
type PodFacts = Pick<
  WorkloadView,
  | 'updatedReadyReplicas'
  | 'restarts'
  | 'imagesMatch'
  | 'images'
  | 'podContainers'
  | 'endpoints'
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

/** Different images of one name that are reported; more would only fill the status. */
const mostImages = 4;

/** Facts about the pods of the current template, and the Service that is to send them requests, if it exists. */
export function podFacts(pods: readonly Pod[], template: PodTemplate, source: EndpointSource): PodFacts {
  const images = imagesOf(pods, template);
  const ready = pods.filter(isReady);
  return {
    updatedReadyReplicas: ready.length,
    restarts: pods.reduce((most, pod) => Math.max(most, restartsOf(pod)), 0),
    imagesMatch: images.every(isOneImage),
    images: images.map(({ found, ids, ...image }) => ({
      ...image,
      found: found.slice(0, mostImages),
      ids: ids.slice(0, mostImages),
    })),
    podContainers: unique(pods.flatMap((pod) => containersOf(pod).map(({ name }) => name))).sort(),
    endpoints: endpointsOf(source, ready),
    ...undeclared(source, template),
  };
}

function imagesOf(pods: readonly Pod[], { spec }: PodTemplate): ImageView[] {
  return [...(spec.initContainers ?? []), ...spec.containers].map(({ name, image }) => ({
    container: name,
    image: image ?? '',
    found: unique(pods.map((pod) => imageOf(pod, name) ?? '')),
    ids: unique(pods.flatMap((pod) => imageIdsOf(pod, name))),
  }));
}

/**
 * Whether the pods run the image of the template. A registry mirror keeps an image's last name and its tag or digest; images that are
 * the same in all pods were rewritten by a rule of the cluster. What is left is a pod that somebody changed by itself.
 */
function isOneImage({ image, found }: ImageView): boolean {
  return found.length <= 1 || found.every((one) => lastNameOf(one) === lastNameOf(image));
}

function imageOf(pod: Pod, container: string): string | undefined {
  return containersOf(pod).find(({ name }) => name === container)?.image;
}

function imageIdsOf(pod: Pod, container: string): string[] {
  const statuses = containerStatuses(pod).filter(({ name }) => name === container);
  return statuses.flatMap(({ imageID }) => (imageID ? [imageID] : []));
}

function containersOf({ spec }: Pod) {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

/** `mirror.example.com/team/shop:1.2@sha256:...` is `shop:1.2`; without a tag the digest stays. */
function lastNameOf(image: string): string {
  const last = image.slice(image.lastIndexOf('/') + 1);
  return /:[^@]+@/.test(last) ? last.replace(/@.*/, '') : last;
}

/** Absent while there is no Service, and where the template declares no port that its own could be compared with. */
function undeclared({ service }: EndpointSource, template: PodTemplate): Pick<PodFacts, 'undeclaredPorts'> {
  const found = service && undeclaredPorts(template, ownPorts(service));
  return found ? { undeclaredPorts: found } : {};
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
