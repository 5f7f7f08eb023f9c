import type { Side } from './run.ts';

/** Who should serve. */
export type Preference =
  /**
   * All traffic to this side. `leaves`: the other side is bad, and loses what this one carries; `overdue`: it had its time, and loses
   * everything to whoever answers here.
   */
  | {
      readonly kind: 'all';
      readonly side: Side;
      readonly leaves?: boolean;
      readonly overdue?: boolean;
      /** At rest: written again where it is there, since what the Canary says of the route may have changed. */
      readonly keeps?: boolean;
    }
  /** This share of the side under trial; `mirrored`: requests are copied to it beside. */
  | { readonly kind: 'share'; readonly side: Side; readonly percent: number; readonly mirrored?: boolean }
  /** As it is, as long as whoever serves is ready. */
  | { readonly kind: 'stay' }
  /** Nobody looks: what is done moves traffic by itself, or there is none yet. */
  | { readonly kind: 'none' };

/** All traffic to one side. */
export const ALL: Readonly<Record<Side, Preference>> = {
  primary: { kind: 'all', side: 'primary' },
  canary: { kind: 'all', side: 'canary' },
};

/** As it is. */
export const STAY: Preference = { kind: 'stay' };

/** Nobody looks. */
export const NONE: Preference = { kind: 'none' };
