import { analysis, canaryDocument, type DocumentRow, service, target } from './builders.ts';

/** Canaries that are refused. */
export const refusedCanaries: DocumentRow[] = [
  { name: 'no analysis', object: canaryDocument({ analysis: undefined }), refusedAt: 'spec.analysis' },
  { name: 'no target', object: canaryDocument({ targetRef: undefined }), refusedAt: 'spec.targetRef' },
  { name: 'two kinds of steps', object: analysis({ iterations: 5 }), refusedAt: 'spec.analysis' },
  { name: 'steps given twice', object: analysis({ stepWeights: [1, 2] }), refusedAt: 'spec.analysis' },
  {
    name: 'no steps',
    object: canaryDocument({ analysis: { interval: '1m', threshold: 1 } }),
    refusedAt: 'spec.analysis',
  },
  {
    name: 'steps without threshold',
    object: canaryDocument({ analysis: { interval: '1m', stepWeight: 1 } }),
    refusedAt: 'spec.analysis',
  },
  { name: 'an interval in hours', object: analysis({ interval: '1h' }), refusedAt: 'spec.analysis.interval' },
  { name: 'an unknown provider', object: canaryDocument({ provider: 'istoi' }), refusedAt: 'spec.provider' },
  {
    name: 'a target of an unknown kind',
    object: canaryDocument({ targetRef: { ...target, kind: 'Job' } }),
    refusedAt: 'spec.targetRef.kind',
  },
  { name: 'a service without port', object: canaryDocument({ service: {} }), refusedAt: 'spec.service.port' },
  { name: 'a port in quotes', object: service({ port: '80' }), refusedAt: 'spec.service.port' },
  {
    name: 'a target port that is a list',
    object: service({ targetPort: [80] }),
    refusedAt: 'spec.service.targetPort',
  },
  {
    name: 'a metric without name',
    object: analysis({ metrics: [{ interval: '1m' }] }),
    refusedAt: 'spec.analysis.metrics[0].name',
  },
  {
    name: 'a webhook without url',
    object: analysis({ webhooks: [{ name: 'load' }] }),
    refusedAt: 'spec.analysis.webhooks[0].url',
  },
  {
    name: 'a webhook of an unknown type',
    object: analysis({ webhooks: [{ name: 'load', url: 'http://x', type: 'pre-roll-out' }] }),
    refusedAt: 'spec.analysis.webhooks[0].type',
  },
  {
    name: 'a header compared in two ways',
    object: analysis({ match: [{ headers: { a: { exact: 'x', regex: 'y' } } }] }),
    refusedAt: 'spec.analysis.match[0].headers.a',
  },
  {
    name: 'a path compared in two ways',
    object: service({ match: [{ uri: { exact: '/a', prefix: '/b' } }] }),
    refusedAt: 'spec.service.match[0].uri',
  },
  {
    name: 'a mirror to a Service without port',
    object: service({ mirror: [{ backendRef: { name: 'shadow' } }] }),
    refusedAt: 'spec.service.mirror[0].backendRef',
  },
  {
    name: 'a scaler with no replicas',
    object: canaryDocument({
      autoscalerRef: {
        apiVersion: 'a',
        kind: 'ScaledObject',
        name: 'b',
        primaryScalerReplicas: { minReplicas: 0 },
      },
    }),
    refusedAt: 'spec.autoscalerRef.primaryScalerReplicas.minReplicas',
  },
  {
    name: 'an unknown onFailure',
    object: canaryDocument({ postPromotion: { onFailure: 'pray' } }),
    refusedAt: 'spec.postPromotion.onFailure',
  },
  {
    name: 'a negative threshold after promotion',
    object: canaryDocument({ postPromotion: { threshold: -1 } }),
    refusedAt: 'spec.postPromotion.threshold',
  },
  {
    name: 'a pointer without a slash',
    object: canaryDocument({ revisionIgnore: ['spec/template'] }),
    refusedAt: 'spec.revisionIgnore[0]',
  },
  {
    name: 'a null in a list',
    object: analysis({ stepWeight: undefined, stepWeights: [1, null] }),
    refusedAt: 'spec.analysis.stepWeights[1]',
  },
];
