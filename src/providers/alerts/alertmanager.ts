import { endsAlerts, lineOf, plainTextOf, runbookOf } from '../../api/incident.ts';
import { type AlertReceiver, type Notice, withPathEnd } from './provider.ts';

/** An alert that nothing resolves expires after this time. */
const maximumAgeMs = 24 * 3_600_000;

/**
 * Alertmanager's own API. One alert per Canary or Source and severity, so that the next incident replaces it; a release that succeeds resolves both.
 * Other incidents of severity info are not sent.
 */
export const alertmanager: AlertReceiver = {
  type: 'alertmanager',
  endsAlerts: true,
  build(notice, { address, token }) {
    const { severity, time } = notice.incident;
    const { later = [] } = notice;
    if (severity === 'info' && !endsAlerts(notice.incident)) return undefined;
    // It comes late, and what resolves it may have been sent.
    if (severity !== 'info' && later.some(endsAlerts)) return undefined;
    // What was reported since is about the state that is now.
    const severities = (severity === 'info' ? ['error', 'warn'] : [severity]).filter(
      (one) => !later.some((newer) => newer.severity === one),
    );
    if (severities.length === 0) return undefined;
    const endsAt = severity === 'info' ? time : new Date(Date.parse(time) + maximumAgeMs).toISOString();
    const json = severities.map((one) => ({
      labels: labelsOf(notice, one),
      annotations: annotationsOf(notice),
      startsAt: time,
      endsAt,
    }));
    // The address may be Alertmanager's root or the endpoint itself.
    return { url: withPathEnd(address, '/api/v2/alerts'), json, bearer: token };
  },
};

function labelsOf({ kind, name, namespace, cluster }: Notice, severity: string): Record<string, string> {
  const about =
    kind === 'Source'
      ? { alertname: 'HoldfastSource', namespace, source: name }
      : { alertname: 'HoldfastRelease', namespace, canary: name };
  const labels = { ...about, severity };
  return cluster ? { ...labels, cluster } : labels;
}

function annotationsOf({ incident, documentation }: Notice): Record<string, string> {
  const page = runbookOf(incident.reason, documentation);
  const annotations = {
    summary: lineOf(incident),
    description: plainTextOf(incident),
    reason: incident.reason,
  };
  if (!page) return annotations;
  // runbook_url is made a link everywhere.
  return documentation ? { ...annotations, runbook_url: page } : { ...annotations, runbook: page };
}
