/** Whose metrics are asked: names that queries are about. */
import type { Canary } from '../api/canary.ts';
import { apexName, sharesWorkload } from '../api/effective.ts';
import { TemplateError } from './template-error.ts';

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
}

const dnsName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/**
 * The names for one role. `workload` is the role's revision where the target is a Knative Service, whose sides have no other names (3.12).
 * Throws TemplateError for a name that is no DNS name: nothing else may reach a query (threat row 8).
 */
export function metricSubject(canary: Canary, role: MetricRole, workload?: string): MetricSubject {
  const { targetRef, ingressRef, routeRef } = canary.spec;
  const apex = apexName(canary);
  const subject: MetricSubject = {
    name: canary.metadata.name,
    namespace: canary.metadata.namespace ?? 'default',
    target: role === 'primary' ? `${targetRef.name}-primary` : targetRef.name,
    kind: targetRef.kind.toLowerCase(),
    service: role === 'primary' ? `${apex}-primary` : apex,
    ownService: `${apex}-${role}`,
    ingress: ingressRef?.name ?? targetRef.name,
    route: routeRef?.name ?? targetRef.name,
  };
  if (targetRef.apiVersion.startsWith('serving.knative.dev/')) {
    const { name } = targetRef;
    Object.assign(subject, { target: name, service: name, ownService: name, route: workload ?? name });
  }
  // Both sides are pods of the one workload (ADR 21), and no Service is ours.
  if (sharesWorkload(canary.spec.provider))
    Object.assign(subject, { target: targetRef.name, service: apex, ownService: apex });
  for (const [field, value] of Object.entries(subject))
    if (!dnsName.test(value))
      throw new TemplateError(`${field} is not a DNS name and cannot stand in a query`);
  return subject;
}
