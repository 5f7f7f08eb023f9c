/** AnalysisTemplates as MetricTemplates and metrics of a Canary. Pure. */
import type { CanaryMetric } from '../../api/canary/analysis.ts';
import {
  isRecord,
  type KubernetesObject,
  present,
  recordOf,
  recordsOf,
  shortName,
  textOf,
} from '../../api/kubernetes.ts';
import { durationOr } from '../../api/time.ts';
import type { Placed } from '../tree.ts';
import { rangeOf } from './condition.ts';
import { metricSystems, wholeNumber } from './metric-systems.ts';
import { type FieldPlace, type Report, type Rule, tell, tellFields } from './report.ts';

/** An analysis of a Rollout: where it is, and what it says. */
export interface AnalysisUse extends FieldPlace {
  readonly value: unknown;
}

/** What analyses become. */
export interface MadeAnalysis {
  readonly metrics: readonly CanaryMetric[];
  /** MetricTemplates, and CronJobs of those that run Jobs. */
  readonly objects: readonly KubernetesObject[];
  /** Failed checks that end a release: of the metric that allows the fewest. */
  readonly threshold: number;
  /** The longest time between two measurements; undefined where each is measured once. */
  readonly intervalMs?: number;
  /** Most measurements that one of them takes, where that is limited. */
  readonly count?: number;
}

/** What the conversion of an analysis depends on. */
interface AnalysisContext {
  readonly report: Report;
  /** The Rollout. */
  readonly placed: Placed;
  readonly namespace: string | undefined;
  readonly find: (kind: string, name: string) => Placed | undefined;
  /** Services of Argo Rollouts by the ones that stand for the same pods afterwards. */
  readonly services: Readonly<Record<string, string>>;
}

interface Made {
  readonly metric: CanaryMetric;
  readonly objects: readonly KubernetesObject[];
  readonly threshold: number;
  readonly intervalMs?: number | undefined;
  readonly count?: number | undefined;
}

const useRules: Readonly<Record<string, Rule | undefined>> = {
  templates: undefined,
  args: undefined,
  startingStep: ['differs', 'metrics are checked from the first step on'],
  dryRun: undefined,
  measurementRetention: ['converted', 'the result of each check is in the status of the Canary'],
  analysisRunMetadata: ['converted', 'there is no object for a run'],
};

/** Every metric of these analyses, each once. `taken`: what was made for the Rollout already, which is not made again. */
export function convertAnalyses(
  context: AnalysisContext,
  uses: readonly AnalysisUse[],
  taken: readonly KubernetesObject[] = [],
): MadeAnalysis {
  const made = new Map<string, Made>();
  for (const use of uses) {
    tellFields(context.report, use, use.value, useRules);
    const templates = templatesOf(context, use, recordsOf(recordOf(use.value).templates), 0);
    const silent = [use.value, ...templates.map(({ object }) => object.spec)].flatMap((spec) =>
      recordsOf(recordOf(spec).dryRun).map(({ metricName }) => textOf(metricName) ?? ''),
    );
    for (const one of templates)
      for (const result of metricsOf(context, use, one, silent)) made.set(JSON.stringify(result), result);
  }
  const all = withOwnNames([...made.values()], taken);
  const known = new Set(taken.map((object) => JSON.stringify(object)));
  const intervals = all.flatMap(({ intervalMs }) => intervalMs ?? []);
  const counts = all.flatMap(({ count }) => count ?? []);
  return {
    metrics: all.map(({ metric }) => metric),
    objects: all.flatMap(({ objects }) => objects).filter((object) => !known.has(JSON.stringify(object))),
    threshold: all.length > 0 ? Math.min(...all.map(({ threshold }) => threshold)) : 1,
    ...(intervals.length > 0 ? { intervalMs: Math.max(...intervals) } : {}),
    ...(counts.length > 0 ? { count: Math.max(...counts) } : {}),
  };
}

/** One template with other arguments is another metric. */
function withOwnNames(all: readonly Made[], taken: readonly KubernetesObject[]): Made[] {
  const texts = new Map(taken.map((object) => [object.metadata.name, JSON.stringify(object)]));
  const isTaken = ({ objects }: Made, name: string) => {
    const text = texts.get(name);
    return text !== undefined && !objects.some((object) => JSON.stringify(object) === text);
  };
  return all.map((made) => {
    const { metric } = made;
    const former = metric.templateRef?.name ?? metric.name;
    let time = 1;
    while (isTaken(made, time === 1 ? former : `${former}-${time}`)) time += 1;
    const text = JSON.stringify(made).replaceAll(
      new RegExp(`(?<=["/])${former}(?=")`, 'g'),
      time === 1 ? former : `${former}-${time}`,
    );
    const renamed = JSON.parse(text) as Made;
    for (const object of renamed.objects) texts.set(object.metadata.name, JSON.stringify(object));
    return time === 1 ? made : { ...renamed, metric: { ...renamed.metric, name: `${metric.name}-${time}` } };
  });
}

