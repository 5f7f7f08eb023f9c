/** Which provider a Canary is rolled out with right now: between native and one that copies it first has to move (ADR 21). */
import type { Canary } from '../../api/canary.ts';
import { sharesWorkload } from '../../api/effective.ts';
import { type EngineOptions, providerOf } from '../canary/canary-parts.ts';

/** The Canary with the provider in effect, and the other one where it is on its way to that. */
export interface ProviderInEffect {
  readonly canary: Canary;
  readonly provider: string;
  readonly movesTo: string | undefined;
}

/** The status says what the objects in the cluster were made for; where it says nothing, the spec does. */
export function providerInEffect(
  canary: Canary,
  options: Pick<EngineOptions, 'defaultProvider'>,
): ProviderInEffect {
  const wanted = providerOf(canary, options);
  const current = canary.status?.provider;
  if (current === undefined || sharesWorkload(current) === sharesWorkload(wanted))
    return { canary, provider: wanted, movesTo: undefined };
  const spec = { ...canary.spec, provider: current } as Canary['spec'];
  return { canary: { ...canary, spec }, provider: current, movesTo: wanted };
}
