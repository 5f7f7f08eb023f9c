import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../api/clock.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { localError } from '../../cluster/errors.ts';
import { createVirtualClock } from '../../engine/virtual-clock.test-support.ts';
import { recordAnnotations, recordLabels, recordName } from '../../release/record.ts';
import type { Connection } from '../../server/connection.ts';
import { forTargets, type ObjectFlags, type RequestClient } from './request.ts';
import { abort, approve, ignoreWindow, promote, retry, rollback, skipStep } from './verb-table.ts';
import { begin, request, type VerbCommand } from './verbs.ts';
import { waitFor } from './wait.ts';

const [mine, next] = ['a'.repeat(40), 'b'.repeat(40)];

function canaryNamed(name: string, status: object): KubernetesObject {
  const metadata = { name, namespace: 'shop', labels: { tier: 'web' } };
  return { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, spec: {}, status };
}

/** An API server with these Canaries, and a Holdfast that answers each request with Done. */
function clusterOf(...canaries: KubernetesObject[]) {
  const asked: string[] = [];
  const client = {
    get: async ({ name }: { name: string }) => canaries.find(({ metadata }) => metadata.name === name),
    list: async (_version: string, kind: string) => ({ items: kind === 'Canary' ? canaries : [] }),
    async patch({ name }: { name: string }, body: { metadata: { annotations: Record<string, string> } }) {
      const [[annotation = '', value = ''] = []] = Object.entries(body.metadata.annotations);
      const verb = annotation.replace(/^.*\//, '');
      const found = canaries.find(({ metadata }) => metadata.name === name);
      if (!found) return;
      asked.push(name);
      const answers = { [verb]: { result: 'Done', message: 'done' } };
      found.status = { ...(found.status as object), handled: { [verb]: value }, answers };
    },
  } as unknown as RequestClient;
  return { client, asked };
}

const lastKnownGood = { digest: 'v1:1', commit: 'a'.repeat(40) };

const underWay = (name: string) =>
  canaryNamed(name, {
    ...{ phase: 'Progressing', lastKnownGood },
    run: { digest: 'v1:2', commit: 'b'.repeat(40) },
  });

const noRelease = { phase: 'Succeeded' };
const options = { namespace: 'shop', revision: undefined, wait: false, timeoutMs: 120_000 } as const;

it.each<[VerbCommand, string]>([
  [promote, 'NotApplicable'],
  [approve, 'NotApplicable'],
  [skipStep, 'NotApplicable'],
  [ignoreWindow, 'NotApplicable'],
  [abort, 'NotApplicable'],
  [retry, 'NotApplicable'],
  [rollback, 'NotKept'],
])(
  '$name that does not fit the state is refused: exit code 1, as when the controller refuses it',
  async (spec, reason) => {
    const { client, asked } = clusterOf(canaryNamed('web', noRelease));

    const text = await request(client, systemClock, spec, { ...options, name: 'web', format: 'text' });
    const json = await request(client, systemClock, spec, { ...options, name: 'web', format: 'json' });

    expect(text).toMatchObject({ exitCode: 1, stdout: '' });
    expect(text.stderr).toContain(`Canary shop/web: refused (${reason}): `);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'Error', exitCode: 1, reason });
    expect(asked).toEqual([]);
  },
);

it('retry is about what was rejected at head, also while the revert of the release before it does not come to its end', async () => {
  const digest = 'v1:head';
  const status = {
    ...{ phase: 'Failed', postPromotion: { state: 'Held' }, run: { digest: 'v1:before' } },
    ...{ lastAppliedSpec: digest, rejected: [{ digest, commit: '', reason: 'AnalysisFailed', time: '' }] },
  };
  expect(await retry.revision?.(clusterOf().client, canaryNamed('web', status) as never)).toBe(digest);
});

it('a retry of a release that is held says what comes first', async () => {
  const held = { postPromotion: { state: 'Held' }, run: { digest: 'v1:2', commit: 'b'.repeat(40) } };
  const { client } = clusterOf();
  await expect(async () => retry.revision?.(client, canaryNamed('web', held) as never)).rejects.toThrow(
    'the release is held and was not rejected: abort it first, then retry',
  );
});

