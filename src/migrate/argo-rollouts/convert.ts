/** A Rollout as a Canary, with its MetricTemplates. Pure. */
import type { CanaryMetric } from '../../api/canary/analysis.ts';
import type { Canary } from '../../api/canary/canary.ts';
import { checkCanary } from '../../api/canary/validate.ts';
import { parseCanary, parseKind } from '../../api/kinds/parse.ts';
import {
  type KubernetesObject,
  numberOf,
  present,
  recordOf,
  recordsOf,
  textOf,
} from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { formatIntervalMs } from '../../api/time.ts';
import { defaultSelectorLabels } from '../../workload/shared/metadata.ts';
import type { Files } from '../edit.ts';
import type { Placed } from '../tree.ts';
import { convertAnalyses, type MadeAnalysis } from './metrics.ts';
import { type Report, type Rule, tell, tellFields, unlessFalse } from './report.ts';
import { convertRouting, type Routing } from './routers.ts';
import { convertBlueGreen, convertCanary, servicesOf, type Trial } from './strategy.ts';

/** A Rollout, and what of the tree and the cluster belongs to it. */
interface RolloutContext {
  readonly report: Report;
  readonly placed: Placed;
  readonly namespace: string | undefined;
  readonly find: (kind: string, name: string) => Placed | undefined;
  /** A Service, also one that only the cluster has. */
  readonly service: (name: string) => KubernetesObject | undefined;
  /** The scaler of the Rollout. */
  readonly scaler: Placed | undefined;
}

/** What is written for a Rollout. */
export interface ConvertedRollout {
  /** The Canary first, suspended. */
  readonly objects: readonly KubernetesObject[];
  readonly editRoutes: (files: Files) => Files;
}

const stays: Rule = ['converted', 'is in the Deployment'];
const staysInGit =
  'is in the Deployment; where another tool than a Source applies it, take it out of Git once the Canary has taken over: each apply would start pods of the target';
const rolloutRules: Readonly<Record<string, Rule | undefined>> = {
  replicas: stays,
  selector: stays,
  template: stays,
  minReadySeconds: stays,
  revisionHistoryLimit: stays,
  workloadRef: ['converted', 'is the target of the Canary'],
  strategy: undefined,
  progressDeadlineSeconds: ['converted', 'is in the Deployment and in the Canary'],
  progressDeadlineAbort: (value) =>
    value === true
      ? ['converted', 'a release without progress is ended']
      : ['differs', 'a release without progress is ended, and not only reported'],
  paused: unlessFalse(['stop', 'let it go on first; later use holdfast pause']),
  restartAt: ['converted', 'is not needed: the pods are new'],
  rollbackWindow: [
    'differs',
    'is not needed: a commit that returns to a proven release skips steps and analysis',
  ],
  analysis: ['converted', 'is not needed: the status of the Canary has the results'],
};

/** The pods' share is the weight where nothing divides requests. */
const withoutRouter: Routing = { spec: { provider: 'native' }, apex: undefined, edit: (files) => files };

/** Says everything in the report; undefined where something stops. */
export function convertRollout(context: RolloutContext): ConvertedRollout | undefined {
  const { report, placed } = context;
  const spec = recordOf(placed.object.spec);
  const { strategy } = spec;
  const { blueGreen, canary, ...others } = recordOf(strategy);
  const isCopied = Boolean(blueGreen) || Boolean(recordOf(canary).trafficRouting);
  tellFields(report, { placed, at: 'spec' }, spec, {
    ...rolloutRules,
    ...(isCopied ? { replicas: ['differs', staysInGit] as const } : {}),
  });
  tellFields(report, { placed, at: 'spec.strategy' }, others, {});
  tellAnnotations(context);
  if (spec.progressDeadlineAbort === undefined)
    tell(report, placed, 'spec', [
      'differs',
      'progressDeadlineAbort is not set: a release without progress is ended here, and not only reported',
    ]);
  if (Boolean(blueGreen) === Boolean(canary)) {
    tell(report, placed, 'spec.strategy', ['stop', 'must be canary or blueGreen']);
    return undefined;
  }
  const made = blueGreen
    ? fromBlueGreen(context, recordOf(blueGreen))
    : fromCanary(context, recordOf(canary));
  if (!made || report.said.stop.length > 0) return undefined;
  const canaryObject = canaryOf(context, made);
  const objects = [canaryObject, ...made.before.objects, ...made.after.objects];
  if (report.said.stop.length === 0) for (const object of objects) sayInvalid(context, object);
  return report.said.stop.length > 0 ? undefined : { objects, editRoutes: made.routing.edit };
}

interface Parts {
  readonly routing: Routing;
  readonly trial: Trial;
  readonly before: MadeAnalysis;
  readonly after: MadeAnalysis;
  readonly readyPercent?: number | undefined;
}

