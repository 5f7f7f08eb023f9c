import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { revisionKind } from '../../../workload/knative/knative.ts';
import { endpointSliceKind } from '../../../workload/pods/endpoints.ts';
import type { ViewSource } from '../../../workload/shared/workload-kind.ts';
import {
  controllerRevisionKind,
  type NamespaceView,
  podKind,
  serviceKind,
} from '../context/namespace-view.ts';

/** A workload of one side, and what it is reached by. */
interface SideRead {
  readonly workload: KubernetesObject;
  /** Name of its Service; empty for none. */
  readonly service: string;
  readonly side: 'canary' | 'primary';
  /** The port of the Canary's own route. */
  readonly routePort?: number | undefined;
}

/** What the pods of a workload are seen from. */
export function viewSource(
  view: NamespaceView,
  { workload, service, side, routePort }: SideRead,
): ViewSource {
  return {
    workload,
    pods: view.list(podKind),
    replicaSets: view.replicaSets(),
    controllerRevisions: view.list(controllerRevisionKind),
    service: service === '' ? undefined : view.get(serviceKind, service),
    endpointSlices: view.list(endpointSliceKind),
    routePort,
    side,
    revisions: view.list(revisionKind),
  };
}
