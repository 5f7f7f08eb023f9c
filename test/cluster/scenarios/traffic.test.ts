/** What Flagger 1.44 was seen to do with routes and shares (scenarios 5, 6, 11 and 13 of the thirteen that issue 4 names), and the safe end. */
import { describe, expect, test } from 'vitest';
import { type BedClient, useBed } from '../bed/client.ts';
import { untilStandsStill } from './answers.ts';
import { condition, imageOf, type Shop, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['foreign-label', 'all-back', 'mirror-and-steps', 'scaled-away']);

describe.concurrent('traffic of a release', () => {
  test('5: a label that somebody puts on the route does not move the weights back', async () => {
    const shop = await shops.openRunning('foreign-label');
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('40 %', (status) => status.canaryWeight === 40);
    await bed.kubectl(['-n', 'foreign-label', 'label', 'httproute', 'podinfo', 'team=shop']);
    const weights = await weightsUntilPromoted(shop);
    await shop.until('v2 succeeded', (status) => status.lastPromotedCommit === commit && !status.run);
    expect((await load.stop()).failures).toEqual([]);
    expect(weights).toEqual([40, 70]);
    const route = await bed.readObject('HTTPRoute', 'foreign-label', 'podinfo');
    expect(route?.metadata.labels).toMatchObject({ team: 'shop' });
    await shop.close();
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
    await bed.kubectl([
      '-n',
      'all-back',
      'patch',
      'httproute',
      'podinfo',
      '--type=json',
      `--patch=${JSON.stringify(patch)}`,
    ]);
    const ended = await shop.until(
      'v2 succeeded',
      (status) => status.lastPromotedCommit === commit && !status.run,
    );
    expect((await load.stop()).failures).toEqual([]);
    expect(ended.canaryWeight).toBe(0);
    await shop.close();
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
    expect((await load.stop()).failures).toEqual([]);
    expect(weights).toEqual(expect.arrayContaining([40, 80]));
    const told = ended.conditions?.find(({ type }) => type === 'FieldsNotActedOn');
    expect(told?.message).toContain('spec.analysis.mirror');
    await shop.close();
  });

  test('13: a canary that somebody scales to nothing gets no larger share, and comes back', async () => {
    const shop = await shops.openRunning('scaled-away');
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('10 %', (status) => status.canaryWeight === 10);
    const before = load.current();
    await bed.kubectl(['-n', 'scaled-away', 'scale', 'deployment', 'podinfo', '--replicas=0']);
    await shop.until('no share for what is gone', ({ canaryWeight = 0 }) => canaryWeight === 0);
    const moved = await untilStandsStill(load, 'no request fails', ({ failed }) => failed);
    const ended = await shop.until(
      'v2 ended',
      (status) => status.lastAppliedCommit === commit && status.run === undefined && !!status.phase,
    );
    const { failed, failures } = await load.stop();
    expect(ended.phase).toBe('Succeeded');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    // Nothing can answer for the share of a canary that is gone, until the route has moved: 10 % for some moments, and never again.
    expect(failures.filter(({ version }) => version !== undefined)).toEqual([]);
    expect(moved.failed - before.failed).toBeLessThan(3 + (moved.requests - before.requests) * 0.25);
    expect(failed).toBe(moved.failed);
    expect(condition(ended, 'Promoted')).toBe('True');
    await shop.close();
  });
});

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
