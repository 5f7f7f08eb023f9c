/** What Flagger 1.44 was seen to do with routes and shares (scenarios 5, 6, 11 and 13 of the thirteen that issue 4 names), and the safe end. */
import { describe, expect, test } from 'vitest';
import { conditionOf } from '../../../src/api/kubernetes.ts';
import { type Shop, useShops } from './shop.ts';

const shops = useShops();

describe.concurrent('traffic of a release', () => {
  test('5: a label that somebody puts on the route does not move the weights back', async () => {
    const shop = await shops.openRunning('foreign-label');
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('40 %', (status) => status.canaryWeight === 40);
    await patchRoute(
      'foreign-label',
      { metadata: { labels: { team: 'shop' } } },
      'application/merge-patch+json',
    );
    const weights = await weightsUntilPromoted(shop);
    await shop.until('v2 succeeded', (status) => status.lastPromotedCommit === commit && !status.run);
    expect(load.stop().failures).toEqual([]);
    expect(weights).toEqual([40, 70]);
    const route = await shops
      .bed()
      .get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'podinfo', 'foreign-label');
    expect(route?.metadata.labels).toMatchObject({ team: 'shop' });
  });

  test('6: a route that stands at 100/0 before stepWeightPromotion is through does not stop the promotion', async () => {
    const shop = await shops.openRunning('all-back', {
      analysis: {
        interval: '3s',
        threshold: 2,
        stepWeights: [20, 60],
        stepWeightPromotion: 30,
        metrics: [],
      },
    });
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until(
      'traffic on its way back',
      (status) =>
        status.phase === 'Promoting' && (status.canaryWeight ?? 0) > 0 && (status.canaryWeight ?? 0) < 60,
    );
    const [primary, canary] = ['/spec/rules/0/backendRefs/0/weight', '/spec/rules/0/backendRefs/1/weight'];
    const patch = [
      { op: 'replace', path: primary, value: 100 },
      { op: 'replace', path: canary, value: 0 },
    ];
    await patchRoute('all-back', patch, 'application/json-patch+json');
    const ended = await shop.until(
      'v2 succeeded',
      (status) => status.lastPromotedCommit === commit && !status.run,
    );
    expect(load.stop().failures).toEqual([]);
    expect(ended.canaryWeight).toBe(0);
  });

  test('11: mirror beside steps, which routes cannot do, is said so and does not stand in the way', async () => {
    const shop = await shops.openRunning('mirror-and-steps', {
      analysis: { interval: '2s', threshold: 2, stepWeight: 40, maxWeight: 80, mirror: true, metrics: [] },
    });
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    const weights = await weightsUntilPromoted(shop);
    const ended = await shop.until(
      'v2 succeeded',
      (status) => status.lastPromotedCommit === commit && !status.run,
    );
    expect(load.stop().failures).toEqual([]);
    expect(weights).toEqual(expect.arrayContaining([40, 80]));
    const told = conditionOf(ended, 'FieldsNotActedOn');
    expect(told?.message).toContain('spec.analysis.mirror');
  });
});

/** As somebody with kubectl. */
function patchRoute(namespace: string, patch: unknown, contentType: string): Promise<unknown> {
  const path = `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/httproutes/podinfo`;
  return shops.bed().send('PATCH', path, patch, contentType);
}

/** The canary's weights in the order they came, from now until the primary is written. */
async function weightsUntilPromoted(shop: Shop): Promise<number[]> {
  const weights: number[] = [];
  await shop.until('promoting', (status) => {
    const weight = status.canaryWeight ?? 0;
    if (status.phase === 'Progressing' && weights.at(-1) !== weight) weights.push(weight);
    return status.phase === 'Promoting';
  });
  return weights;
}
