import { analysis, canaryDocument, type DocumentRow, successRate, target } from './builders.ts';

/** Canaries with fields that only Holdfast has. */
export const ourCanaries: DocumentRow[] = [
  {
    name: 'everything of postPromotion',
    object: canaryDocument({
      postPromotion: {
        progressDeadlineSeconds: 600,
        interval: '500ms',
        successThreshold: 0,
        threshold: 1,
        onFailure: 'revert',
        expect: { maxRestarts: 2 },
        metrics: [{ ...successRate, onNoData: 'wait', minSamples: 20 }],
        webhooks: [{ name: 'smoke', type: 'post-promotion', url: 'http://smoke.test/' }],
      },
      revisionIgnore: ['/spec/template/metadata/annotations/build'],
    }),
  },
  {
    name: 'a metric compared with the primary',
    object: analysis({
      metrics: [
        { ...successRate, name: 'request-duration', compareWith: 'primary', maxRelativeIncrease: 10 },
      ],
    }),
  },
  {
    name: 'a metric whose points are compared with the primary',
    object: analysis({
      interval: '5m',
      metrics: [
        {
          ...successRate,
          interval: '30s',
          maxSampleAge: '1m30s',
          compare: {
            method: 'mannWhitney',
            confidence: 99,
            direction: 'decrease',
            step: '30s',
            minPoints: 6,
          },
        },
      ],
    }),
  },
  {
    name: 'a StatefulSet stepped in place',
    object: canaryDocument({ provider: 'native', targetRef: { ...target, kind: 'StatefulSet' } }),
  },
];
