import { isIP } from 'node:net';
import { dnsLabel, type KubernetesObject, sourceAccount } from '../../api/kubernetes.ts';
import { holdfastVerbs, type RightsOptions } from './rights.ts';

/** Values that installed objects share. */
export interface InstalledNames {
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
export function verbPolicy(options: InstalledNames): KubernetesObject[] {
  const value = (object: string) => `${object}.metadata.?annotations[?('holdfast.dev/' + verb)].orValue('')`;
  const before = `(oldObject == null ? '' : ${value('oldObject')})`;
  const verbs = holdfastVerbs.map((verb) => `'${verb}'`).join(', ');
  const target =
    'authorizer.group(request.resource.group).resource(request.resource.resource)' +
    '.namespace(object.metadata.namespace).name(object.metadata.name)';
  return policy(options, `${options.name}-verbs.holdfast.dev`, {
    matchConstraints: {
      resourceRules: [watched('flagger.app', 'canaries'), watched('holdfast.dev', 'sources')],
    },
    variables: [{ name: 'changed', expression: `[${verbs}].filter(verb, ${before} != ${value('object')})` }],
    // One for each verb: the message of a validation cannot ask the authorizer itself.
    validations: holdfastVerbs.map((verb) => ({
      expression: `!('${verb}' in variables.changed) || ${target}.check('${verb}').allowed()`,
      message: `changing the annotation holdfast.dev/${verb} requires the RBAC verb ${verb} on this object`,
      reason: 'Forbidden',
    })),
  });
}

/**
 * Who writes a Source must be allowed what Holdfast then does for it (ADR 38): to act as the account that it is written as, and to read Secrets of
 * its namespace. The role `edit` is. Where Sources are trusted, who may write them there has Holdfast's own rights.
 */
export function sourcePolicy(options: InstalledNames & RightsOptions): KubernetesObject[] {
  const { name, defaultServiceAccount = sourceAccount, trustedSourceNamespaces } = options;
  const namespace = 'object.metadata.namespace';
  const trusted = trustedSourceNamespaces.map((one) => `'${one}'`).join(', ');
  const named = "object.spec.?serviceAccountName.orValue('')";
  return policy(options, `${name}-source-accounts.holdfast.dev`, {
    matchConstraints: { resourceRules: [watched('holdfast.dev', 'sources')] },
    // Status, labels and annotations do not change what is written, except for requests, which have rights of their own.
    matchConditions: [specChanges],
    variables: [
      { name: 'account', expression: `${named} == '' ? '${defaultServiceAccount}' : ${named}` },
      { name: 'trusted', expression: `${named} == '' && ${namespace} in [${trusted}]` },
    ],
    validations: [
      {
        expression: `variables.trusted || authorizer.group('').resource('serviceaccounts').namespace(${namespace}).name(variables.account).check('impersonate').allowed()`,
        messageExpression: `'writing this Source requires the RBAC verb impersonate on service account ' + ${namespace} + '/' + variables.account + ', which it is applied as; the role edit has it'`,
        reason: 'Forbidden',
      },
      {
        expression: `variables.trusted || authorizer.group('').resource('secrets').namespace(${namespace}).check('get').allowed()`,
        messageExpression: `'writing a Source requires the RBAC verb get on Secrets of namespace ' + ${namespace} + ', which Holdfast reads for it; the role edit has it'`,
        reason: 'Forbidden',
      },
    ],
  });
}

/** Holdfast reads the Secret that a MetricTemplate or AlertProvider names, and sends what is in it to the address there: who names one must be allowed to read it. */
export function secretPolicy(options: InstalledNames): KubernetesObject[] {
  const namespace = 'object.metadata.namespace';
  const named = '.?secretRef.?name';
  return policy(options, `${options.name}-secrets.holdfast.dev`, {
    matchConstraints: {
      resourceRules: [watched('flagger.app', 'metrictemplates'), watched('flagger.app', 'alertproviders')],
    },
    matchConditions: [specChanges],
    variables: [
      {
        name: 'secret',
        expression: `object.spec${named}.orValue(object.spec.?provider${named}.orValue(''))`,
      },
    ],
    validations: [
      {
        expression: `variables.secret == '' || authorizer.group('').resource('secrets').namespace(${namespace}).name(variables.secret).check('get').allowed()`,
        messageExpression: `'naming a Secret here requires the RBAC verb get on Secret ' + ${namespace} + '/' + variables.secret + ', which Holdfast reads and sends to the address; the role edit has it'`,
        reason: 'Forbidden',
      },
    ],
  });
}

/** Holdfast may make RoleBindings for one thing alone: RBAC cannot say so, since it knows no name when something is made. */
export function bindingPolicy(options: InstalledNames & RightsOptions): KubernetesObject[] {
  const { name, namespace, defaultServiceAccount, watchNamespaces } = options;
  if (defaultServiceAccount !== undefined || watchNamespaces.length > 0) return [];
  return policy(options, `${name}-role-bindings.holdfast.dev`, {
    matchConstraints: { resourceRules: [watched('rbac.authorization.k8s.io', 'rolebindings')] },
    matchConditions: [
      {
        name: 'by-holdfast',
        expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${name}'`,
      },
    ],
    validations: [
      {
        expression: [
          `object.metadata.name == '${sourceAccount}'`,
          "object.roleRef.kind == 'ClusterRole' && object.roleRef.name == 'edit'",
          "object.subjects.size() == 1 && object.subjects[0].kind == 'ServiceAccount'",
          `object.subjects[0].name == '${sourceAccount}'`,
          'object.subjects[0].namespace == object.metadata.namespace',
          `!(object.metadata.namespace in ['kube-system', '${namespace}'])`,
        ].join(' && '),
        message: `Holdfast binds nothing but the role edit to ${sourceAccount} in the same namespace, and not in its own namespace or kube-system`,
        reason: 'Forbidden',
      },
    ],
  });
}

const specChanges = {
  name: 'spec-changes',
  expression: 'oldObject == null || object.spec != oldObject.spec',
};

/** A policy that refuses when it cannot be evaluated, and its binding. */
function policy({ labels }: InstalledNames, name: string, spec: object): KubernetesObject[] {
  const metadata = { name, labels: { ...labels } };
  return [
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: { failurePolicy: 'Fail', ...spec },
    },
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { ...metadata, labels: { ...labels } },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ];
}

