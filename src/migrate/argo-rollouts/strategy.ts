/** The strategy of a Rollout as the analysis of a Canary. Pure. */
import { isRecord, numberOf, recordOf, recordsOf, textOf } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { formatIntervalMs, parseDurationMs } from '../../api/time.ts';
import { wholeNumber } from './metric-systems.ts';
import type { AnalysisUse } from './metrics.ts';
import {
  type FieldPlace,
  type Report,
  type Rule,
  tell,
  tellFields,
  unlessFalse,
  type Verdict,
} from './report.ts';

/** What is tried, for how long, and who is asked. */
export interface Trial {
  /** In percent; empty: requests are not divided. */
  readonly weights: readonly number[];
  /** Longest wait at a weight; undefined: none is named. */
  readonly waitMs: number | undefined;
  /** Types of the gates. */
  readonly gates: readonly string[];
  readonly before: readonly AnalysisUse[];
  readonly after: readonly AnalysisUse[];
}

const noLabels: Verdict = [
  'differs',
  'is left out: pods have no metadata by their role, and are known by their names and by the selector label (web, web-primary)',
];
const whileItIsTried: Verdict = [
  'differs',
  'is not needed: the pods of the canary stay until the checks after the promotion have passed; after that the way back is the record of the last-known-good',
];
const ownShare: Verdict = [
  'differs',
  'is left out: the canary gets the pods that its share of the requests needs',
];
const spread: Verdict = ['differs', 'is left out: write it into the pod template'];
const ofDeployment: Verdict = ['converted', 'is in strategy.rollingUpdate of the Deployment'];

/** Fields of both strategies that other code reads or that mean little. */
const sharedRules: Readonly<Record<string, Rule | undefined>> = {
  antiAffinity: spread,
  maxUnavailable: ofDeployment,
  scaleDownDelaySeconds: whileItIsTried,
  scaleDownDelayRevisionLimit: whileItIsTried,
  abortScaleDownDelaySeconds: whileItIsTried,
};

const canaryRules: Readonly<Record<string, Rule | undefined>> = {
  ...sharedRules,
  steps: undefined,
  analysis: undefined,
  trafficRouting: undefined,
  stableService: undefined,
  canaryService: undefined,
  pingPong: undefined,
  maxSurge: ofDeployment,
  canaryMetadata: noLabels,
  stableMetadata: noLabels,
  dynamicStableScale: unlessFalse(['differs', 'the primary keeps its pods while the canary is tried']),
  minPodsPerReplicaSet: ownShare,
  replicaProgressThreshold: (value) =>
    recordOf(value).type === 'Percent'
      ? ['converted', 'is canaryReadyThreshold']
      : ['differs', 'is left out: it is a number of pods, and canaryReadyThreshold is percent'],
};

interface Walk {
  readonly report: Report;
  readonly place: FieldPlace;
  /** Weights in percent, and how long each lasts. */
  readonly weights: Array<{ readonly weight: number; waitMs: number }>;
  readonly uses: AnalysisUse[];
  /** The pauses without a duration, with the number of weights before them. */
  readonly pauses: Array<{ readonly field: string; readonly after: number }>;
  readonly whole: number;
}

/** Steps by their only field. */
const steps: Readonly<Record<string, (walk: Walk, value: unknown, field: string) => Verdict | undefined>> = {
  setWeight: (walk, value) => {
    const share = wholeNumber(value) ?? Number.NaN;
    const weight = Math.round((100 * share) / walk.whole);
    const before = walk.weights.at(-1)?.weight ?? 0;
    if (!(weight <= 100)) return ['stop', 'is no share'];
    if (weight === before) return ['converted', 'is the weight before'];
    if (weight < before) return ['differs', 'is left out: weights rise only'];
    walk.weights.push({ weight, waitMs: 0 });
    const isWhole = (100 * share) % walk.whole === 0;
    const text = 'is in analysis.stepWeights';
    return isWhole ? ['converted', text] : ['differs', `${text}, rounded to ${weight} percent`];
  },
  pause: (walk, value, field) => {
    const { duration } = recordOf(value);
    if (duration === undefined || duration === null) {
      walk.pauses.push({ field, after: walk.weights.length });
      return undefined;
    }
    const text = typeof duration === 'number' ? String(duration) : (textOf(duration) ?? '');
    const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : parseDurationMs(text);
    if (waitMs === undefined) return ['stop', 'is no duration'];
    const at = walk.weights.at(-1);
    if (!at) return ['differs', 'is left out: nothing waits before the first weight'];
    at.waitMs += waitMs;
    return undefined;
  },
  analysis: (walk, value, field) => {
    walk.uses.push({ placed: walk.place.placed, at: field, value });
    return ['differs', 'its metrics are checked at every step'];
  },
  setCanaryScale: () => ownShare,
  replicaProgressThreshold: () => ['differs', 'is left out: canaryReadyThreshold holds for every step'],
  setHeaderRoute: () => [
    'stop',
    'requests by header and by weight are not combined on a route that you keep: remove the step, or write the Canary by hand, with analysis.match and iterations',
  ],
  setMirrorRoute: () => [
    'stop',
    'requests are not copied on a route that you keep: remove the step, or write the Canary by hand, with analysis.mirror',
  ],
  experiment: () => [
    'stop',
    'has no counterpart: remove the step, and compare the canary with the primary (compareWith or compare of a metric)',
  ],
  plugin: () => ['stop', 'Holdfast has no plugins: let a webhook do what it does, and remove the step'],
};

