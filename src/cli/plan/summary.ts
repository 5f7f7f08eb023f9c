import type { PlanSummary, SourcePlanned } from './report.ts';

/** Counts over all Sources. Pure. */
export function summaryOf(sources: readonly SourcePlanned[]): PlanSummary {
  const objects = sources.flatMap((source) => source.objects);
  const findings = sources.flatMap(({ oneWay }) => oneWay);
  const refusals = sources.flatMap(({ dryRun = [] }) => dryRun.filter(({ state }) => state === 'refused'));
  const known = new Set(
    findings.filter(({ severity }) => severity === 'refused').map(({ object }) => object),
  );
  const of = (change: string) => objects.filter((object) => object.change === change).length;
  return {
    ...{ added: of('added'), changed: of('changed'), removed: of('removed') },
    rollouts: sources.flatMap(({ canaries }) => canaries).filter(({ flight }) => flight !== undefined).length,
    oneWay: findings.filter(({ severity }) => severity === 'oneWay').length,
    refused: known.size + refusals.filter(({ object }) => !known.has(object)).length,
    problems: sources.flatMap(({ problems }) => problems).length,
  };
}
