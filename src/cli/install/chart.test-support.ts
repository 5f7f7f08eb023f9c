import type { Option } from 'commander';
import { allCrds } from '../../api/kinds/crd.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { workloadProviders } from '../../providers/routing/table.ts';
import { formatObjects } from '../../terminal/output.ts';
import { wholeProgram } from '../commands.ts';
import { controllerCommand } from '../controller-flags.ts';
import { installObjects } from './install.ts';
import { isSwitch, nameOf, settableFlags } from './program-flags.ts';
import { rightsTables } from './rights.ts';

/** The files of `deploy/chart` that are made from the code of `holdfast install`, by path (ADR 41). */
export function chartFiles(version: string): ReadonlyMap<string, string> {
  return new Map([
    ['Chart.yaml', chartYaml(version)],
    ['values.schema.json', json(valuesSchema())],
    ['files/crds.yaml', formatObjects(allCrds(), 'yaml')],
    ['files/rights.json', json(rightsTables())],
    ['files/objects.json', json(fixedObjects())],
    ['files/flags.json', json({ switches: flagsOfRun().filter(isSwitch).map(nameOf) })],
  ]);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function chartYaml(version: string): string {
  return `# Made by UPDATE_DOCS=1 npx vitest run --project unit src/cli/install/chart.test.ts
apiVersion: v2
name: holdfast
description: GitOps reconciler for progressive delivery
type: application
version: ${version}
appVersion: ${version}
# ValidatingAdmissionPolicy is stable from 1.30 on.
kubeVersion: '>=1.30.0-0'
`;
}

/** Objects of which no more than a name changes. The templates fill in `@namespace@`, `@account@` and `'@trusted@'`. */
function fixedObjects(): Record<string, KubernetesObject[]> {
  const usual = { namespace: '@namespace@', image: '' };
  const objects = installObjects(usual);
  const policies = (all: readonly KubernetesObject[], name: string) =>
    all.filter(({ metadata }) => metadata.name === name);
  const named = installObjects({
    ...usual,
    defaultServiceAccount: '@account@',
    trustedSourceNamespaces: ['@trusted@'],
  });
  const roles = ['holdfast-apply', 'holdfast-view', 'holdfast-edit', 'holdfast-admin'];
  return {
    roles: objects.filter(
      ({ kind, metadata }) => kind === 'Role' || (kind === 'ClusterRole' && roles.includes(metadata.name)),
    ),
    verbPolicy: policies(objects, 'holdfast-verbs.holdfast.dev'),
    sourcePolicy: policies(named, 'holdfast-source-accounts.holdfast.dev'),
    secretPolicy: policies(objects, 'holdfast-secrets.holdfast.dev'),
    bindingPolicy: policies(objects, 'holdfast-role-bindings.holdfast.dev'),
  };
}

const namespaceName = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';
const objectName = '[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?';
const port = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';
const v4 = '(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])';
const cidr = `((${v4}\\.){3}${v4}/(3[0-2]|[12]?[0-9])|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))`;

type Schema = Readonly<Record<string, unknown>>;

/** Of `values.yaml`: what Helm refuses before anything is sent to the cluster. */
function valuesSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the Holdfast chart',
    type: 'object',
    additionalProperties: false,
    properties: { ...installValues(), ...podValues(), flags: flagsSchema(), global: object('Set by Helm') },
  };
}

function installValues(): Record<string, Schema> {
  return {
    image: text('Container image; empty: holdfast:vVERSION', '^[\\w.:/@-]*$'),
    crds: {
      type: 'boolean',
      description: 'Install and upgrade the CustomResourceDefinitions with the release',
    },
    watchNamespaces: list('Grant rights in these namespaces only; empty: all', `^${namespaceName}$`),
    impersonation: {
      type: 'boolean',
      description: 'Grant the right to impersonate the service accounts that Sources name',
    },
    defaultServiceAccount: text(
      'Service account, in the namespace of the Source, for Sources without serviceAccountName; implies impersonation',
      `^(${objectName})?$`,
    ),
    trustedSourceNamespaces: list(
      "Write Sources of these namespaces that name no service account with Holdfast's own permissions",
      `^${namespaceName}$`,
    ),
    providers: {
      ...list('Grant rights for these routing providers only; empty: all'),
      items: { type: 'string', enum: workloadProviders() },
    },
    crossNamespaceRefs: {
      type: 'boolean',
      description: 'Allow Canaries and Sources to refer to objects of other namespaces',
    },
    ingressClass: text('Ingress class of every HTTPProxy; empty: none is written', `^(${objectName})?$`),
    replicas: {
      type: 'integer',
      minimum: 1,
      maximum: 9,
      description: 'Number of pods, one of which is the leader; more than one adds a PodDisruptionBudget',
    },
    dashboard: {
      type: 'boolean',
      description: 'Serve the dashboard, to those who may read Canaries',
    },
    dashboardProxySecret: text(
      "Secret in Holdfast's namespace with the key secret, which a login proxy in front of the dashboard sends; implies dashboard; empty: none",
      `^(${objectName})?$`,
    ),
    egress: list(
      'Allow connections only to these destinations, as CIDR:PORT or NAMESPACE:PORT, and to the name servers in kube-system; empty: to all',
      `^(${cidr}|${namespaceName}):${port}$`,
    ),
  };
}

function podValues(): Record<string, Schema> {
  const texts = { additionalProperties: { type: 'string' } };
  return {
    resources: object('Requests and limits of the container'),
    nodeSelector: { ...object('Labels of nodes that the pods may run on'), ...texts },
    tolerations: {
      type: 'array',
      description: 'Taints of nodes that the pods tolerate',
      items: { type: 'object' },
    },
    affinity: object('Affinity of the pods'),
    podAnnotations: { ...object('Annotations of the pods'), ...texts },
    imagePullSecrets: {
      type: 'array',
      description: 'Secrets with which the image is pulled',
      items: {
        type: 'object',
        required: ['name'],
        additionalProperties: false,
        properties: { name: { type: 'string' } },
      },
    },
    serviceAccount: {
      type: 'object',
      description: 'The service account of the pods',
      additionalProperties: false,
      properties: { annotations: { ...object('Its annotations'), ...texts } },
    },
  };
}

/** Every flag of `holdfast run` that is not the pod's, or a value of its own. */
function flagsSchema(): Schema {
  const flags = flagsOfRun().map((option) => {
    const type = isSwitch(option) ? 'boolean' : ['string', 'number', 'boolean'];
    const choices = option.argChoices ? { enum: option.argChoices } : {};
    return [nameOf(option), { type, description: option.description, ...choices }] as const;
  });
  return {
    ...object('Flags of holdfast run, by name without dashes'),
    additionalProperties: false,
    properties: Object.fromEntries(flags),
  };
}

function flagsOfRun(): Option[] {
  return settableFlags(controllerCommand());
}

/** The options of `holdfast install`. */
export const installOptions =
  (await wholeProgram('0.0.0')).commands.find((command) => command.name() === 'install')?.options ?? [];

function text(description: string, pattern: string): Schema {
  return { type: 'string', description, pattern };
}

function list(description: string, pattern?: string): Schema {
  return {
    type: 'array',
    description,
    items: { type: 'string', ...(pattern === undefined ? {} : { pattern }) },
  };
}

function object(description: string): Schema {
  return { type: 'object', description };
}
