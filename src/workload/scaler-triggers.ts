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
  const query = metadata?.query;
  if (typeof query !== 'string') return trigger;
  const given = canary.spec.autoscalerRef?.primaryScalerQueries;
  const own = typeof trigger.name === 'string' ? given?.[trigger.name] : undefined;
  return { ...trigger, metadata: { ...metadata, query: own ?? (given ? query : rewritten(canary, query)) } };
}

/** The target, its canary and its primary by name all become the primary. */
function rewritten(canary: Canary, query: string): string {
  const { name } = canary.spec.targetRef;
  const literal = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return query.replace(new RegExp(`${literal}(-canary|-primary)?`, 'g'), () => primaryName(canary));
}