it.each([
  ['ends', { run: { digest: 'v1:2', ending: { phase: 'Failed', reason: 'Rejected', message: '' } } }],
  ['is reverted', { run: { digest: 'v1:2' }, postPromotion: { state: 'Reverting' } }],
])(
  'a retry without a revision while a release %s does not tell of the one at head, which may be rejected',
  async (_, ends) => {
    const rejected = [{ digest: 'v1:head', commit: 'c'.repeat(40), reason: 'AnalysisFailed', time: '' }];
    const canary = canaryNamed('web', { lastAppliedSpec: 'v1:2', rejected, ...ends });
    const { client, asked } = clusterOf(canary);
    const place = { ...options, name: 'web', format: 'text' } as const;

    const refused = await request(client, systemClock, retry, place);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain('a release is ending');
    expect(refused.stderr).toContain('--revision COMMIT');
    expect(refused.stderr).not.toContain('at head was not rejected');
    expect(asked).toEqual([]);

    const named = await request(client, systemClock, retry, { ...place, revision: 'c'.repeat(40) });
    expect(named.exitCode).toBe(0);
  },
);

it('ignore-window asks for the commit where the release under way has left the windows behind', async () => {
  const held = {
    ...{ phase: 'Failed', postPromotion: { state: 'Held' } },
    run: { digest: 'v1:2', commit: 'b'.repeat(40) },
  };
  const { client, asked } = clusterOf(canaryNamed('web', held));
  const place = { ...options, name: 'web', format: 'text' } as const;

  const refused = await request(client, systemClock, ignoreWindow, place);
  const named = await request(client, systemClock, ignoreWindow, { ...place, revision: 'c'.repeat(40) });

  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--revision COMMIT') });
  expect(named.exitCode).toBe(0);
  expect(asked).toEqual(['web']);
});

it.each([promote, approve, skipStep, ignoreWindow, abort, retry, rollback])(
  '$name of a suspended Canary is refused at once, and not done when it goes on one day',
  async (spec) => {
    const { client, asked } = clusterOf({ ...underWay('web'), spec: { suspend: true } });
    const named = { ...options, name: 'web', revision: 'v1:2' };

    const { exitCode, stderr } = await request(client, systemClock, spec, { ...named, format: 'text' });

    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      'Canary shop/web: refused (Suspended): spec.suspend is true, so Holdfast does nothing for it; set it to false where the manifest of the Canary is, then try again\n',
    );
    expect(asked).toEqual([]);
  },
);

it('a request of a Canary that is being deleted is refused at once: nobody would answer it', async () => {
  const canary = underWay('web');
  const metadata = { ...canary.metadata, deletionTimestamp: '2026-11-27T08:00:00Z' };
  const { client, asked } = clusterOf({ ...canary, metadata });
  const named = { ...options, name: 'web', format: 'text' } as const;

  expect(await request(client, systemClock, promote, named)).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      'Canary shop/web: refused (Terminating): the Canary is being deleted, so no request is carried out any more\n',
  });
  expect(asked).toEqual([]);
});

it.each<[VerbCommand, string, string]>([
  [
    abort,
    'Succeeded',
    'no rollout is in progress; to go back to an earlier release: holdfast rollback -n shop canary/web',
  ],
  [
    promote,
    'Failed',
    'no rollout is in progress; to try the rejected release again: holdfast retry -n shop canary/web',
  ],
  [approve, 'Succeeded', 'no rollout is in progress'],
])('$name without a release under way names the command that fits', async (spec, phase, message) => {
  const { client } = clusterOf(canaryNamed('web', { phase }));

  const { stderr } = await request(client, systemClock, spec, { ...options, name: 'web', format: 'text' });

  expect(stderr).toBe(`Canary shop/web: refused (NotApplicable): ${message}\n`);
});

