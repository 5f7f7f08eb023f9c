import { expect, test } from 'vitest';
import { fieldChanges } from './canary-view.ts';

test('fields are told apart by the names of their entries, wherever these stand', () => {
  const before = {
    containers: [{ name: 'web', image: 'web:1', env: [{ name: 'A', value: '1' }] }, { name: 'log' }],
  };
  const after = { containers: [{ name: 'log' }, { name: 'web', image: 'web:2', ports: [80] }] };
  expect(fieldChanges(before, after)).toEqual([
    { path: 'containers[web].env[A].name', before: 'A', after: undefined },
    { path: 'containers[web].env[A].value', before: '1', after: undefined },
    { path: 'containers[web].image', before: 'web:1', after: 'web:2' },
    { path: 'containers[web].ports[0]', before: undefined, after: '80' },
  ]);
});

test('what is only called otherwise on the other side is no change, and a huge one is cut', () => {
  const ownName = (text: string) => text.replace(/-primary$/, '');
  expect(fieldChanges({ app: 'web-primary' }, { app: 'web' }, ownName)).toEqual([]);
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key${index}`, index]));
  expect(fieldChanges({}, many)).toHaveLength(200);
});
