/** One slip in a sound file: what stands there, what somebody wrote in its place, and the lines that `validate` prints. */
export type Slip = readonly [found: string, replaced: string, lines: readonly string[]];

/** A sound file, and slips in it. */
export interface Slips {
  readonly file: string;
  readonly sound: string;
  readonly slips: readonly Slip[];
}