it('an abort of the first release goes back to nothing, and says so in place of a release that does not exist', async () => {
  const first = { phase: 'Initializing', run: { digest: 'v1:2', commit: 'b'.repeat(40) } };
  const { client, asked } = clusterOf(canaryNamed('web', first));

  const { stderr } = await request(client, systemClock, abort, { ...options, name: 'web', format: 'text' });

  expect(stderr).toBe(
    'Canary shop/web: refused (NotApplicable): no release has been proven good yet, so there is none to go back to; commit a fix, which takes the place of this one\n',
  );
  expect(asked).toEqual([]);
});

it('a Canary that a request does not fit keeps none of the others with the labels from it', async () => {
  const run = { digest: 'v1:2', commit: 'b'.repeat(40) };
  const { client, asked } = clusterOf(
    canaryNamed('api', { phase: 'Progressing', run, lastKnownGood }),
    canaryNamed('idle', noRelease),
    canaryNamed('web', { phase: 'Progressing', run: { ...run }, lastKnownGood }),
  );
  const connection = { access: { namespace: 'shop' }, client } as unknown as Connection;
  const flags = { selector: 'tier=web', output: 'json' } as ObjectFlags;

  const result = await forTargets(connection, 'Canary', { subject: undefined, flags }, (target) =>
    request(client, systemClock, abort, { ...options, ...target, format: 'json' }),
  );

  expect(asked).toEqual(['api', 'web']);
  expect(result.exitCode).toBe(1);
  const { items } = parse(result.stdout) as { items: Array<{ kind: string }> };
  expect(items.map(({ kind }) => kind)).toEqual(['RequestResult', 'Error', 'RequestResult']);
});

/** Aborts those with the labels, over an API server that answers requests about `broken` with this error. */
async function abortBeside(error: Error, output: ObjectFlags['output'] = 'text') {
  const { client, asked } = clusterOf(underWay('api'), underWay('broken'), underWay('web'));
  const patch: RequestClient['patch'] = async (reference, ...more) => {
    if (reference.name === 'broken') throw error;
    return client.patch(reference, ...more);
  };
  const connection = { access: { namespace: 'shop' }, client } as unknown as Connection;
  const flags = { selector: 'tier=web', output } as ObjectFlags;
  const result = await forTargets(connection, 'Canary', { subject: undefined, flags }, (target) =>
    request({ ...client, patch }, systemClock, abort, { ...options, ...target, format: output }),
  );
  return { ...result, asked };
}

it('a refusal for one of the Canaries with the labels is reported with the answers of the others', async () => {
  const refused = localError('forbidden', 'patch Canary shop/broken: 403 abort is not allowed');

  const { asked, stdout, stderr, exitCode } = await abortBeside(refused);
  const json = await abortBeside(refused, 'json');

  expect(asked).toEqual(['api', 'web']);
  expect(stdout.match(/^Canary shop\/\w+/gm)).toEqual(['Canary shop/api', 'Canary shop/web']);
  expect(stderr).toBe('error: Canary shop/broken: patch Canary shop/broken: 403 abort is not allowed\n');
  expect(exitCode).toBe(2);
  const { items } = parse(json.stdout) as { items: Array<{ kind: string; reason?: string }> };
  expect(items).toMatchObject([
    { kind: 'RequestResult' },
    { reason: 'Forbidden' },
    { kind: 'RequestResult' },
  ]);
});

it('no further Canary is asked while the API server does not answer, and what was done before is reported', async () => {
  const lost = localError('timeout', 'patch Canary shop/broken: no answer');

  const { asked, stdout, stderr, exitCode } = await abortBeside(lost);

  expect(asked).toEqual(['api']);
  expect(stdout).toContain('Canary shop/api');
  expect(stderr).toBe(
    'error: Canary shop/broken: patch Canary shop/broken: no answer\nerror: ended there; nothing was done about 1 more\n',
  );
  expect(exitCode).toBe(2);
});

