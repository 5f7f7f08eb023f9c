import { establish } from '../api-server/custom-resources.ts';
import type { ApiWorld } from '../api-server/object-writer.ts';
import { type ControllerLoop, controllerClient } from './controller.ts';
import { daemonSetController } from './daemon-sets.ts';
import { deploymentController } from './deployments.ts';
import { endpointSliceController } from './endpoint-slices.ts';
import { garbageCollector, namespaceController } from './garbage-collector.ts';
import { type Gateway, routeControllers } from './gateway.ts';
import { horizontalPodAutoscaler } from './horizontal-pod-autoscaler.ts';
import type { Behaviour } from './pod-behaviour.ts';
import { type PodAges, podController } from './pods.ts';
import { replicaSetController } from './replica-sets.ts';
import { statefulSetController } from './stateful-sets.ts';

/** What the controllers of one sandbox share. */
interface ControllerParts {
  readonly world: ApiWorld;
  readonly loop: ControllerLoop;
  readonly behaviour: Behaviour;
  readonly gateway: Gateway;
  readonly terminationMs: number;
}

/** Starts every controller; returns how to ask for the age of a pod. */
export function startControllers({ world, loop, behaviour, gateway, terminationMs }: ControllerParts): {
  ageOf: PodAges;
} {
  const manager = controllerClient(world, 'kube-controller-manager');
  const pods = podController({ client: controllerClient(world, 'kubelet'), loop, behaviour, terminationMs });
  const definitions = 'apiextensions.k8s.io/customresourcedefinitions';
  loop.add({
    name: 'definitions',
    keysFor: (event) => (event.storageKey === definitions ? [event.object.metadata.name] : []),
    reconcile: (name) => establish(world, name),
  });
  loop.add(deploymentController(manager, loop));
  loop.add(replicaSetController(manager, loop));
  loop.add(daemonSetController(manager, loop));
  loop.add(statefulSetController(manager, loop));
  loop.add(horizontalPodAutoscaler(manager));
  loop.add(pods.controller);
  loop.add(endpointSliceController(manager));
  for (const controller of routeControllers(controllerClient(world, 'contour'), gateway))
    loop.add(controller);
  loop.add(garbageCollector(world));
  loop.add(namespaceController(world));
  return { ageOf: pods.ageOf };
}
