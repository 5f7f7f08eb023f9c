import { expect, it } from 'vitest';
import { aCanary, aContext, anAbCanary, initialTraffic } from './fixtures.test-support.ts';
import { kubernetes } from './kubernetes.ts';

it('moves all traffic by the selector and leaves the rest of the Service as built', () => {
  const context = aContext();

  const [apex] = kubernetes.objects(context, { ...initialTraffic, primaryWeight: 0, canaryWeight: 100 }, []);

  expect(apex).toEqual({
    ...context.apex,
    spec: { ...(context.apex!.spec as object), selector: { app: 'podinfo' } },
  });
});

it('refuses to split', () => {
  expect(() =>
    kubernetes.objects(aContext(), { ...initialTraffic, primaryWeight: 80, canaryWeight: 20 }, []),
  ).toThrow('cannot send 20 % to the canary');
});

it('reads a Service that Git wrote, with more labels in its selector, as the canary', () => {
  const apex = { ...aContext().apex!, spec: { selector: { app: 'podinfo', tier: 'web' } } };

  expect(kubernetes.read(aContext(), [apex])).toMatchObject({ canaryWeight: 100, accepted: true });
});

it('warns about steps and matches, which have no meaning here', () => {
  expect(kubernetes.check(aCanary()).map(({ path }) => path)).toEqual(['spec.analysis.iterations']);
  expect(kubernetes.check(anAbCanary()).map(({ path }) => path)).toEqual(['spec.analysis.match']);
});