/** Templates may name others. */
function templatesOf(
  context: AnalysisContext,
  { placed, at }: FieldPlace,
  references: readonly Record<string, unknown>[],
  depth: number,
): Placed[] {
  return references.flatMap(({ templateName: named, clusterScope }, index): Placed[] => {
    const templateName = textOf(named) ?? '';
    const field = `${at}.templates[${index}]`;
    const kind = clusterScope === true ? 'ClusterAnalysisTemplate' : 'AnalysisTemplate';
    const found = depth < 5 ? context.find(kind, templateName) : undefined;
    if (!found) {
      const message = `${kind} ${templateName} is not in these files; name a folder that has it, too`;
      tell(context.report, placed, field, ['stop', message]);
      return [];
    }
    tell(context.report, placed, field, [
      'converted',
      `the metrics of ${kind} ${templateName} are metrics of the Canary`,
    ]);
    const nested = recordsOf(recordOf(found.object.spec).templates);
    return [found, ...templatesOf(context, { placed: found, at: 'spec' }, nested, depth + 1)];
  });
}

const metricRules: Readonly<Record<string, Rule | undefined>> = {
  name: undefined,
  provider: undefined,
  successCondition: undefined,
  failureCondition: undefined,
  failureLimit: (value) =>
    (wholeNumber(value) ?? 0) < 0
      ? ['stop', 'lets every check fail; take the metric out, or give it a limit first']
      : ['differs', 'is part of threshold, which counts the failed checks of all metrics together'],
  interval: ['differs', 'metrics are checked at each interval of the Canary'],
  count: ['differs', 'metrics are checked as long as the release is tried'],
  initialDelay: ['differs', 'the first check follows after one interval of the Canary'],
  consecutiveErrorLimit: ['differs', 'a check without an answer is a failed check'],
  inconclusiveLimit: ['differs', 'no value is inconclusive: it is in the range or not'],
  consecutiveSuccessLimit: ['differs', 'each check must pass, and those in a row are not counted'],
};

/** `silent`: names in dryRun, which holds for the metrics of all templates of a run. */
function metricsOf(
  context: AnalysisContext,
  use: AnalysisUse,
  template: Placed,
  silent: readonly string[],
): Made[] {
  const { report } = context;
  const { metrics, args: declared, ...rest } = recordOf(template.object.spec);
  tellFields(report, { placed: template, at: 'spec' }, rest, {
    templates: undefined,
    dryRun: undefined,
    measurementRetention: useRules.measurementRetention,
  });
  const argument = (name: string) =>
    argumentOf(context, use, template, { name, declared: recordsOf(declared) });
  return recordsOf(metrics).flatMap((metric, index): Made[] => {
    const at = `spec.metrics[${index}]`;
    if (silent.some((name) => isNamedBy(name, textOf(metric.name) ?? ''))) {
      tell(report, template, at, [
        'differs',
        'is left out: it is in dryRun, and there is no check that does not count',
      ]);
      return [];
    }
    const filled = withArguments(metric, argument);
    const made = filled ? metricOf(context, { placed: template, at }, recordOf(filled)) : undefined;
    return made ? [made] : [];
  });
}

/** A regular expression that the name need not match as a whole; `*` is none. */
function isNamedBy(pattern: string, name: string): boolean {
  try {
    return new RegExp(pattern).test(name);
  } catch {
    return pattern === '*';
  }
}

