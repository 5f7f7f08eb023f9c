import type { FieldDifference } from '../../health/workload-view.ts';

/** An object that must be there, and where it is not what it must be. */
export interface ObjectDifference {
  readonly kind: string;
  readonly name: string;
  readonly state: 'same' | 'differs' | 'missing';
  /** The field manager that changed it, where it is known. */
  readonly changedBy?: string;
  readonly fields: readonly FieldDifference[];
}

/** How many fields of an object `holdfast diff` lists. */
export const mostFields = 100;
/** How much of a value `holdfast diff` shows. */
export const mostCharacters = 400;