it('with --wait all Canaries with the labels are asked before the first is waited for, and share the time', async () => {
  const clock = createVirtualClock();
  const { client, asked } = clusterOf(underWay('api'), underWay('web'));
  const connection = { access: { namespace: 'shop' }, client } as unknown as Connection;
  const flags = { selector: 'tier=web', output: 'text' } as ObjectFlags;

  const aborted = forTargets(connection, 'Canary', { subject: undefined, flags }, (target) =>
    begin(client, clock, abort, { ...options, ...target, wait: true, format: 'text' }),
  );
  await clock.advance(0);
  expect(asked).toEqual(['api', 'web']);
  await clock.advance(options.timeoutMs);

  expect(await aborted).toMatchObject({ exitCode: 4 });
});

it('several Canaries share the time that wait has', async () => {
  const clock = createVirtualClock();
  const { client } = clusterOf(underWay('api'), underWay('web'));
  const connection = { access: { namespace: 'shop' }, client } as unknown as Connection;
  const flags = { selector: 'tier=web', output: 'text' } as ObjectFlags;
  const asked = { commit: undefined, timeoutMs: 60_000, startedMs: clock.nowMs(), format: 'text' } as const;

  const waited = forTargets(connection, 'Canary', { subject: undefined, flags }, (target) =>
    waitFor(client, clock, { ...asked, ...target }),
  );
  await clock.advance(asked.timeoutMs);

  const { stderr } = await waited;
  expect(stderr.match(/Canary shop\/\w+: not at its end after 60 s/g)).toHaveLength(2);
});

it.each([
  ['nothing changed', false, '; nothing changed in that time: holdfast check says whether a controller runs'],
  ['it went on', true, ''],
])('where the time of wait is up and %s, it says what to look at', async (_name, goesOn, hint) => {
  const clock = createVirtualClock();
  const canary = underWay('web');
  const { client } = clusterOf(canary);
  const asked = { namespace: 'shop', name: 'web', commit: undefined, timeoutMs: 60_000 };

  const waited = waitFor(client, clock, { ...asked, format: 'text' });
  await clock.advance(30_000);
  if (goesOn) canary.status = { ...(canary.status as object), message: 'at 50 %' };
  await clock.advance(30_000);

  const now = goesOn ? 'at 50 %' : '';
  expect(await waited).toMatchObject({
    stderr: `Canary shop/web: not at its end after 60 s: Progressing, weight -: ${now}${hint}\n`,
    exitCode: 4,
  });
});

it.each([
  ['Succeeded', 'Succeeded', 0, 'Canary shop/web: Succeeded: promoted\n'],
  ['Failed', 'ChecksFailed', 1, 'Canary shop/web: Failed: promoted\n'],
  ['Superseded', 'Superseded', 1, 'Canary shop/web: Superseded: promoted\n'],
  ['Succeeded', 'RevertedInGit', 1, 'Canary shop/web: Superseded: promoted\n'],
] as const)(
  'a commit whose release ended (%s, %s) before the next one began is not waited for',
  async (result, reason, exitCode, stdout) => {
    const history = [{ digest: 'v1:1', commit: mine, result, reason, message: 'promoted' }];
    expect(await waitedFor(mine, { history })).toEqual({ stdout, stderr: '', exitCode });
  },
);

it('a commit whose place a newer one took before it was promoted is not waited for', async () => {
  const begun = { outcome: 'Started', commit: mine, subject: 'Add gift cards' };

  const result = await waitedFor(mine, { incidents: [begun] });

  expect(result).toEqual({
    stdout:
      'Canary shop/web: Superseded: bbbbbbb took the place of aaaaaaa Add gift cards before that was promoted\n',
    stderr: '',
    exitCode: 1,
  });
});

it('a commit that was seen under way and whose place a newer one took is not waited for, though no report names it', async () => {
  const canary = canaryNamed('web', {
    phase: 'Waiting',
    run: { digest: 'v1:1', commit: mine },
  });
  const { client } = clusterOf(canary);
  const clock = createVirtualClock();
  const waited = waitFor(client, clock, {
    ...{ namespace: 'shop', name: 'web', commit: mine.slice(0, 7), timeoutMs: 60_000, format: 'text' },
  });
  await clock.advance(5_000);
  canary.status = { phase: 'Progressing', lastAppliedCommit: next, run: { digest: 'v1:2', commit: next } };
  await clock.advance(60_000);

  expect(await waited).toEqual({
    stdout: 'Canary shop/web: Superseded: bbbbbbb took the place of aaaaaaa before that was promoted\n',
    stderr: '',
    exitCode: 1,
  });
});

