import { expect, test } from 'vitest';
import type { DecodedRecord } from '../../release/record.ts';
import { createRecordMemory } from './record-memory.ts';

const record = (name: string) => ({ name }) as DecodedRecord;
const size = JSON.stringify(record('a')).length;

test('gives back what was read, with the version it was read at', () => {
  const memory = createRecordMemory();
  memory.set('shop/a', { version: '1', problem: undefined, record: record('a') });
  expect(memory.get('shop/a')).toMatchObject({ version: '1', record: { name: 'a' } });
  memory.delete('shop/a');
  expect(memory.get('shop/a')).toBeUndefined();
});

test('beyond its size the longest unused bytes go; what was found out about them stays', () => {
  const memory = createRecordMemory(2 * size);
  memory.set('a', { version: '1', problem: undefined, record: record('a') });
  memory.set('b', { version: '1', problem: undefined, record: record('b') });
  memory.get('a');
  memory.set('c', { version: '1', problem: undefined, record: record('c') });
  expect(memory.get('b')).toMatchObject({ version: '1', record: undefined });
  expect([memory.get('a')?.record?.name, memory.get('c')?.record?.name]).toEqual(['a', 'c']);
});

test('a record larger than all of it is not kept', () => {
  const memory = createRecordMemory(size - 1);
  memory.set('a', { version: '1', problem: undefined, record: record('a') });
  expect(memory.get('a')?.record).toBeUndefined();
});

test('reading one record again and again does not push others out', () => {
  const memory = createRecordMemory(2 * size);
  memory.set('a', { version: '1', problem: undefined, record: record('a') });
  for (let round = 0; round < 5; round += 1)
    memory.set('b', { version: String(round), problem: undefined, record: record('b') });
  expect(memory.get('a')?.record?.name).toBe('a');
});
