import { expect, test } from 'vitest';
import type { Source } from '../api/source/source.ts';
import { rememberFileSources } from './source-files.ts';

const source: Source = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'shop' },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' }, path: 'prod' },
};

test('a Source is as its file says until any field of its spec changes', () => {
  const files = rememberFileSources([source]);
  const changed = (spec: object, metadata: object = {}) =>
    files.isUnchanged({
      ...source,
      metadata: { ...source.metadata, ...metadata },
      spec: { ...source.spec, ...spec },
    });
  // As the API server gives it back: other order, more metadata.
  expect(
    files.isUnchanged({
      ...source,
      metadata: { ...source.metadata, uid: 'u' },
      spec: { path: 'prod', ref: { branch: 'main' }, url: source.spec.url },
    }),
  ).toBe(true);
  expect(changed({ ref: { branch: 'mine' } })).toBe(false);
  expect(changed({ path: 'mine' })).toBe(false);
  expect(changed({ substitute: { variables: { A: 'b' } } })).toBe(false);
  expect(changed({}, { name: 'another' })).toBe(false);
});
