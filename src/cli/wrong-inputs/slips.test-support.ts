/** One slip in a valid file: what stands there, what somebody wrote in its place, and the lines that `validate` prints. */
export type Slip = readonly [found: string, replaced: string, lines: readonly string[]];

/** A valid file, and slips in it. */
export interface Slips {
  readonly file: string;
  readonly valid: string;
  readonly slips: readonly Slip[];
}
