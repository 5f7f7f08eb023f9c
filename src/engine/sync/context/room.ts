import { nameOfKey } from '../../../api/kubernetes.ts';
import { beyondShare, inMebibytes } from '../../../api/slots.ts';
import { EngineError } from '../../failure.ts';

/** What the objects of all Sources take of the memory: each Source holds those of its commit, since Git is not asked again for what is put back. */
export interface Room {
  /** What a Source will hold in place of what it holds. Throws EngineError TooLarge: one namespace must not take the memory of all others. */
  take(sourceKey: string, bytes: number): void;
  forget(sourceKey: string): void;
}

/** With so many bytes for all; beyond, only namespaces below their share take more. */
export function createRoom(roomBytes: number): Room {
  const held = new Map<string, number>();
  return {
    take(sourceKey, bytes) {
      const all = [...new Map([...held, [sourceKey, bytes]])].map(([key, size]) => ({
        namespace: nameOfKey(key).namespace,
        bytes: size,
      }));
      const { namespace } = nameOfKey(sourceKey);
      const own = beyondShare(all, namespace, roomBytes);
      if (own !== undefined)
        throw new EngineError(
          'TooLarge',
          `the objects of the Sources of namespace ${namespace} would take ${inMebibytes(own)} of memory, more than its share of the ${inMebibytes(roomBytes)} for all; use fewer or smaller Sources, or give Holdfast more memory`,
        );
      held.set(sourceKey, bytes);
    },
    forget: (sourceKey) => void held.delete(sourceKey),
  };
}

/** What a value takes of the heap, about; it is no deeper than a manifest. */
export function heldBytes(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, one) => sum + 8 + heldBytes(one), 24);
}
