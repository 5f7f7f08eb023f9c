import { expect, test } from 'vitest';
import { EngineError, failureOf } from './failure.ts';

test('a failure that was sorted before keeps its reason and its message', () => {
  const failure = failureOf(
    new EngineError('ReleaseUnknown', 'the manifests of release v1:0e71 are gone', true),
  );

  const handedOn = failureOf({ ...failure, message: failure.message });

  expect(handedOn).toMatchObject({
    reason: 'ReleaseUnknown',
    message: 'the manifests of release v1:0e71 are gone',
    transient: true,
  });
});
