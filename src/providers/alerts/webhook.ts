import { lineOf, plainTextOf, runbookOf } from '../../api/incident.ts';
import type { AlertReceiver } from './provider.ts';

/** Any receiver of JSON: the whole incident as one object with a version of its format. */
export const webhook: AlertReceiver = {
  type: 'webhook',
  build(notice, { address, token }) {
    const { incident, kind, name, namespace, cluster, documentation } = notice;
    const { alerts: _, reason, ...rest } = incident;
    const page = runbookOf(reason, documentation);
    const json = {
      version: '1',
      ...(cluster ? { cluster } : {}),
      [kind === 'Source' ? 'source' : 'canary']: { namespace, name },
      line: lineOf(incident),
      text: plainTextOf(incident),
      reason,
      ...rest,
      ...(page ? { runbook: page } : {}),
    };
    return { url: address, json, bearer: token };
  },
};
