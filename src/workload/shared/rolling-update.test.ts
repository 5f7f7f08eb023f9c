import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { grantedBy, type Hold, isWholeStep, nextHold, podsOfShare } from './rolling-update.ts';

/** The controller's own arithmetic, where no new pod is ever available: it does any part of it, at any time. */
interface Deployment {
  replicas: number;
  old: number;
  updated: number;
}

function roll(web: Deployment, hold: Hold, pods: number): void {
  const most = web.replicas + Math.ceil((hold.surgePercent * web.replicas) / 100);
  const fewestOld = web.replicas - Math.floor((hold.unavailablePercent * web.replicas) / 100);
  const up = Math.max(0, Math.min(most - web.old - web.updated, web.replicas - web.updated, pods));
  web.updated += up;
  if (up === 0) web.old -= Math.max(0, Math.min(web.old - fewestOld, pods));
}

const percent = fc.integer({ min: 1, max: 100 });

describe('nextHold', () => {
  it('never lets a pod beyond the step exist, however slowly the controller follows, and reaches each step', () => {
    const property = fc.property(
      fc.integer({ min: 2, max: 150 }),
      fc.uniqueArray(percent, { minLength: 1, maxLength: 4 }),
      fc.record({ maxSurge: fc.nat(5), maxUnavailable: fc.nat(5) }),
      fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
      (replicas, steps, own, speeds) => {
        const web: Deployment = { replicas, old: replicas, updated: 0 };
        let hold: Hold | undefined;
        for (const weightPercent of steps.sort((left, right) => left - right)) {
          const wanted = podsOfShare(weightPercent, replicas);
          const isThere = () =>
            isWholeStep({ replicas, weightPercent, hold, ready: web.updated }) &&
            web.old + web.updated === replicas;
          for (let round = 0; !isThere(); round += 1) {
            hold = nextHold({ replicas, weightPercent, hold, ready: web.updated, own });
            roll(web, hold, speeds.next().value);
            const isBeyond = Math.max(web.updated, grantedBy(hold, replicas)) > wanted;
            const isValid = hold.surgePercent + hold.unavailablePercent > 0;
            const isCrowded = web.old + web.updated > replicas + own.maxSurge;
            if (isBeyond || !isValid || isCrowded || round > 2000)
              expect.fail(JSON.stringify({ web, hold, wanted, round }));
          }
        }
      },
    );
    fc.assert(property, { numRuns: 200 });
  });

  it('rounds a share up to whole pods, and down above a hundred of them', () => {
    expect([podsOfShare(1, 10), podsOfShare(25, 10), podsOfShare(34, 3), podsOfShare(100, 7)]).toEqual([
      1, 3, 2, 7,
    ]);
    expect([podsOfShare(25, 150), podsOfShare(1, 150)]).toEqual([37, 1]);
  });

  it('brings new pods first, then takes as many old ones away', () => {
    const own = { maxSurge: 3, maxUnavailable: 2 };
    const aim = { replicas: 10, weightPercent: 20, own };
    const first = nextHold({ ...aim, hold: undefined, ready: 0 });
    expect(first).toEqual({ surgePercent: 20, unavailablePercent: 0 });
    expect(nextHold({ ...aim, hold: first, ready: 1 })).toEqual(first);
    const second = nextHold({ ...aim, hold: first, ready: 2 });
    expect(second).toEqual({ surgePercent: 0, unavailablePercent: 20 });
    expect(nextHold({ ...aim, hold: second, ready: 2 })).toEqual(second);
  });

  it('takes old pods away first where the user lets no pod come on top', () => {
    const own = { maxSurge: 0, maxUnavailable: 1 };
    const aim = { replicas: 4, weightPercent: 50, own };
    expect(nextHold({ ...aim, hold: undefined, ready: 0 })).toEqual({
      surgePercent: 0,
      unavailablePercent: 25,
    });
    const first = { surgePercent: 0, unavailablePercent: 25 };
    expect(nextHold({ ...aim, hold: first, ready: 0 })).toEqual(first);
    expect(nextHold({ ...aim, hold: first, ready: 1 })).toEqual({ surgePercent: 0, unavailablePercent: 50 });
  });

  it('keeps a share that an autoscaler left larger than the step', () => {
    const hold = { surgePercent: 0, unavailablePercent: 34 };
    const own = { maxSurge: 3, maxUnavailable: 0 };
    expect(nextHold({ replicas: 9, weightPercent: 20, hold, ready: 3, own })).toEqual(hold);
  });
});
