/**
 * Documents that the kinds accept or refuse. One table for three judges: our parser, our schemas as CRDs on a real API
 * server, and the reader of the test. `refusedAt` names the field a message must name.
 */
import type { DocumentRow } from './builders.ts';
import { flaggerShapes } from './flagger-canaries.ts';
import { sources, templatesAndAlerts } from './other-kinds.ts';
import { ourCanaries } from './our-canaries.ts';
import { refusedCanaries } from './refused-canaries.ts';

/** All rows. */
export const documentRows: readonly DocumentRow[] = [
  ...flaggerShapes,
  ...ourCanaries,
  ...refusedCanaries,
  ...sources,
  ...templatesAndAlerts,
];
