/** What a metric of a flight plan is now. */
import type { FlightMetric } from './flight.ts';

/** One metric as it is now, asked of what serves: the primary. */
export interface Measured {
  readonly name: string;
  readonly when: FlightMetric['when'];
  readonly value?: number;
  readonly verdict: 'pass' | 'fail' | 'unknown';
  /** Why there is no value. */
  readonly detail?: string;
}