function fromCanary(context: RolloutContext, canary: Record<string, unknown>): Parts | undefined {
  const { report, placed } = context;
  const place = { placed, at: 'spec.strategy.canary' };
  const names = servicesOf(canary);
  const trial = convertCanary(report, place, canary);
  const isRouted = canary.trafficRouting !== undefined && canary.trafficRouting !== null;
  if (!isRouted)
    tell(report, placed, place.at, [
      'differs',
      'has no trafficRouting: provider native steps the pods of the Deployment, which must be in a Source',
    ]);
  const routing = isRouted ? convertRouting({ ...context, ...names }, canary.trafficRouting) : withoutRouter;
  if (!routing) return undefined;
  const { apex } = routing;
  sayServices(context, { ...names, apex, hasPing: canary.pingPong !== undefined });
  const services: Record<string, string> = {};
  if (apex && names.canary) services[names.canary] = `${apex}-canary`;
  if (apex && names.stable) services[names.stable] = `${apex}-primary`;
  const before = convertAnalyses({ ...context, services }, trial.before);
  const { type, value } = recordOf(canary.replicaProgressThreshold);
  return {
    routing,
    trial,
    before,
    after: convertAnalyses({ ...context, services }, trial.after, before.objects),
    readyPercent: type === 'Percent' ? numberOf(value) : undefined,
  };
}

function fromBlueGreen(context: RolloutContext, blueGreen: Record<string, unknown>): Parts {
  const { report, placed } = context;
  const apex = textOf(blueGreen.activeService);
  const preview = textOf(blueGreen.previewService);
  const trial = convertBlueGreen(report, { placed, at: 'spec.strategy.blueGreen' }, blueGreen);
  if (preview)
    tell(report, placed, 'spec.strategy.blueGreen.previewService', [
      'converted',
      `Service ${apex}-canary has the pods of the new release; ${preview} selects them as well, as long as it stays in Git`,
    ]);
  const services: Record<string, string> = preview ? { [preview]: `${apex}-canary` } : {};
  const before = convertAnalyses({ ...context, services }, trial.before);
  return {
    routing: { spec: { provider: 'kubernetes' }, apex, edit: (files) => files },
    trial,
    before,
    after: convertAnalyses({ ...context, services }, trial.after, before.objects),
  };
}

function sayServices(
  { report, placed }: RolloutContext,
  {
    stable,
    canary,
    apex,
    hasPing,
  }: { stable: string | undefined; canary: string | undefined; apex: string | undefined; hasPing: boolean },
): void {
  const at = hasPing ? 'spec.strategy.canary.pingPong' : 'spec.strategy.canary';
  const [stableField, canaryField] = hasPing
    ? ['pingService', 'pongService']
    : ['stableService', 'canaryService'];
  const all = 'selects all pods, as every Service that you write: the share of the pods is the weight';
  if (stable)
    tell(
      report,
      placed,
      `${at}.${stableField}`,
      !apex
        ? ['converted', all]
        : stable === apex
          ? ['converted', 'is service.name: users are sent to it as before']
          : [
              'differs',
              `Service ${apex}-primary has the pods that serve; ${stable} selects those of the canary, take it out of Git`,
            ],
    );
  if (canary)
    tell(
      report,
      placed,
      `${at}.${canaryField}`,
      apex
        ? [
            'converted',
            `Service ${apex}-canary has the pods of the new release; ${canary} selects them as well, as long as it stays in Git`,
          ]
        : ['differs', all],
    );
}

function canaryOf(context: RolloutContext, parts: Parts): Canary {
  const { placed, scaler } = context;
  const { routing, before, after, trial } = parts;
  const { name, namespace } = placed.object.metadata;
  const { workloadRef, progressDeadlineSeconds } = recordOf(placed.object.spec);
  const target = textOf(recordOf(workloadRef).name) ?? name;
  const { provider, ...references } = routing.spec;
  const divides = provider !== 'kubernetes';
  const weights = trial.weights.length > 0 ? trial.weights : [100];
  const spec = {
    provider,
    targetRef: { apiVersion: 'apps/v1', kind: 'Deployment' as const, name: target },
    ...references,
    autoscalerRef: scaler && scalerRef(scaler),
    service: serviceOf(context, routing, target),
    progressDeadlineSeconds: numberOf(progressDeadlineSeconds),
    skipAnalysis: divides && isPlain(parts) ? true : undefined,
    // Until Argo Rollouts has let go of the Services.
    suspend: true,
    analysis: present({
      interval: formatIntervalMs(intervalMs(parts)),
      threshold: before.threshold,
      ...(divides ? { stepWeights: [...weights] } : { iterations: before.count ?? 1 }),
      canaryReadyThreshold: parts.readyPercent,
      metrics: before.metrics.length > 0 ? [...before.metrics] : undefined,
      webhooks: trial.gates.length > 0 ? trial.gates.map(gate) : undefined,
    }),
    postPromotion: after.metrics.length > 0 ? postPromotionOf(after) : undefined,
  };
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name, ...(namespace ? { namespace } : {}) },
    spec: present(spec) as unknown as Canary['spec'],
  };
}

