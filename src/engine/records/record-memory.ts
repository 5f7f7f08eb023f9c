import type { DecodedRecord } from '../../release/record.ts';

/** One record as it was read last. */
interface Known {
  /** Which bytes were read (see `recordVersion`). */
  readonly version: string;
  /** What is wrong with them; undefined when they fit their digest. */
  readonly problem: string | undefined;
  readonly record: DecodedRecord | undefined;
  readonly characters: number;
}

/** All records that are kept, as JSON text; the verdict on a record costs next to nothing and is kept anyway. */
const mostCharacters = 16 * 1_048_576;

/** Records that were read and checked, so that starting up and deciding read each of them once. Bounded; the longest unused go first. */
export interface RecordMemory {
  get(key: string): Pick<Known, 'version' | 'problem' | 'record'> | undefined;
  set(key: string, known: { version: string; problem: string | undefined; record?: DecodedRecord }): void;
  delete(key: string): void;
}

/** An empty memory of this size. */
export function createRecordMemory(limitCharacters = mostCharacters): RecordMemory {
  const all = new Map<string, Known>();
  let characters = 0;

  function put(key: string, known: Known): void {
    characters += known.characters - (all.get(key)?.characters ?? 0);
    all.delete(key);
    all.set(key, known);
  }

  return {
    get(key) {
      const known = all.get(key);
      if (known) put(key, known);
      return known;
    },
    set(key, { version, problem, record }) {
      put(key, { version, problem, record, characters: record ? JSON.stringify(record).length : 0 });
      for (const [old, known] of all) {
        if (characters <= limitCharacters) return;
        if (!known.record) continue;
        all.set(old, { ...known, record: undefined, characters: 0 });
        characters -= known.characters;
      }
    },
    delete(key) {
      characters -= all.get(key)?.characters ?? 0;
      all.delete(key);
    },
  };
}
