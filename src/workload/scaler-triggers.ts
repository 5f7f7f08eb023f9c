/** What of a ScaledObject names the target's own pods, rewritten for the primary (flagger-behaviour.md 2.10). */
import type { Canary } from '../api/canary.ts';
import { primaryName } from './names.ts';

type Fields = Record<string, unknown>;

/** Triggers and the name of the generated HorizontalPodAutoscaler, as the primary's ScaledObject has them. */
export function primaryTriggers(canary: Canary, spec: Fields): Fields {
  const triggers = Array.isArray(spec.triggers) ? (spec.triggers as Fields[]) : [];
  const advanced = spec.advanced as Fields | undefined;
  const config = advanced?.horizontalPodAutoscalerConfig as Fields | undefined;
  const named = typeof config?.name === 'string' ? { ...config, name: `${config.name}-primary` } : config;
  return {
    triggers: triggers.map((trigger) => ofPrimary(canary, trigger)),
    ...(advanced && named ? { advanced: { ...advanced, horizontalPodAutoscalerConfig: named } } : {}),
  };
}

function ofPrimary(canary: Canary, trigger: Fields): Fields {
  const metadata = trigger.metadata as Fields | undefined;
  const query = queryOf(canary, trigger.name, metadata?.query);
  return query === undefined ? trigger : { ...trigger, metadata: { ...metadata, query } };
}

/** With primaryScalerQueries only what they name is changed, and then whole. */
function queryOf(canary: Canary, name: unknown, query: unknown): string | undefined {
  const given = canary.spec.autoscalerRef?.primaryScalerQueries;
  if (given) return typeof name === 'string' && Object.hasOwn(given, name) ? given[name] : undefined;
  return typeof query === 'string' ? rewritten(canary, query) : undefined;
}

/**
 * The target, its canary and its primary by name all become the primary. A name inside a longer word is something else, such as a metric
 * that begins with it; Flagger rewrites that, too.
 */
function rewritten(canary: Canary, query: string): string {
  const { name } = canary.spec.targetRef;
  const literal = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const word = new RegExp(`(?<![A-Za-z0-9_])${literal}(-canary|-primary)?(?![A-Za-z0-9_])`, 'g');
  return query.replace(word, () => primaryName(canary));
}
