import { type Fact, factsOf } from '../api/incident-text.ts';
import type { Notice } from './provider.ts';

/** `name.namespace`, as Flagger signs its alerts; a Source with its kind. */
export function authorOf({ kind, name, namespace }: Notice): string {
  return kind === 'Source' ? `Source ${name}.${namespace}` : `${name}.${namespace}`;
}

/** The facts of the news, and which cluster it is; the runbook as an address where the pages are known. */
export function noticeFacts({ incident, cluster, documentation }: Notice): Fact[] {
  const facts = factsOf(incident).map(({ title, value }) => ({
    title,
    value: title === 'Runbook' && documentation ? `${documentation}${value}` : value,
  }));
  return cluster ? [{ title: 'Cluster', value: cluster }, ...facts] : facts;
}

/** Error and warn are shown in the receiver's colour of alarm. */
export function isAlarm({ incident }: Notice): boolean {
  return incident.severity !== 'info';
}