it.each([
  ['a message without a phase', undefined, { message: 'spec: \u001b[2J\nforged' }],
  ['the phase before a commit', mine, { phase: '\u001b[2J\nforged' }],
])('waiting shows %s without what would move the cursor', async (_, commit, status) => {
  const { client } = clusterOf(canaryNamed('web', status));
  const lines: string[] = [];
  const { stderr } = await waitFor(client, systemClock, {
    ...{ namespace: 'shop', name: 'web', commit, timeoutMs: 0, format: 'text' },
    progress: (line) => lines.push(line),
  });
  expect(lines).toEqual([
    expect.stringMatching(/^waiting for Canary shop\/web: [^\p{Cc}]* \[2J forged.*\n$/u),
  ]);
  expect(stderr).toMatch(/^Canary [^\p{Cc}]* \[2J forged[^\p{Cc}]*\n$/u);
});

it('a release that is taken back is waited for to its end, though Git is past its commit', async () => {
  const run = { digest: 'v1:1', commit: mine };
  expect(await waitedFor(mine, { run })).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining('at 10 %'),
  });
});

/** What a minute of waiting for a commit says, while the release of the next one is under way and more is in the status. */
async function waitedFor(commit: string, more: object) {
  const run = { digest: 'v1:2', commit: next };
  const status = { phase: 'Progressing', lastAppliedCommit: next, run, message: 'at 10 %', ...more };
  const { client } = clusterOf(canaryNamed('web', status));
  const clock = createVirtualClock();
  const waited = waitFor(client, clock, {
    ...{ namespace: 'shop', name: 'web', commit: commit.slice(0, 7), timeoutMs: 60_000, format: 'text' },
  });
  await clock.advance(60_000);
  return waited;
}

it('who may not list Secrets rolls back to a release that is named, and is asked to name one', async () => {
  const [v1, v2] = ['a'.repeat(40), 'b'.repeat(40)];
  const status = {
    phase: 'Succeeded',
    lastKnownGood: { digest: 'v1:2', commit: v2 },
    history: [{ digest: 'v1:1', commit: v1, subject: 'the first', result: 'Succeeded' }],
  };
  const { client, asked } = clusterOf(canaryNamed('web', status));
  const list = async () => {
    throw localError('forbidden', 'list secrets in shop: 403 Forbidden');
  };
  const shown: string[] = [];
  const ask = (revision: string | undefined) =>
    request({ ...client, list }, systemClock, rollback, {
      ...{ ...options, name: 'web', revision, format: 'text' },
      confirm: async (lines) => shown.push(...lines) > 0,
    });

  await expect(ask(undefined)).rejects.toThrow(
    'Secrets of namespace shop, where releases are kept, cannot be listed: name one with --to (list secrets in shop: 403 Forbidden)',
  );
  expect(asked).toEqual([]);
  expect(await ask(v1.slice(0, 7))).toMatchObject({ exitCode: 0 });

  expect(asked).toEqual(['web']);
  expect(shown).toContain('  to      aaaaaaa the first');
});

