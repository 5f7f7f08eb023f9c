import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { buildRelease } from '../../../release/build.ts';
import {
  configMap,
  container,
  deployment,
  releaseInput,
  template,
} from '../../../release/fixtures.test-support.ts';
import { EngineError } from '../../failure.ts';
import type { Snapshot, SourceParts, SourceState } from '../context/context.ts';
import { isOtherInForce, readInForce } from './in-force.ts';

const canary = { namespace: 'shop', name: 'pay' };
const digests = new Map([['shop/pay', 'v1:bad']]);

function recorded() {
  const pods = template({ containers: [container({ envFrom: [{ configMapRef: { name: 'flags' } }] })] });
  const built = buildRelease(
    releaseInput({ target: deployment(pods), configs: [configMap('flags', { value: 'one' })] }),
  );
  if (!built.ok) throw new Error(built.problem.message);
  return built.ok;
}

function live(isRejected: boolean): KubernetesObject {
  const rejected = isRejected ? [{ digest: 'v1:bad' }] : [];
  const status = { lastKnownGood: { digest: 'v1:good' }, rejected };
  return { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata: canary, status };
}

/** Parts whose records answer like this; counts how often they are asked. */
function createParts(answer: () => unknown) {
  const seen = { loads: 0, canaries: [live(true)] };
  const parts = {
    canaries: () => seen.canaries,
    log: { warn: () => undefined },
    records: {
      async load() {
        seen.loads += 1;
        return answer();
      },
    },
  } as unknown as SourceParts;
  return { parts, seen };
}

const head = {
  object: configMap('flags', { value: 'two' }),
  origin: { file: 'a', document: 0, items: [], line: 1 },
};
const snapshot = { rest: [head], plans: [{ canary }] } as unknown as Snapshot;

function createState(): SourceState {
  return { snapshot } as unknown as SourceState;
}

describe('what a snapshot is applied as', () => {
  it("is the last-known-good's config while head is rejected, and its record is read once", async () => {
    const { parts, seen } = createParts(() => ({ release: recorded() }));
    const state = createState();

    state.inForce = await readInForce({ parts, state }, snapshot, digests);
    state.inForce = await readInForce({ parts, state }, snapshot, digests);

    expect(state.inForce.effective.rest[0]?.object.data).toEqual({ value: 'one' });
    expect(seen.loads).toBe(1);
    expect(isOtherInForce({ parts, state })).toBe(false);
  });

  it('is to be applied again once the rejection is lifted', async () => {
    const { parts, seen } = createParts(() => ({ release: recorded() }));
    const state = createState();
    state.inForce = await readInForce({ parts, state }, snapshot, digests);

    seen.canaries = [live(false)];

    expect(isOtherInForce({ parts, state })).toBe(true);
  });

  it('is head where the record is damaged, and is not asked for at each poll', async () => {
    const { parts } = createParts(() => {
      throw new EngineError('RecordDamaged', 'the digest does not fit');
    });
    const state = createState();

    state.inForce = await readInForce({ parts, state }, snapshot, digests);

    expect(state.inForce.effective.rest[0]?.object.data).toEqual({ value: 'two' });
    expect(isOtherInForce({ parts, state })).toBe(false);
  });

  it('is not decided while the API server does not answer', async () => {
    const { parts } = createParts(() => {
      throw new Error('connection refused');
    });

    await expect(readInForce({ parts, state: createState() }, snapshot, digests)).rejects.toThrow(
      'connection refused',
    );
  });
});
