import type { Incident } from '../../api/incident.ts';
import type { Notice } from './provider.ts';

/** A release that was reverted, with text in it that tries to be markup, a link and a mention. */
export const reverted: Incident = {
  key: 'v1:bad/2026-03-01T08:00:00.000Z/Reverted/ChecksFailed',
  time: '2026-03-01T08:05:00.000Z',
  outcome: 'Reverted',
  severity: 'error',
  reason: 'ChecksFailed',
  message:
    '2222222 "<!channel> *buy* @all & [go](http://x)" was reverted to 1111111 "good": error-rate 7.5 > 1',
  commit: '2222222222222222222222222222222222222222',
  author: 'Ada Lovelace',
  subject: '<!channel> *buy* @all & [go](http://x)',
  finding: 'error-rate 7.5 > 1',
  onCanary: 'the same release passed its analysis there',
  stays:
    'everything else in 2222222; only template, ports and config of the workload are those of 1111111 "good"',
  serving: [
    {
      workload: 'web-primary',
      commit: '1111111111111111111111111111111111111111',
      subject: 'good',
      weight: 100,
      ready: 3,
    },
  ],
  command: 'git revert --no-edit 222222222222 && git push',
  alerts: [{ name: 'chat', state: 'waiting' }],
};

/** A release that is good. */
export const succeeded: Incident = {
  key: 'v1:new/2026-03-01T09:00:00.000Z/Succeeded/Succeeded',
  time: '2026-03-01T09:05:00.000Z',
  outcome: 'Succeeded',
  severity: 'info',
  reason: 'Succeeded',
  message: '3333333 "fix" is promoted and verified',
  commit: '3333333333333333333333333333333333333333',
  subject: 'fix',
  serving: [],
};

/** A notice about Canary shop/web. */
export function noticeOf(incident: Incident): Notice {
  const documentation = 'https://docs.example.com/holdfast/';
  return { incident, kind: 'Canary', name: 'web', namespace: 'shop', documentation };
}
