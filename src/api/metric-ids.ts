/** What a check calls its metrics: names need not be unique in a list. */
import type { CanaryMetric } from './canary-metric.ts';

/**
 * The metrics of one list by id, in its order: the name, and `name (2)`, `name (3)` for further ones of that name. Checks are asked for,
 * answered and told by id, so that two metrics of one name are two checks.
 */
export function metricsById(metrics: readonly CanaryMetric[] | undefined): Map<string, CanaryMetric> {
  const found = new Map<string, CanaryMetric>();
  for (const metric of metrics ?? []) found.set(freeId(found, metric.name), metric);
  return found;
}

/** The name of the metric that an id stands for. */
export function nameOfMetric(id: string): string {
  return id.replace(/ \(\d+\)$/, '');
}

function freeId(taken: ReadonlyMap<string, unknown>, name: string): string {
  if (!taken.has(name)) return name;
  let number = 2;
  while (taken.has(`${name} (${number})`)) number += 1;
  return `${name} (${number})`;
}
