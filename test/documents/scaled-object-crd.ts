/** A small CustomResourceDefinition of KEDA's ScaledObject, without its operator: what Holdfast writes can be read back. */
export const scaledObjectCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'scaledobjects.keda.sh' },
  spec: {
    group: 'keda.sh',
    names: {
      kind: 'ScaledObject',
      listKind: 'ScaledObjectList',
      plural: 'scaledobjects',
      singular: 'scaledobject',
    },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['scaleTargetRef', 'triggers'],
                properties: {
                  minReplicaCount: { type: 'integer', format: 'int32' },
                  maxReplicaCount: { type: 'integer', format: 'int32' },
                  idleReplicaCount: { type: 'integer', format: 'int32' },
                  pollingInterval: { type: 'integer', format: 'int32' },
                  scaleTargetRef: {
                    type: 'object',
                    required: ['name'],
                    properties: {
                      apiVersion: { type: 'string' },
                      kind: { type: 'string' },
                      name: { type: 'string' },
                    },
                  },
                  triggers: {
                    type: 'array',
                    items: {
                      type: 'object',
                      required: ['type', 'metadata'],
                      properties: {
                        type: { type: 'string' },
                        name: { type: 'string' },
                        metadata: { type: 'object', additionalProperties: { type: 'string' } },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};
