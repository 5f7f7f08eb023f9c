/** Whose metrics are asked: names that queries are about. */
import { apexName, type Canary, sharesWorkload } from '../../api/canary/canary.ts';
import { objectName } from '../../api/kubernetes.ts';
import { cutPodNames, madeLetters } from '../../api/pod-names.ts';
import { literal } from '../routing/request-metrics.ts';
import { TemplateError } from './template-parser.ts';

/** The canary workload during analysis, the primary after promotion. */
export type MetricRole = 'canary' | 'primary';

/** Names as queries use them. */
export interface MetricSubject {
  name: string;
  namespace: string;
  /** Workload of the role. */
  target: string;
  /** Kind of that workload in small letters: pods of a DaemonSet have one suffix, those of a Deployment two. */
  kind: string;
  /** `{{ service }}`: the apex during analysis, as in Flagger; the primary Service after promotion. */
  service: string;
  /** The Service that selects the role's pods only. */
  ownService: string;
  ingress: string;
  route: string;
  /** RE2 of the names of the role's pods; of pods of one workload those of the newest template. */
  pods: string;
  /** The same for the other side's: of pods of one workload those of older templates; `-` for none. */
  otherPods: string;
}

/** Names of pods by their template, where both sides are pods of one workload (ADR 21). */
export interface SubjectPods {
  readonly pods: string;
  readonly otherPods: string;
}

const podSuffix = '[0-9a-zA-Z]+';
/** Patterns of pod names are built from names of the cluster's objects only. */
const podPattern = /^[-a-zA-Z0-9.\\[\](){}|+]{1,32768}$/;

/** Names that the cluster has given. */
interface GivenNames {
  /** Of the role's workload: where the target is a Knative Service its revision, since its sides have no other names (3.12). */
  readonly workload?: string | undefined;
  readonly otherWorkload?: string | undefined;
  readonly pods?: SubjectPods | undefined;
}

/**
 * The names for one role.
 * Throws TemplateError for a name that is no DNS name: nothing else may reach a query (threat row 8).
 */
export function metricSubject(canary: Canary, role: MetricRole, given: GivenNames = {}): MetricSubject {
  const { targetRef, ingressRef, routeRef } = canary.spec;
  const { name } = targetRef;
  const apex = apexName(canary);
  const sides = [name, `${name}-primary`] as const;
  const [target, other] = role === 'primary' ? [sides[1], sides[0]] : sides;
  const subject: MetricSubject = {
    name: canary.metadata.name,
    namespace: canary.metadata.namespace ?? 'default',
    target,
    kind: targetRef.kind.toLowerCase(),
    service: role === 'primary' ? `${apex}-primary` : apex,
    ownService: `${apex}-${role}`,
    ingress: ingressRef?.name ?? name,
    route: routeRef?.name ?? name,
    pods: podsOf(target, targetRef.kind, sides[1]),
    otherPods: podsOf(other, targetRef.kind, sides[1]),
  };
  if (targetRef.apiVersion.startsWith('serving.knative.dev/'))
    Object.assign(subject, namesOfRevisions(name, given));
  // Both sides are pods of the one workload (ADR 21), and no Service is generated.
  if (sharesWorkload(canary.spec.provider)) {
    const { pods: own, otherPods } = given.pods ?? { pods: podsOf(name, targetRef.kind), otherPods: '-' };
    Object.assign(subject, { target: name, service: apex, ownService: apex, pods: own, otherPods });
  }
  for (const [field, value] of Object.entries(subject))
    if (!(field.toLowerCase().endsWith('pods') ? podPattern : objectName).test(value))
      throw new TemplateError(`${field} is not a DNS name and cannot be used in a query`);
  return subject;
}

/**
 * Pods of a workload of this name: those of a Deployment carry two suffixes, those of other kinds one. Where the names of the primary's pods are so long
 * that Kubernetes cuts them, with looser suffixes they would not be found, or be taken for the canary's.
 */
function podsOf(workload: string, kind: string, primary = workload): string {
  const own = `${literal(workload)}-`;
  if (!cutPodNames(primary, kind))
    return own + (kind === 'Deployment' ? `${podSuffix}(-${podSuffix})` : podSuffix);
  const whole = own + (kind === 'Deployment' ? `${madeLetters}+-${madeLetters}{5}` : `${madeLetters}{5}`);
  const cut = cutPodNames(workload, kind);
  return cut ? `(${whole}|${literal(cut.beginning)}${madeLetters}{${cut.letters}})` : whole;
}

/** Knative runs each revision as a Deployment; its name is this one unless that is longer than 63 characters. */
function namesOfRevisions(
  name: string,
  { workload = name, otherWorkload }: GivenNames,
): Partial<MetricSubject> {
  const podsOfRevision = (revision: string) => podsOf(`${revision}-deployment`, 'Deployment');
  return {
    target: name,
    service: name,
    ownService: name,
    route: workload,
    pods: podsOfRevision(workload),
    otherPods: otherWorkload === undefined ? '-' : podsOfRevision(otherWorkload),
  };
}
