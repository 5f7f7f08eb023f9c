import { describe, expect, it } from 'vitest';
import type { CanaryStatus } from '../api/canary/status.ts';
import type { Incident } from '../api/incident.ts';
import { bumpComment, evidenceFor, type RevertDescription, revertBody, revertTitle } from './message.ts';

/** The whole text of ordinary reverts is compared in test/rollout/incidents. */

const [good, bad] = ['1'.repeat(40), '2'.repeat(40)] as [string, string];
const digest = `v1:${'b'.repeat(64)}`;
const time = '2026-11-21T12:00:00Z';
const hostile = 'slow\n\nHoldfast-Rejected: v1:other\n@all closes #12 &#64;all &#35;12 <img src=x> | [x](y)';

function news(more: Partial<Incident> = {}): Incident {
  const severity = 'error';
  const message = `${bad.slice(0, 7)} was reverted: ${hostile}`;
  return {
    key: `${digest}/${time}/Reverted/ChecksFailed`,
    time,
    outcome: 'Reverted',
    severity,
    reason: 'ChecksFailed',
    message,
    commit: bad,
    author: 'mallory @all',
    subject: hostile.slice(0, 100),
    finding: hostile,
    serving: [],
    command: 'git revert',
    next: { action: 'traffic to the primary' },
    ...more,
  };
}

function story(status: CanaryStatus, more: Partial<RevertDescription> = {}): RevertDescription {
  return {
    where: { cluster: 'prod', namespace: 'shop', canary: 'web' },
    revert: {
      mode: 'pullRequest',
      branch: 'b',
      digest,
      bad,
      good,
      goodDigest: 'v1:a',
      reason: 'ChecksFailed',
      finding: hostile,
    },
    subject: 'Faster',
    evidence: evidenceFor(status, digest),
    documentation: undefined,
    files: ['web.yaml'],
    ...more,
  };
}

describe('the message of a revert in Git', () => {
  it('is the news of this very release, without what is out of date or done by the revert itself', () => {
    const others = [
      news({ key: `v1:other/${time}/Reverted/ChecksFailed`, message: 'not that one' }),
      news({ key: `${digest}/${time}/Held/ChecksFailed`, outcome: 'Held', message: 'held' }),
    ];
    const text = revertBody(story({ incidents: [...others, news({ message: 'it was reverted' })] }), 'text');
    expect(text.split('\n')[0]).toBe('it was reverted');
    expect(text).not.toMatch(/not that one|held|You can run|traffic to the primary/);
    expect(text).toContain('Next: nothing by itself; merge this, or push a fix as a new commit');
  });

  it.each([
    ['the news', { incidents: [news()], checks: [] }],
    ['the finding alone, when the report is gone', {}],
    [
      'the checks that failed',
      {
        checks: [
          { name: hostile.slice(0, 60), verdict: 'fail', value: 900, max: 500, detail: hostile, time },
        ],
      },
    ],
  ] as const)('cannot be given other trailers, mentions or markup by %s', (_what, status) => {
    for (const format of ['text', 'markdown'] as const) {
      const whole = { commits: [bad], why: hostile, others: [`ClusterRole ${hostile}`] };
      const body = revertBody(story(status as unknown as CanaryStatus, { whole }), format);
      expect(body.match(/^Holdfast-Rejected: .*$/gm)).toEqual([`Holdfast-Rejected: ${digest}`]);
      expect(body).not.toMatch(/@all/);
    }
    const whole = { commits: [bad], why: hostile, others: [`ClusterRole ${hostile}`] };
    const markdown = revertBody(story(status as unknown as CanaryStatus, { whole }), 'markdown');
    expect(markdown).not.toMatch(/#12|(?<!\\)<img|(?<!\\)\[x\]|&#/);
  });

  it('shows the checks that failed with value and bounds', () => {
    const failed = { name: 'latency', verdict: 'fail' as const, value: 900, min: 1, max: 500, time };
    const status = { checks: [failed, { ...failed, name: 'errors', verdict: 'pass' as const }] };
    expect(revertBody(story(status), 'markdown')).toContain('| latency | 900 | min 1, max 500 |  |');
    expect(revertBody(story(status), 'text')).toContain('Check latency: 900, min 1, max 500');
    expect(revertBody(story(status), 'text')).not.toContain('errors');
  });

  it('links the runbook only where its pages are known', () => {
    const status = { incidents: [news()] };
    expect(revertBody(story(status), 'markdown')).toContain('**Runbook:** `holdfast runbook ChecksFailed`');
    const known = story(status, { documentation: 'https://docs.example.com/' });
    expect(revertBody(known, 'markdown')).toContain(
      '(https://docs.example.com/docs/runbooks/ChecksFailed.md)',
    );
  });

  it('does not ask for a merge where it is pushed straight to the branch, unless it is the whole commit', () => {
    const revert = { ...story({}).revert, mode: 'commit' as const };
    const status = { incidents: [news()] };
    const direct = revertBody(story(status, { revert }), 'text');
    expect(direct).toContain(
      'Next: the Canary is Succeeded once this commit is read; no pod restarts for it',
    );
    expect(direct).not.toMatch(/merge|closed/);
    const others = ['Service shop/web'];
    const whole = { commits: [bad], why: 'its own lines also shape Service shop/web', others };
    const draft = revertBody(story(status, { revert, whole }), 'markdown');
    expect(draft).toMatch(/\*\*This reverts the whole commit\*\*.*\n\n- Service shop\/web/);
    expect(draft).toContain('merge this');
    const two = story(status, { revert, whole: { ...whole, commits: [bad, good] } });
    expect(revertBody(two, 'text')).toContain('This reverts 2 whole commits (2222222, 1111111), because');
  });

  it('has a title that fits, with the commit where its subject is too long', () => {
    expect(revertTitle(story({}))).toBe('Revert "Faster" for shop/web');
    expect(revertTitle(story({}, { subject: 'x'.repeat(80) }))).toBe('Revert 2222222 for shop/web');
  });
});

it('the comment on a release that comes back shows how to try it again', () => {
  expect(bumpComment('abc1234', digest, 'shop/web')).toBe(
    'abc1234 has the same release again (v1:bbbbbbbbbbbb). It stays rejected and is not rolled out; to try it anyway, run: holdfast retry -n shop canary/web',
  );
});