it.each<[string, VerbCommand, object, number, string]>([
  [
    'an abort is done although the next release has begun',
    abort,
    { result: 'Failed', reason: 'Aborted', message: 'v2 was aborted' },
    0,
    'Failed: v2 was aborted',
  ],
  [
    'a promotion is done although the next release has begun',
    promote,
    { result: 'Succeeded', reason: 'Succeeded', message: 'v2 is promoted' },
    0,
    'Succeeded',
  ],
  ['a release that Git left is not promoted', promote, {}, 1, 'Superseded'],
])('with --wait, %s', async (_, spec, end, exitCode, said) => {
  const canary = underWay('web');
  const time = '2026-11-01T10:00:00.000Z';
  const client = {
    get: async () => canary,
    async patch(_reference: unknown, body: { metadata: { annotations: Record<string, string> } }) {
      const value = body.metadata.annotations[`holdfast.dev/${spec.verb}`];
      const answers = { [spec.verb]: { result: 'Done', reason: 'Requested', message: 'done', time } };
      const entry = { digest: 'v1:2', commit: next, endTime: '2026-11-01T10:00:05.000Z', ...end };
      const history = 'result' in end ? [entry] : [];
      const run = { digest: 'v1:3', commit: 'c'.repeat(40) };
      const lastTransitionTime = '2026-11-01T10:00:06.000Z';
      const handled = { [spec.verb]: value };
      canary.status = { phase: 'Progressing', run, history, handled, answers, lastTransitionTime };
    },
  } as unknown as RequestClient;
  const clock = createVirtualClock();

  const asked = request(client, clock, spec, { ...options, name: 'web', wait: true, format: 'text' });
  await clock.advance(options.timeoutMs);

  expect(await asked).toMatchObject({
    exitCode,
    stdout: `Canary shop/web: done\nCanary shop/web: ${said}\n`,
  });
});

it.each([
  [
    'the time is up',
    { message: 'paused at 20 %', canaryWeight: 20 },
    4,
    'TimedOut: Progressing, weight 20: paused at 20 %',
  ],
  ['it is held', { message: 'a probe fails', postPromotion: { state: 'Held' } }, 3, 'Held: a probe fails'],
])('with --wait, when %s it says why', async (_, end, exitCode, said) => {
  const canary = underWay('web');
  const client = {
    get: async () => canary,
    async patch(_reference: unknown, body: { metadata: { annotations: Record<string, string> } }) {
      const answer = {
        result: 'Done',
        reason: 'Requested',
        message: 'done',
        time: '2026-11-01T10:00:00.000Z',
      };
      const handled = { promote: body.metadata.annotations['holdfast.dev/promote'] };
      canary.status = {
        phase: 'Progressing',
        run: { digest: 'v1:2' },
        handled,
        answers: { promote: answer },
        ...end,
      };
    },
  } as unknown as RequestClient;
  const clock = createVirtualClock();

  const asked = request(client, clock, promote, { ...options, name: 'web', wait: true, format: 'text' });
  await clock.advance(options.timeoutMs);

  const { stdout, exitCode: code } = await asked;
  expect(code).toBe(exitCode);
  expect(stdout).toContain(`Canary shop/web: ${said}`);
});

/** What is asked for with this `--to`, where these releases without a commit are kept, the newest first. */
async function rolledBackTo(revision: string | undefined, digests: readonly string[], more: object = {}) {
  const one = { namespace: 'shop', name: 'web' };
  const canary = canaryNamed('web', {
    phase: 'Succeeded',
    lastKnownGood: { digest: digests[0], commit: '' },
    ...more,
  });
  const records = digests.map((digest, index) => ({
    metadata: {
      ...{ name: recordName(one, digest), namespace: 'shop', labels: recordLabels('web') },
      annotations: {
        [recordAnnotations.digest]: digest,
        [recordAnnotations.parts]: '1',
        [recordAnnotations.promotedTime]: '2026-11-01T10:00:00.000Z',
        [recordAnnotations.sequence]: String(digests.length - index),
      },
    },
  }));
  let value = '';
  const client = {
    get: async () => canary,
    list: async () => ({ items: records }),
    async patch(_reference: unknown, body: { metadata: { annotations: Record<string, string> } }) {
      value = body.metadata.annotations['holdfast.dev/rollback-to'] ?? '';
      const answers = { 'rollback-to': { result: 'Done', message: 'done' } };
      canary.status = { ...(canary.status as object), handled: { 'rollback-to': value }, answers };
    },
  } as unknown as RequestClient;
  await request(client, systemClock, rollback, { ...options, name: 'web', revision, format: 'text' });
  return value.split('@')[0];
}

