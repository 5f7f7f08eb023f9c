import type { Source } from '../../api/source.ts';
import type { OpenWatch } from '../ports/ports.ts';
import { inputObjects } from './render-inputs.ts';

/** Watches on the objects beside Git that a Source is rendered with. */
export interface InputWatch {
  close(): void;
}

/** Calls `onChange` when one of them changes, so that a new value is applied without a commit and without polling. */
export function watchInputs(source: Source, openWatch: OpenWatch, onChange: () => void): InputWatch {
  const sets = inputObjects(source).map(({ apiVersion, kind, namespace = '', name }) => {
    const set = openWatch({ apiVersion, kind, namespace, name, metadataOnly: true });
    let known: string | undefined;
    set.onChange(() => {
      // Also told when the set is listed, and again after each relist.
      const version = set.get(namespace, name)?.metadata.resourceVersion ?? '';
      if (known !== undefined && known !== version) onChange();
      if (set.synced()) known = version;
    });
    return set;
  });
  return {
    close() {
      for (const set of sets) set.close();
    },
  };
}

/** Both as one: they end together. */
export function withInputs<T extends { close(): void }>(watch: T, inputs: InputWatch): T {
  return {
    ...watch,
    close() {
      watch.close();
      inputs.close();
    },
  };
}
