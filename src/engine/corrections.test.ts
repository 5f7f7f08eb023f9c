import { expect, it } from 'vitest';
import { objectKey } from '../api/kubernetes.ts';
import { createCorrections } from './corrections.ts';

const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' } };
const drift = [{ object, message: 'ConfigMap shop/a: .data.level (editor)' }];
const key = objectKey(object);

it('takes five corrections of one object within ten minutes for contention, until it was quiet', () => {
  const memory = createCorrections();
  const minute = 60_000;
  for (let count = 1; count <= 4; count += 1) memory.note(drift, count * minute);
  expect(memory.isContended(key, 4 * minute)).toBe(false);
  memory.note(drift, 5 * minute);
  expect(memory.isContended(key, 5 * minute)).toBe(true);
  expect(memory.contended(5 * minute)).toEqual(['ConfigMap shop/a: .data.level (editor)']);
  expect(memory.isContended(key, 12 * minute)).toBe(false);
  expect(memory.calmsInMs(5 * minute)).toBe(6 * minute);
  expect(memory.calmsInMs(12 * minute)).toBeUndefined();
  memory.note([], 30 * minute);
  expect(memory.contended(30 * minute)).toEqual([]);
  expect(memory.last()).toMatchObject({ timeMs: 5 * minute });
});
