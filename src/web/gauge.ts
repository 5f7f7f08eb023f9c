import { Gauge, type Registry } from 'prom-client';
import type { KubernetesObject } from '../api/kubernetes.ts';

/** A gauge that is filled at each scrape. */
export function gauge<Label extends string>(
  registers: Registry,
  name: string,
  help: string,
  collect: (metric: Gauge<Label>) => void,
  labelNames: Label[] = [],
): void {
  const metric: Gauge<Label> = new Gauge({
    name,
    help,
    labelNames,
    registers: [registers],
    collect: () => collect(metric),
  });
}

/** Labels of a Canary; Flagger names it by its target. */
export function named({ metadata, spec }: KubernetesObject): { name: string; namespace: string } {
  const target = (spec as { targetRef?: { name?: string } } | undefined)?.targetRef?.name;
  return { name: target ?? metadata.name, namespace: metadata.namespace ?? '' };
}
