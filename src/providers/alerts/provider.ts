/** What every receiver of alerts implements, and what it gets. */
import type { AlertProviderType } from '../../api/alert-provider.ts';
import { type Fact, factsOf, type Incident } from '../../api/incident.ts';

/** One alert for one receiver. */
export interface Notice {
  readonly incident: Incident;
  /** What was reported about it since. */
  readonly later?: readonly Incident[] | undefined;
  /** The alert asks for worse news only: it is told so that a receiver that still shows an earlier one ends it. */
  readonly endsOnly?: boolean;
  /** The object it is about. */
  readonly kind: 'Canary' | 'Source';
  readonly name: string;
  readonly namespace: string;
  /** Which cluster it is; undefined: it has no name. */
  readonly cluster?: string | undefined;
  /** Root of the pages that runbooks are linked to, with a slash at the end; undefined: the path alone is shown. */
  readonly documentation: string | undefined;
}

/** The receiver: the AlertProvider with its Secret's values filled in. */
export interface Receiver {
  readonly address: string;
  readonly token: string | undefined;
  readonly channel: string;
  readonly username: string;
}

/** One request, before it is sent. */
interface AlertRequest {
  readonly url: string;
  readonly json: unknown;
  /** The receiver's token, where this kind takes one. */
  readonly bearer?: string | undefined;
}

/** In the receiver's words, as a code. */
interface Refusal {
  readonly code: string;
  /** Trying again may help. */
  readonly isTransient: boolean;
}

/** One kind of receiver: a pure builder. */
export interface AlertReceiver {
  readonly type: AlertProviderType;
  /** An alert is shown until another one ends it. */
  readonly endsAlerts?: true;
  /** Undefined for an incident that this kind does not report. */
  build(notice: Notice, receiver: Receiver): AlertRequest | undefined;
  /** Why an answer with a status of success is a refusal nevertheless. */
  refusal?(body: string): Refusal | undefined;
}

/** Statuses that trying again may help with. */
export function isTransientStatus(status: number): boolean {
  return status >= 500 || transientStatuses.has(status);
}

const transientStatuses = new Set([408, 425, 429]);

/** `name.namespace`, as Flagger signs its alerts; a Source with its kind. */
export function authorOf({ kind, name, namespace }: Notice): string {
  return kind === 'Source' ? `Source ${name}.${namespace}` : `${name}.${namespace}`;
}

/** The facts of the incident, and the cluster; the runbook as an address where the pages are known. */
export function noticeFacts({ incident, cluster, documentation }: Notice): Fact[] {
  const facts = factsOf(incident, documentation);
  return cluster ? [{ title: 'Cluster', value: cluster }, ...facts] : facts;
}

/** Error and warn are shown in the receiver's colour of alarm. */
export function isAlarm({ incident }: Notice): boolean {
  return incident.severity !== 'info';
}

/** The address with this at the end of its path, appended once. */
export function withPathEnd(address: string, end: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (!url.pathname.endsWith(end)) url.pathname = `${url.pathname.replace(/\/$/, '')}${end}`;
  return url.href;
}
