import type { Scenario } from './scenario.ts';
import { changes } from './scenarios/changes.ts';
import { gates } from './scenarios/gates.ts';
import { releases } from './scenarios/releases.ts';
import { routes } from './scenarios/routes.ts';
import { sources } from './scenarios/sources.ts';

/** The reference scenarios. */
export const scenarios: readonly Scenario[] = [...releases, ...gates, ...changes, ...routes, ...sources];
