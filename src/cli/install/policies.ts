import type { KubernetesObject } from '../../api/kubernetes.ts';
import { holdfastVerbs } from './rights.ts';

/** Values that installed objects share. */
interface PolicyOptions {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly selector: Readonly<Record<string, string>>;
}

const apiVersion = 'admissionregistration.k8s.io/v1';

/**
 * Guards the annotations by which people give orders (design section 2.3): who changes `holdfast.dev/promote` needs the right to `promote`
 * that object. Without it everybody who may edit a Canary could approve its release, since a field manager's name proves nobody.
 */
export function verbPolicy({ name, labels }: PolicyOptions): KubernetesObject[] {
  const policyName = `${name}-verbs.holdfast.dev`;
  const value = (object: string) => `${object}.metadata.?annotations[?('holdfast.dev/' + verb)].orValue('')`;
  const before = `(oldObject == null ? '' : ${value('oldObject')})`;
  const verbs = holdfastVerbs.map((verb) => `'${verb}'`).join(', ');
  const target =
    'authorizer.group(request.resource.group).resource(request.resource.resource)' +
    '.namespace(object.metadata.namespace).name(object.metadata.name)';
  const policy: KubernetesObject = {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: policyName, labels: { ...labels } },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [watched('flagger.app', 'canaries'), watched('holdfast.dev', 'sources')],
      },
      variables: [
        { name: 'changed', expression: `[${verbs}].filter(verb, ${before} != ${value('object')})` },
      ],
      // One for each verb: the message of a validation cannot ask the authorizer itself.
      validations: holdfastVerbs.map((verb) => ({
        expression: `!('${verb}' in variables.changed) || ${target}.check('${verb}').allowed()`,
        message: `changing the annotation holdfast.dev/${verb} requires the RBAC verb ${verb} on this object`,
        reason: 'Forbidden',
      })),
    },
  };
  const binding: KubernetesObject = {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: policyName, labels: { ...labels } },
    spec: { policyName, validationActions: ['Deny'] },
  };
  return [policy, binding];
}

function watched(group: string, resource: string): object {
  return { apiGroups: [group], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: [resource] };
}

/** Lets in what the one port is for. Outgoing traffic differs from cluster to cluster: deploy/examples has a policy to start from. */
export function networkPolicy({ name, namespace, labels, selector }: PolicyOptions): KubernetesObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace, labels: { ...labels } },
    spec: {
      podSelector: { matchLabels: { ...selector } },
      policyTypes: ['Ingress'],
      ingress: [{ ports: [{ protocol: 'TCP', port: 'http' }] }],
    },
  };
}
