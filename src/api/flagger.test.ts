import { expect, it } from 'vitest';
import { isAvailable, watchedNamespace } from './flagger.ts';

function flagger(args: string[], command: string[] = ['/flagger']) {
  const metadata = { name: 'flagger' };
  const spec = { template: { spec: { containers: [{ command, args }] } } };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec };
}

it.each([
  [['-log-level=info'], undefined],
  [['-namespace=shop'], 'shop'],
  [['--namespace', 'shop'], 'shop'],
  [['-leader-election-namespace=ops', '-namespace='], undefined],
])('of the arguments %j the namespace %s', (args, namespace) => {
  expect(watchedNamespace(flagger(args))).toBe(namespace);
});

it('looks at the command, too', () => {
  expect(watchedNamespace(flagger([], ['/flagger', '-namespace=shop']))).toBe('shop');
  expect(watchedNamespace({ ...flagger([]), spec: {} })).toBeUndefined();
});

it('acts only with pods that are available', () => {
  expect(isAvailable(flagger([]))).toBe(false);
  expect(isAvailable({ ...flagger([]), status: { availableReplicas: 1 } })).toBe(true);
});
