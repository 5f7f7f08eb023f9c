import fc from 'fast-check';
import { expect, it } from 'vitest';
import { annotationPrefix, pauseAnnotation } from '../../src/api/annotations.ts';
import type { RequestAnswer } from '../../src/api/canary/status.ts';
import { isEnding, rejectedHead } from '../../src/api/canary/summary.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { adviceFor } from '../../src/cli/status/detail.ts';
import { step } from '../../src/rollout/step.ts';
import { offers } from '../../src/server/dashboard/requests.ts';
import { GOOD, type Model } from './model.ts';
import { apply, type Event, start, type Update, worlds } from './random-worlds.ts';

interface Asked {
  readonly by: string;
  readonly verb: string;
  readonly revision: string;
}

/** As people see it; a commit is as long as in Git, so that commands name it. */
function asSeen({ canary, status }: Model): KubernetesObject {
  const seen = JSON.stringify(status).replaceAll(/sha-([a-c])/g, (_, letter: string) => letter.repeat(40));
  return { ...canary, status: JSON.parse(seen) } as KubernetesObject;
}

/** The requests in the commands of `holdfast status`; a commit stands for the digest that it came with. */
function advised(model: Model): Asked[] {
  const canary = asSeen(model);
  const command =
    /^holdfast (approve|ignore-window|abort|retry) -n test canary\/podinfo(?: --revision (\w)\w+)?$/;
  return adviceFor(canary).flatMap((advice) => {
    const [, verb, named] = command.exec(advice.command ?? '') ?? [];
    if (verb === undefined) return [];
    const underWay = verb === 'retry' ? rejectedHead(model.status) : model.status.run?.digest;
    return [{ by: 'holdfast status', verb, revision: named ?? underWay ?? '' }];
  });
}

function offered(model: Model): Asked[] {
  return offers(asSeen(model))
    .filter(({ verb }) => verb !== 'pause')
    .map(({ verb, revision = '' }) => ({ by: 'the dashboard', verb, revision }));
}

/** The answer that the controller would give now; undefined while it is still to come. */
function answerTo(model: Model, { verb, revision }: Asked): RequestAnswer | undefined {
  const world = model.world();
  const pause = world.canary.metadata.annotations?.[pauseAnnotation];
  const value = `${revision}@now`;
  const annotations = {
    ...(pause === undefined ? {} : { [pauseAnnotation]: pause }),
    [annotationPrefix + verb]: value,
  };
  const canary = { ...world.canary, metadata: { ...world.canary.metadata, annotations } };
  const { handled, answers } = step({ ...world, canary }).status ?? {};
  return handled?.[verb] === value ? answers?.[verb] : undefined;
}

/**
 * Why a request would be refused now, unless the status cannot know: a newer head, a head that cannot be read, the lost record of an older
 * release, or whether the primary was written already.
 */
function refusalOf(model: Model, request: Asked): string | undefined {
  const { lastKnownGood, postPromotion } = model.status;
  const answer = answerTo(model, request);
  if (answer?.result !== 'Refused' || answer.reason === 'Stale') return undefined;
  const isOlder = request.verb === 'rollback-to' && request.revision !== lastKnownGood?.digest;
  if (answer.reason === 'RecordDamaged' && (isOlder || postPromotion?.state === 'Converging'))
    return undefined;
  return request.verb === 'retry' && model.head.kind !== 'release' ? undefined : answer.message;
}

/** Requests about a release that the status tells to be ending, and that are carried out nevertheless: people would miss them. */
function missed(model: Model): string[] {
  const revision = isEnding(model.status) ? model.status.run?.digest : undefined;
  if (revision === undefined) return [];
  const verbs = ['abort', 'promote', 'skip-step', 'approve'];
  return verbs.filter((verb) => answerTo(model, { by: '', verb, revision })?.result === 'Done');
}

/** Found by chance, and played first. */
const found: Array<[{ spec: number; update: Update; events: Event[] }]> = [
  // The gate is taken out of the spec while its release waits for a window.
  [
    {
      spec: 1,
      update: 'RollingUpdate',
      events: [
        { kind: 'commit', digest: 'b', behaviour: GOOD, settings: 's1' },
        { kind: 'window', closedMs: 90_000 },
        { kind: 'tick', ms: 1000 },
        { kind: 'respec', spec: 0 },
        { kind: 'tick', ms: 1000 },
      ],
    },
  ],
];

const numRuns = Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 200);

// The time limit only ends a hang; it grows with the number of worlds.
it('in any world, what holdfast status advises and the dashboard offers is accepted, and what they keep back while a release ends is refused', {
  timeout: 300_000 + numRuns * 100,
}, () => {
  let asked = 0;
  fc.assert(
    fc.property(worlds, ({ spec, update, events }) => {
      const model = start(spec, update);
      for (const entry of events) {
        apply(model, entry);
        // Before Holdfast has looked again, and after a crash, the status tells of before.
        if (entry.kind !== 'tick' || model.canary.spec.suspend) continue;
        expect(missed(model)).toEqual([]);
        for (const request of [...advised(model), ...offered(model)]) {
          asked += 1;
          const where = `${request.by}: ${request.verb} while ${model.status.phase}: ${model.status.message}`;
          expect({ where, refusal: refusalOf(model, request) }).toEqual({ where, refusal: undefined });
        }
      }
    }),
    { numRuns, examples: found },
  );
  expect(asked).toBeGreaterThan(200);
});
