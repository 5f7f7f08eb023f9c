import { expect, test } from 'vitest';
import { configMap, secret } from '../../../release/fixtures.test-support.ts';
import { otherChanges } from './older-commit.ts';

const rendered = (...objects: Array<ReturnType<typeof configMap>>) =>
  objects.map((object) => ({ object, origin: { file: 'shop.yaml', document: 0, items: [], line: 1 } }));

test('what was changed, added or taken out is named, sorted, without any value', () => {
  const before = rendered(
    configMap('same', { key: 'one' }),
    secret('token', { key: 'one' }),
    configMap('gone', { key: 'one' }),
  );
  const after = rendered(
    configMap('same', { key: 'one' }),
    secret('token', { key: 'two' }),
    configMap('added', { key: 'two' }),
  );

  expect(otherChanges(before, after, { configs: [] })).toEqual([
    'ConfigMap shop/added',
    'ConfigMap shop/gone',
    'Secret shop/token',
  ]);
});

test('config that comes back with the release is not among it', () => {
  const [before, after] = [configMap('flags', { key: 'one' }), configMap('flags', { key: 'two' })];

  expect(otherChanges(rendered(), rendered(after), { configs: [before] })).toEqual([]);
});