/** Without steps and analysis a Rollout is a rolling update. */
function isPlain({ trial, before }: Parts): boolean {
  return trial.weights.length === 0 && before.metrics.length === 0 && trial.gates.length === 0;
}

function intervalMs({ trial, before }: Parts): number {
  return Math.max(limits.minAnalysisIntervalMs, trial.waitMs ?? before.intervalMs ?? 60_000);
}

const gateNames: Readonly<Record<string, string>> = {
  'confirm-rollout': 'start',
  'confirm-traffic-increase': 'next step',
  'confirm-promotion': 'promotion',
};

function gate(type: string) {
  return { name: gateNames[type] ?? type, type, url: 'http://holdfast.holdfast-system/gate/check' };
}

function postPromotionOf(after: MadeAnalysis) {
  return present({
    interval: after.intervalMs === undefined ? undefined : formatIntervalMs(after.intervalMs),
    successThreshold: after.count ?? 1,
    failureThreshold: after.threshold,
    metrics: [...after.metrics] as CanaryMetric[],
  });
}

function scalerRef({ object }: Placed) {
  const { kind, metadata } = object;
  // Other versions of it are the same object.
  const apiVersion = kind === 'HorizontalPodAutoscaler' ? 'autoscaling/v2' : object.apiVersion;
  return { apiVersion, kind: kind as 'HorizontalPodAutoscaler' | 'ScaledObject', name: metadata.name };
}

/** From the Service that users are sent to. */
function serviceOf({ report, placed, service }: RolloutContext, { apex }: Routing, target: string) {
  if (!apex) return undefined;
  const found = service(apex);
  const [port, ...others] = recordsOf(recordOf(found?.spec).ports);
  if (!port) {
    tell(report, placed, 'spec.strategy', [
      'stop',
      `Service ${apex} with its port is neither in these files nor in the cluster; name a folder that has it, too`,
    ]);
    return undefined;
  }
  const { template } = recordOf(placed.object.spec);
  const named = recordsOf(recordOf(recordOf(template).spec).containers).flatMap(({ ports }) =>
    recordsOf(ports),
  );
  if (template && typeof port.targetPort === 'string' && !named.some(({ name }) => name === port.targetPort))
    tell(report, placed, 'spec.template', [
      'stop',
      `no container has the port ${port.targetPort}, to which Service ${apex} sends`,
    ]);
  if (others.length > 0)
    tell(report, placed, 'spec.strategy', [
      'differs',
      `Service ${apex} has several ports: its first one is divided, and the Services of Holdfast have the ports of the containers, too (portDiscovery)`,
    ]);
  return present({
    name: apex === target ? undefined : apex,
    port: numberOf(port.port),
    portName: textOf(port.name),
    targetPort: port.targetPort as number | string | undefined,
    appProtocol: textOf(port.appProtocol),
    portDiscovery: others.length > 0 ? true : undefined,
  });
}

function sayInvalid({ report, placed, scaler }: RolloutContext, object: KubernetesObject): void {
  const stop = (path: string, message: string) =>
    tell(report, placed, 'spec', ['stop', `${object.kind} ${object.metadata.name}: ${path}: ${message}`]);
  if (object.kind === 'CronJob') return;
  const parsed =
    object.kind === 'Canary'
      ? parseCanary(object, { strict: true })
      : parseKind('MetricTemplate', object, { strict: true });
  if (!parsed.ok) {
    for (const { path, message } of parsed.problems) stop(path, message);
    return;
  }
  if (object.kind !== 'Canary') return;
  const canary = parsed.value as Canary;
  for (const { path, message } of checkCanary(canary).problems) stop(path, message);
  const { replicas, selector, workloadRef } = recordOf(placed.object.spec);
  const { matchLabels } = recordOf(selector);
  const isNative = canary.spec.provider === 'native';
  if (isNative && !scaler && !((numberOf(replicas) ?? 1) > 1))
    tell(report, placed, 'spec.replicas', [
      'stop',
      'is one, which cannot be divided into steps; run two pods or more, or use blueGreen',
    ]);
  if (!isNative && !workloadRef && !defaultSelectorLabels.some((label) => label in recordOf(matchLabels)))
    tell(report, placed, 'spec.selector', [
      'stop',
      `needs one of the labels ${defaultSelectorLabels.join(', ')}, which tell the pods of both sides apart`,
    ]);
}

function tellAnnotations({ report, placed }: RolloutContext): void {
  for (const key of Object.keys(placed.object.metadata.annotations ?? {})) {
    const at = `metadata.annotations[${JSON.stringify(key)}]`;
    if (key.startsWith('notifications.argoproj.io/'))
      tell(report, placed, at, ['differs', 'is left out: name AlertProviders in analysis.alerts']);
    else if (key.startsWith('rollout.argoproj.io/')) tell(report, placed, at, ['converted', 'is not needed']);
  }
}

/** Annotations that only Argo Rollouts reads. */
export function isOfRollouts(key: string): boolean {
  return /^(notifications|rollout)\.argoproj\.io\//.test(key);
}
