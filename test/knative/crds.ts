/** The CustomResourceDefinitions of Knative Serving that Holdfast has to do with, in their shape but not in their detail: any field is kept. */
import type { KubernetesObject } from '../../src/api/kubernetes.ts';

function definition(kind: string, plural: string): KubernetesObject {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.serving.knative.dev` },
    spec: {
      group: 'serving.knative.dev',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
        },
      ],
    },
  };
}

/** Services and their revisions. */
export const knativeCrds: readonly KubernetesObject[] = [
  definition('Service', 'services'),
  definition('Revision', 'revisions'),
];