it('a digest is asked for in full, of which people know what history prints', async () => {
  const [good, old] = [`v1:${'a'.repeat(64)}`, `v1:${'b'.repeat(64)}`];
  expect(await rolledBackTo(old.slice(0, 15), [good, old])).toBe(old);
  expect(await rolledBackTo(old, [good, old, `${old}+${'c'.repeat(16)}`])).toBe(old);
  await expect(rolledBackTo('v1:bbbbbbb', [old, `${old}+${'c'.repeat(16)}`])).rejects.toThrow(
    'v1:bbbbbbb is the beginning of several digests; holdfast history -n shop canary/web -o json prints them whole',
  );
});

it('what a container writes before it ends moves no cursor in the answer to a request or a wait', async () => {
  const hostile = 'exit code 1. \u001b[1A\u001b[2KSucceeded';
  const failed = { phase: 'Failed', message: hostile, lastAppliedCommit: mine };
  const history = [{ digest: 'v1:2', commit: mine, result: 'Failed', message: hostile }];
  const api = underWay('api');
  const { client } = clusterOf(canaryNamed('web', { ...failed, history }), api);
  const patch = async () => {
    const answers = { abort: { result: 'Done', reason: 'Requested', message: hostile, time: '' } };
    api.status = { ...(api.status as object), handled: { abort: 'v1:2@now' }, answers };
    return api;
  };
  const place = { namespace: 'shop', format: 'text' } as const;

  const waited = { ...place, name: 'web', commit: undefined, timeoutMs: 1_000 };
  const outputs = [
    await waitFor(client, systemClock, waited),
    await request({ ...client, patch }, systemClock, abort, { ...options, ...place, name: 'api' }),
  ];

  for (const { stdout } of outputs) {
    expect(stdout).toContain('[2KSucceeded');
    expect(stdout).not.toContain('\u001b');
  }
});

it('a rollback passes over releases that only config outside Git tells from the one that serves', async () => {
  const [good, old] = [`v1:${'a'.repeat(64)}`, `v1:${'b'.repeat(64)}`];
  const [now, before] = [`${good}+${'2'.repeat(16)}`, `${good}+${'1'.repeat(16)}`];
  expect(await rolledBackTo(undefined, [now, before, old])).toBe(old);
  expect(await rolledBackTo(undefined, [now, before])).toBe('');
});

it('where the last known good release does not come up, a rollback to it is not asked for: an older one has to be named', async () => {
  const [good, old] = [`v1:${'a'.repeat(64)}`, `v1:${'b'.repeat(64)}`];
  const notReady = {
    ...{ phase: 'Failed', postPromotion: { state: 'Held' } },
    run: { digest: `v1:${'c'.repeat(64)}`, commit: '' },
  };
  expect(await rolledBackTo(undefined, [good, old], notReady)).toBe('');
  expect(await rolledBackTo(old, [good, old], notReady)).toBe(old);
});

it('a request without an answer stays, which is said with what withdraws it', async () => {
  const clock = createVirtualClock();
  const client = { get: async () => underWay('web'), patch: async () => undefined };

  const answer = request(client as unknown as RequestClient, clock, promote, {
    ...{ ...options, name: 'web', format: 'text' },
  });
  await clock.advance(60_000);

  expect(await answer).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining(
      'to withdraw it, run: kubectl -n shop annotate canary/web holdfast.dev/promote-\n',
    ),
  });
});

it('gives the answer to somebody who asked for the same a moment later, and waits for none of its own', async () => {
  const clock = createVirtualClock();
  const other = 'v1:2@later';
  const canary: KubernetesObject = underWay('web');
  const client = {
    get: async () => canary,
    async patch() {
      canary.metadata.annotations = { 'holdfast.dev/abort': other };
      const answers = { abort: { result: 'Done', reason: 'Requested', message: 'aborted', time: '' } };
      canary.status = { ...(canary.status as object), handled: { abort: other }, answers };
    },
  } as unknown as RequestClient;

  const answer = request(client, clock, abort, { ...options, name: 'web', format: 'text' });
  await clock.advance(60_000);

  expect(await answer).toMatchObject({ exitCode: 0, stdout: 'Canary shop/web: aborted\n' });
});