/** A canary. */
export function convertCanary(report: Report, place: FieldPlace, canary: Record<string, unknown>): Trial {
  tellFields(report, place, canary, canaryRules);
  const whole = numberOf(recordOf(canary.trafficRouting).maxTrafficWeight) ?? 100;
  const walk: Walk = { report, place, weights: [], uses: [], pauses: [], whole };
  for (const [index, step] of recordsOf(canary.steps).entries()) {
    convertStep(walk, step, `${place.at}.steps[${index}]`);
  }
  const background = canary.analysis
    ? [{ placed: place.placed, at: `${place.at}.analysis`, value: canary.analysis }]
    : [];
  return {
    weights: walk.weights.map(({ weight }) => weight),
    waitMs: longestWait(walk),
    gates: gatesFor(walk),
    before: [...background, ...walk.uses],
    after: [],
  };
}

function convertStep(walk: Walk, step: Record<string, unknown>, at: string): void {
  const [[name = '', value] = [], ...others] = Object.entries(step);
  const field = name ? `${at}.${name}` : at;
  const stop = (problem: string) => tell(walk.report, walk.place.placed, field, ['stop', problem]);
  if (others.length > 0)
    return stop(
      'is one of several fields of this step, of which Argo Rollouts takes one; make one step of each',
    );
  const read = Object.hasOwn(steps, name) ? steps[name] : undefined;
  if (!read) return stop('is not known here; remove it');
  const verdict = read(walk, value, field);
  if (verdict) tell(walk.report, walk.place.placed, field, verdict);
}

/** One interval holds for all steps: the longest, so that no step is shorter than it was. */
function longestWait({ report, place, weights }: Walk): number | undefined {
  const waits = weights.map(({ waitMs }) => waitMs);
  const longestMs = Math.max(0, ...waits);
  if (longestMs === 0) return undefined;
  const intervalMs = Math.max(limits.minAnalysisIntervalMs, longestMs);
  const why = intervalMs > longestMs ? 'none is shorter' : 'it is the longest of them';
  const isEven = waits.every((one) => one === intervalMs);
  const text = `the pauses are analysis.interval, ${formatIntervalMs(intervalMs)}`;
  tell(
    report,
    place.placed,
    `${place.at}.steps`,
    isEven ? ['converted', text] : ['differs', `${text}, which each step takes: ${why}`],
  );
  return intervalMs;
}

/** A pause until somebody goes on is a gate of Holdfast, which `holdfast gate open` and `approve` open. */
function gatesFor({ report, place, weights, pauses }: Walk): string[] {
  const gates = pauses.map(({ field, after }) => {
    const [type, verdict] = gateAfter(after, weights.length);
    tell(report, place.placed, field, verdict);
    return type;
  });
  return [...new Set(gates)].sort();
}

function gateAfter(after: number, all: number): readonly [string, Verdict] {
  if (after === 0)
    return [
      'confirm-rollout',
      ['differs', 'is a gate of type confirm-rollout, which is asked before any pod starts'],
    ];
  if (after === all) return ['confirm-promotion', ['converted', 'is a gate of type confirm-promotion']];
  const message =
    'is a gate of type confirm-traffic-increase, which is asked before each step and before the promotion';
  return ['confirm-traffic-increase', ['differs', message]];
}

const promotionText =
  'is a gate of type confirm-promotion: holdfast approve lets one release through, holdfast gate open all';

/** Blue/green. */
export function convertBlueGreen(
  report: Report,
  place: FieldPlace,
  blueGreen: Record<string, unknown>,
): Trial {
  const { autoPromotionEnabled, autoPromotionSeconds } = blueGreen;
  const seconds = numberOf(autoPromotionSeconds) ?? 0;
  const waits = autoPromotionEnabled === false && seconds === 0;
  tellFields(report, place, blueGreen, {
    ...sharedRules,
    activeService: ['converted', 'is service.name: users are sent to it as before'],
    previewService: undefined,
    previewReplicaCount: ['differs', 'is left out: the new release is tried with all of its pods'],
    autoPromotionEnabled: waits
      ? ['converted', promotionText]
      : ['converted', 'a release is promoted by itself'],
    autoPromotionSeconds: [
      'differs',
      'is analysis.interval: one check follows after it, and one more before the promotion',
    ],
    prePromotionAnalysis: undefined,
    postPromotionAnalysis: undefined,
    previewMetadata: noLabels,
    activeMetadata: noLabels,
  });
  const use = (field: string) =>
    isRecord(blueGreen[field])
      ? [{ placed: place.placed, at: `${place.at}.${field}`, value: blueGreen[field] }]
      : [];
  return {
    weights: [],
    waitMs: seconds > 0 ? seconds * 1_000 : undefined,
    gates: waits ? ['confirm-promotion'] : [],
    before: use('prePromotionAnalysis'),
    after: use('postPromotionAnalysis'),
  };
}

/** What both sides of `pingPong` are, and the Services of a canary. */
export function servicesOf(canary: Record<string, unknown>): {
  stable: string | undefined;
  canary: string | undefined;
} {
  const { pingService, pongService } = recordOf(canary.pingPong);
  return {
    stable: textOf(canary.stableService) ?? textOf(pingService),
    canary: textOf(canary.canaryService) ?? textOf(pongService),
  };
}