function watched(group: string, resource: string): object {
  return { apiGroups: [group], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: [resource] };
}

/** Lets in what the ports are for, and with destinations lets out nothing but them and name resolution. */
export function networkPolicy(
  { name, namespace, labels, selector }: InstalledNames,
  egress: readonly Destination[],
  dashboard: boolean,
): KubernetesObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace, labels: { ...labels } },
    spec: {
      podSelector: { matchLabels: { ...selector } },
      policyTypes: egress.length > 0 ? ['Ingress', 'Egress'] : ['Ingress'],
      ingress: [
        { ports: ['http', ...(dashboard ? ['dashboard'] : [])].map((port) => ({ protocol: 'TCP', port })) },
      ],
      ...(egress.length > 0 ? { egress: [nameResolution, ...egress.map(egressRule)] } : {}),
    },
  };
}

/** Where Holdfast may connect to: addresses, or the pods of a namespace. */
export interface Destination {
  readonly cidr?: string;
  readonly namespace?: string;
  readonly port: number;
}

/** `CIDR:PORT` or `NAMESPACE:PORT`; undefined: neither. */
export function destinationOf(text: string): Destination | undefined {
  const [, host = '', digits = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (port < 1 || port > 65_535) return undefined;
  const [address = '', prefix = ''] = host.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (/^\d+$/.test(prefix) && Number(prefix) <= bits) return { cidr: host, port };
  return dnsLabel.test(host) ? { namespace: host, port } : undefined;
}

const nameResolution = {
  to: [namespaceSelector('kube-system')],
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
};

function egressRule({ cidr, namespace = '', port }: Destination): object {
  const to = cidr === undefined ? namespaceSelector(namespace) : { ipBlock: { cidr } };
  return { to: [to], ports: [{ protocol: 'TCP', port }] };
}

function namespaceSelector(namespace: string): object {
  return { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } };
}

/** Of several copies one may be evicted at a time, so that another one takes over at once. */
export function disruptionBudget({ name, namespace, labels, selector }: InstalledNames): KubernetesObject {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace, labels: { ...labels } },
    spec: { maxUnavailable: 1, selector: { matchLabels: { ...selector } } },
  };
}
