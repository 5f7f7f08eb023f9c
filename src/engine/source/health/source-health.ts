/** What is known of all objects of a Source. */
export interface SourceHealth {
  readonly objects: number;
  readonly failed: readonly string[];
  readonly progressing: readonly string[];
  /** The time for it has passed since they were applied. */
  readonly isLate: boolean;
}