function metricOf(
  context: AnalysisContext,
  place: FieldPlace,
  metric: Record<string, unknown>,
): Made | undefined {
  const { report, placed } = context;
  const stop = (field: string, message: string) => {
    tell(report, place.placed, [place.at, field].filter(Boolean).join('.'), ['stop', message]);
    return undefined;
  };
  tellFields(report, place, metric, metricRules);
  const [[system = '', given] = [], ...others] = Object.entries(recordOf(metric.provider));
  const rules = Object.hasOwn(metricSystems, system) ? metricSystems[system] : undefined;
  if (!rules || others.length > 0) return stop('provider', 'is not known here; take the metric out first');
  tellFields(report, { ...place, at: `${place.at}.provider.${system}` }, given, rules.rules);
  const range = rangeOf(textOf(metric.successCondition), textOf(metric.failureCondition), rules.hasList);
  const condition = metric.successCondition === undefined ? 'failureCondition' : 'successCondition';
  if (range && 'problem' in range) return stop(condition, range.problem);
  const own = `${placed.object.metadata.name}-${String(metric.name)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')}`;
  const name = shortName(own.replace(/-+$/, ''), 52);
  const made = rules.make(recordOf(given), { pointer: range?.pointer ?? '', name });
  if ('problem' in made)
    return stop(['provider', system, made.field].filter(Boolean).join('.'), made.problem);
  if (/\{\{(?!\s*variables\.)/.test(made.spec.query))
    return stop(
      `provider.${system}`,
      'has braces that are a template here, too; write its MetricTemplate by hand',
    );
  if (!range && system !== 'job') {
    tell(report, place.placed, place.at, [
      'differs',
      'is left out: it has no condition, so that every value passes',
    ]);
    return undefined;
  }
  for (const note of range?.notes ?? [])
    tell(report, place.placed, `${place.at}.${condition}`, ['differs', note]);
  tell(report, place.placed, place.at, [
    'converted',
    `is MetricTemplate ${name}, and a metric of Canary ${placed.object.metadata.name}`,
  ]);
  return finished(context, metric, {
    name,
    made,
    range: range?.range ?? { min: 1 },
    onNoData: range?.onNoData,
  });
}

function finished(
  { placed }: AnalysisContext,
  metric: Record<string, unknown>,
  {
    name,
    made,
    range,
    onNoData,
  }: {
    readonly name: string;
    readonly made: { readonly spec: object; readonly interval?: string; readonly job?: object };
    readonly range: CanaryMetric['thresholdRange'];
    readonly onNoData: CanaryMetric['onNoData'];
  },
): Made {
  const { namespace } = placed.object.metadata;
  const metadata = { name, ...(namespace ? { namespace } : {}) };
  const intervalMs = durationOr(textOf(metric.interval), 0);
  const count = wholeNumber(metric.count);
  return {
    metric: {
      name: String(metric.name),
      templateRef: { name },
      ...present({ interval: made.interval, thresholdRange: range, onNoData }),
    },
    objects: [
      ...(made.job ? [{ apiVersion: 'batch/v1', kind: 'CronJob', metadata, ...made.job }] : []),
      { apiVersion: 'flagger.app/v1beta1', kind: 'MetricTemplate', metadata, spec: made.spec },
    ],
    threshold: (wholeNumber(metric.failureLimit) ?? 0) + 1,
    intervalMs: intervalMs > 0 ? intervalMs : undefined,
    count: count !== undefined && count > 0 ? count : undefined,
  };
}

// Arguments: `{{args.NAME}}` in any text of a metric. What no metric names is not looked at.

/** The value of an argument; that of the Rollout comes before the template's own. Undefined where it stops. */
function argumentOf(
  context: AnalysisContext,
  use: AnalysisUse,
  template: Placed,
  { name, declared }: { readonly name: string; readonly declared: readonly Record<string, unknown>[] },
): string | undefined {
  const given = recordsOf(recordOf(use.value).args);
  const own = given.findIndex((one) => one.name === name);
  const place =
    own >= 0
      ? { placed: use.placed, at: `${use.at}.args[${own}]` }
      : { placed: template, at: `spec.args[${declared.findIndex((one) => one.name === name)}]` };
  const found = given[own] ?? declared.find((one) => one.name === name);
  if (found) return argValue(context, place, found);
  tell(context.report, template, 'spec.args', ['stop', `has no argument ${name}, which a metric names`]);
  return undefined;
}

function argValue(
  { report, placed, services, namespace }: AnalysisContext,
  place: FieldPlace,
  { value, valueFrom }: Record<string, unknown>,
): string | undefined {
  const stop = (message: string) => void tell(report, place.placed, place.at, ['stop', message]);
  if (value !== undefined && value !== null) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const [, host = '', rest = ''] = /^([^.:/]+)(.*)$/s.exec(text) ?? [];
    const [, instead] = Object.entries(services).find(([service]) => service === host) ?? [];
    if (instead === undefined) return text;
    tell(report, place.placed, place.at, [
      'differs',
      `${host} is ${instead} in the query, which is the Service of the same pods now`,
    ]);
    return instead + rest;
  }
  const { fieldRef, podTemplateHashValue, secretKeyRef } = recordOf(valueFrom);
  const { fieldPath } = recordOf(fieldRef);
  const { metadata } = placed.object;
  const object = { ...placed.object, metadata: { ...metadata, ...(namespace ? { namespace } : {}) } };
  const found = typeof fieldPath === 'string' ? fieldAt(object, fieldPath) : undefined;
  if (found !== undefined) {
    tell(report, place.placed, place.at, ['converted', `${fieldPath} is ${found} in the query`]);
    return found;
  }
  if (podTemplateHashValue)
    stop(
      'is a hash of Argo Rollouts; name the pods by {{ pods }} in a MetricTemplate that you write by hand, and take the metric out first',
    );
  else if (secretKeyRef)
    stop(
      'reads a Secret; let a MetricTemplate that you write by hand name it in secretRef, and take the metric out first',
    );
  else if (fieldPath) stop('has no value in the file of the Rollout; write the value itself');
  else stop('has no value; set it in the analysis of the Rollout');
  return undefined;
}

/** `metadata.labels['region']`. */
function fieldAt(object: KubernetesObject, path: string): string | undefined {
  const steps = path.split(/\.(?![^[]*\])|\[['"]|['"]\]/).filter(Boolean);
  const found = steps.reduce<unknown>((at, step) => (isRecord(at) ? at[step] : undefined), object);
  return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
}

/** The metric with its arguments; undefined where one has no value. */
function withArguments(metric: unknown, argument: (name: string) => string | undefined): unknown {
  let isComplete = true;
  const filled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(filled);
    if (isRecord(value))
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one)]));
    if (typeof value !== 'string') return value;
    return value.replaceAll(/\{\{\s*args\.([\w-]+)\s*\}\}/g, (text, name: string) => {
      const found = argument(name);
      isComplete &&= found !== undefined;
      return found ?? text;
    });
  };
  const result = filled(metric);
  return isComplete ? result : undefined;
}
