import type { KubernetesObject } from '../api/kubernetes.ts';
import { isRecord, recordOf, recordsOf, textOf } from './json.ts';
import { isExternalName, isKnative, isService, selectorOf } from './service-content.ts';

/** What is wrong with a target, and in which of its fields. */
export interface TargetProblem {
  readonly field: string;
  readonly message: string;
}

/** Kinds with a pod template. */
const workloadKinds = ['Deployment', 'DaemonSet', 'StatefulSet'];

/** Why a target cannot be rolled out; undefined when it can. `port`: the one that the Canary's route sends requests to. */
export function targetProblem(target: KubernetesObject, port: number | undefined): TargetProblem | undefined {
  if (isService(target)) return serviceProblem(target, port);
  if (!workloadKinds.includes(target.kind) && !isKnative(target)) {
    const known = [...workloadKinds, 'Service'].join(', ');
    return {
      field: 'kind',
      message: `a Canary can roll out ${known}, not ${target.kind} of ${target.apiVersion}`,
    };
  }
  const template = recordOf(target.spec).template;
  if (!isRecord(template)) return { field: 'spec.template', message: 'the workload has no pod template' };
  const containers = recordOf(template.spec).containers;
  if (!Array.isArray(containers) || containers.length === 0)
    return { field: 'spec.template.spec.containers', message: 'the pod template has no containers' };
  if (isKnative(target)) return undefined;
  const nameless = containers.findIndex((container) => textOf(recordOf(container).name) === undefined);
  if (nameless < 0) return undefined;
  return { field: `spec.template.spec.containers[${nameless}].name`, message: 'the container has no name' };
}

/** The copies of a Service find pods by its selector alone; endpoints that somebody writes by hand have the name of the original. */
function serviceProblem({ spec }: KubernetesObject, port: number | undefined): TargetProblem | undefined {
  if (isExternalName(spec)) return undefined;
  if (!selectorOf(spec))
    return { field: 'spec.selector', message: 'is missing: a copy of this Service would reach no pod' };
  const offered = recordsOf(recordOf(spec).ports).map((entry) => entry.port);
  if (port === undefined || offered.includes(port)) return undefined;
  return {
    field: 'spec.ports',
    message: `has no port ${port}, where spec.service.port of the Canary sends the requests`,
  };
}
