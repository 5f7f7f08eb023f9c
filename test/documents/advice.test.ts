import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lineOf } from '../../src/api/incident.ts';
import { rolloutReasons } from '../../src/api/reasons.ts';
import { wholeProgram } from '../../src/cli/commands.ts';
import { exitCodeMeanings } from '../../src/cli/failure.ts';
import { filledIn, pageFor } from '../../src/cli/runbook.ts';
import runbooks from '../../src/cli/runbooks.json' with { type: 'json' };
import { adviceFor } from '../../src/cli/status/detail.ts';
import { applySetId } from '../../src/engine/apply-set.ts';

const root = join(import.meta.dirname, '../..');
const program = await wholeProgram('0.0.0');

/** Words after `holdfast` in prose and in names of objects, which are no commands. */
const others = new Set(['holdfast', 'namespace', 'system', 'source', 'key', 'cli']);

function files(folder: string, endings: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => endings.test(path) && !/test|testing|node_modules/.test(path))
    .map((path) => join(folder, path));
}

/** Command lines in code spans and blocks of Markdown, and in texts of the program. */
function commandLines(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8');
  const quoted = path.endsWith('.md')
    ? [...text.matchAll(/```(?:sh|bash|console)\n([\s\S]*?)```|`([^`\n]+)`/g)].map(
        ([, block, span]) => block ?? span ?? '',
      )
    : [...text.replace(/^\s*(\/\/|\/?\*).*$/gm, '').matchAll(/'([^'\n]*)'|`([^`]*)`|"([^"\n]*)"/g)].map(
        ([, single, template, double]) => single ?? template ?? double ?? '',
      );
  return quoted.flatMap((part) =>
    part
      .replaceAll('\\\n', ' ')
      .split('\n')
      .flatMap((line) =>
        [
          ...line.matchAll(
            /(?<![\w/.:@-]|-n |install )(?:kubectl )?holdfast ([a-z][a-z-]*)((?:(?!holdfast )[^|;&`#>])*)/g,
          ),
        ].map(([all]) => all),
      ),
  );
}

/** What is wrong with a command line; undefined when there is such a command with such flags. */
function wrongWith(line: string): string | undefined {
  const [, name = '', rest = ''] = /holdfast ([a-z][a-z-]*)(.*)/.exec(line) ?? [];
  if (others.has(name)) return undefined;
  const found = program.commands.find((one) => one.name() === name);
  if (!found) return `no command ${name}: ${line}`;
  const part = /^\s+([a-z][a-z-]*)/.exec(rest)?.[1];
  const command = found.commands.find((one) => one.name() === part) ?? found;
  const known = new Set([...command.options.flatMap(({ long, short }) => [long, short]), '--help', '-h']);
  const unknown = [...rest.matchAll(/(?:^|\s)(-[A-Za-z]|--[a-z][a-z-]*)(?=[\s=,.)]|$)/g)]
    .map(([, flag]) => flag)
    .find((flag) => !known.has(flag));
  return unknown ? `holdfast ${name} has no ${unknown}: ${line}` : undefined;
}

test('every command that a text of the program or a page names exists, with its flags', () => {
  const paths = [
    ...files('src', /\.ts$/),
    ...files('docs', /\.md$/),
    'README.md',
    ...files('deploy', /\.(ya?ml|md|json)$/),
  ];
  const lines = paths.flatMap((path) => commandLines(path).map((line) => ({ path, line })));
  expect(lines.length).toBeGreaterThan(100);
  const wrong = lines.flatMap(({ path, line }) => {
    const problem = wrongWith(line);
    return problem ? [`${path}: ${problem}`] : [];
  });
  expect(wrong).toEqual([]);
});

test('the advice for every reason, phase and state is a command that exists, whole', () => {
  const commit = 'b'.repeat(40);
  const states = Object.keys(rolloutReasons).flatMap((reason) =>
    ['Failed', 'Waiting', 'WaitingPromotion', 'Promoting'].flatMap((phase) =>
      [undefined, { state: 'Held', reason }].map((postPromotion) => ({ reason, phase, postPromotion })),
    ),
  );
  const advised = states.flatMap(({ reason, phase, postPromotion }) =>
    adviceFor({
      apiVersion: 'flagger.app/v1beta1',
      kind: 'Canary',
      metadata: { name: 'web', namespace: 'shop', annotations: { 'holdfast.dev/pause': 'true' } },
      status: {
        phase,
        postPromotion,
        lastAppliedCommit: commit,
        run: { awaitsWindow: reason === 'WaitingForWindow' },
        rejected: [{ digest: 'd', commit, reason, time: '' }],
        conditions: [{ type: 'Ready', status: 'False', reason, message: '' }],
      },
    }).flatMap(({ command }) => command ?? []),
  );
  const holdfast = new Set(advised.filter((line) => line.startsWith('holdfast ')));
  expect([...holdfast].map(wrongWith).filter(Boolean)).toEqual([]);
  expect([...holdfast].every((line) => line.endsWith(' -n shop canary/web'))).toBe(true);
  expect([...holdfast].map((line) => line.split(' ')[1]).sort()).toEqual([
    'abort',
    'approve',
    'history',
    'ignore-window',
    'resume',
    'retry',
    'runbook',
  ]);
  expect(new Set(advised.filter((line) => !line.startsWith('holdfast ')))).toEqual(
    new Set([`git revert --no-edit ${'b'.repeat(12)} && git push`]),
  );
});

/** The requests that are advised for a Canary with this reason and phase while a release of this commit is under way. */
function requestsAdvised(reason: string, phase: string, run: object): string[] {
  const metadata = { name: 'web', namespace: 'shop' };
  const conditions = [{ type: 'Ready', status: 'False', reason, message: '' }];
  const status = { phase, conditions, run };
  return adviceFor({ apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status })
    .flatMap(({ command }) => command ?? [])
    .filter((command) => /^holdfast (approve|ignore-window)/.test(command));
}

test('what a release waits for is what is advised: the gate, also while a window of its Source is open, or the window, or the freeze', () => {
  const commit = 'b'.repeat(40);
  const [approve, ignore] = ['approve', 'ignore-window'].map(
    (verb) => `holdfast ${verb} -n shop canary/web --revision bbbbbbb`,
  );
  const atGate = { commit, awaitsWindow: true, awaitsConfirmation: true };
  expect(requestsAdvised('Waiting', 'Waiting', atGate)).toEqual([approve]);
  expect(requestsAdvised('WaitingForWindow', 'Waiting', { commit, awaitsWindow: true })).toEqual([ignore]);
  expect(requestsAdvised('WaitingForWindow', 'Waiting', atGate)).toEqual([ignore, approve]);
  expect(requestsAdvised('Frozen', 'Progressing', { commit })).toEqual([ignore]);
  expect(requestsAdvised('WaitingPromotion', 'WaitingPromotion', { commit })).toEqual([approve]);
});

test('an approval that is advised names the release that was seen; one without a commit is named by nothing', () => {
  expect(requestsAdvised('Waiting', 'Waiting', { commit: '$(reboot)' })).toEqual([
    'holdfast approve -n shop canary/web',
  ]);
});

test('abort is advised for a release that is held, and not for one whose revert does not come to its end: that is refused', () => {
  const abort = (phase: string) => {
    const status = { phase, postPromotion: { state: 'Held' } };
    const metadata = { name: 'web', namespace: 'shop' };
    const advice = adviceFor({ apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status });
    return advice.some(({ command }) => command === 'holdfast abort -n shop canary/web');
  };
  expect([abort('Promoting'), abort('Failed')]).toEqual([true, false]);
});

test('nobody is advised to retry a release that is held: that is refused, and works once it was taken back', () => {
  const texts = (state: string | undefined, reason: string) => {
    const metadata = { name: 'web', namespace: 'shop' };
    const conditions = [{ type: 'Ready', status: 'False', reason, message: '' }];
    const status = { phase: 'Promoting', postPromotion: state && { state }, conditions };
    const advice = adviceFor({ apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status });
    return advice.map(({ text }) => text);
  };
  expect(texts('Held', 'ChecksFailed')[0]).toBe('fix or revert it in Git');
  expect(texts(undefined, 'ChecksFailed')[0]).toBe('fix or revert it in Git, or retry');
  for (const reason of Object.keys(rolloutReasons))
    expect(texts('Held', reason).join()).not.toMatch(/or retry/);
  const incident = {
    key: '',
    time: '',
    severity: 'error',
    reason: 'ChecksFailed',
    message: 'it failed',
    commit: '',
  } as const;
  expect(lineOf({ ...incident, outcome: 'Held' })).toBe('it failed; fix or revert it in Git');
  expect(lineOf({ ...incident, outcome: 'Reverted' })).toBe('it failed; fix or revert it in Git, or retry');
});

test('the program has the runbooks of the documentation, and fills in the names of a Canary', () => {
  const folder = join(root, 'docs/runbooks');
  const pages = Object.fromEntries(
    readdirSync(folder)
      .filter((name) => name !== 'README.md')
      .sort()
      .map((name) => [name.replace(/\.md$/, ''), readFileSync(join(folder, name), 'utf8')]),
  );
  // A line of the file for each of a page, so that two changes of one page merge.
  const lines = Object.fromEntries(Object.entries(pages).map(([reason, page]) => [reason, page.split('\n')]));
  const wanted = `${JSON.stringify(lines, undefined, 2)}\n`;
  if (process.env.UPDATE_DOCS) writeFileSync(join(root, 'src/cli/runbooks.json'), wanted);
  else expect(runbooks).toEqual(lines);

  const place = {
    ...{
      namespace: 'till',
      name: 'web-checkout',
      commit: 'a'.repeat(40),
      source: { namespace: 'git', name: 'tills' },
    },
    ...{ workload: 'daemonset', target: 'web-till', primary: 'web-till-primary', apex: 'web-pay' },
  };
  for (const [reason, page] of Object.entries(pages)) {
    const blocks = [...filledIn(page, place).matchAll(/```sh\n[\s\S]*?```/g)]
      .map(([block]) => block)
      .join('\n');
    expect([
      reason,
      /[/ =]web(?![-\w])|-n shop|source\/shop|web-primary|\bCOMMIT\b/.exec(blocks)?.[0],
    ]).toEqual([reason, undefined]);
  }
});

test('the runbook of a Canary names it, its workloads and its Source', async () => {
  const source = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { namespace: 'git', name: 'tills' },
  };
  const canary = {
    ...{ apiVersion: 'flagger.app/v1beta1', kind: 'Canary' },
    metadata: {
      name: 'pay',
      namespace: 'shop',
      labels: { 'applyset.kubernetes.io/part-of': applySetId(source) },
    },
    spec: { targetRef: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'till' } },
  };
  const shown = async (reason: string) => {
    const conditions = [{ type: 'Ready', status: 'False', reason, message: '' }];
    const client = {
      get: async () => ({ ...canary, status: { conditions } }),
      list: async () => ({ items: [source] }),
    };
    const { text } = await pageFor(client as never, { namespace: 'shop', name: 'pay' });
    return [...text.matchAll(/^(?:kubectl|holdfast) .*$/gm)].map(([line]) => line);
  };

  expect(await shown('PrimaryNotReady')).toContain('kubectl -n shop describe daemonset till-primary');
  expect(await shown('ChecksFailed')).toContain(
    "kubectl -n shop get canary pay -o jsonpath='{.status.incidents[0]}'",
  );
  expect(await shown('SourceNotRead')).toContain('holdfast sync source/tills -n git');
});

test('a Canary that Holdfast has not reconciled has no runbook, and the message says what to run', async () => {
  const canary = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'pay', namespace: 'shop' },
  };
  const client = { get: async () => canary, list: async () => ({ items: [] }) };

  await expect(pageFor(client as never, { namespace: 'shop', name: 'pay' })).rejects.toThrow(
    'Canary shop/pay: not reconciled by Holdfast yet; holdfast check and holdfast events say why',
  );
});

test('a Canary that cannot be acted on is not said to need no action: its condition says what is wrong', async () => {
  const asked = (reason: string, message: string) => {
    const conditions = [{ type: 'Ready', status: 'False', reason, message }];
    const metadata = { name: 'pay', namespace: 'shop' };
    const canary = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status: { conditions } };
    const client = { get: async () => canary, list: async () => ({ items: [] }) };
    return pageFor(client as never, { namespace: 'shop', name: 'pay' });
  };
  await expect(asked('InvalidSpec', 'spec.service.port: must be a whole number')).rejects.toThrow(
    'Canary shop/pay: InvalidSpec: spec.service.port: must be a whole number; there is no runbook for this reason, see docs/guides/troubleshooting.md',
  );
  await expect(asked('Succeeded', '')).rejects.toThrow(
    'Canary shop/pay: its reason Succeeded needs no action',
  );
});

test('the runbook of a Canary is about the release under way, not about one that was rejected before', async () => {
  const [running, rejected] = ['a'.repeat(40), 'b'.repeat(40)];
  const status = (more: object) => ({
    ...{ rejected: [{ digest: 'd', commit: rejected, reason: 'AnalysisFailed', time: '' }], ...more },
    conditions: [{ type: 'Ready', status: 'False', reason: 'PrimaryNotReady', message: '' }],
  });
  const shown = (more: object) => {
    const canary = {
      ...{ apiVersion: 'flagger.app/v1beta1', kind: 'Canary' },
      metadata: { name: 'web', namespace: 'shop' },
      status: status(more),
    };
    return pageFor(
      { get: async () => canary, list: async () => ({ items: [], resourceVersion: '' }) },
      { namespace: 'shop', name: 'web' },
    );
  };
  expect((await shown({ run: { commit: running } })).text).toContain(`git revert --no-edit ${running} `);
  expect((await shown({})).text).toContain(`git revert --no-edit ${rejected} `);
  const incidents = [{ command: `git revert --no-edit -m 1 ${running.slice(0, 12)} && git push` }];
  const { text } = await shown({ run: { commit: running }, incidents });
  expect(text).toContain(`git revert --no-edit -m 1 ${running} `);
});

test('a Canary that is Ready and cannot be rolled back is not said to need no action', async () => {
  const conditions = [
    { type: 'Ready', status: 'True', reason: 'Succeeded', message: '' },
    { type: 'RollbackReady', status: 'False', reason: 'DrillFailed', message: 'PodSecurity refuses it' },
    { type: 'Drifted', status: 'True', reason: 'ForeignChange', message: 'kubectl changed it' },
    { type: 'WrittenToGit', status: 'True', reason: 'WrittenToGit', message: '' },
  ];
  const metadata = { name: 'web', namespace: 'shop' };
  const canary = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status: { conditions } };
  const client = { get: async () => canary, list: async () => ({ items: [], resourceVersion: '' }) };

  expect(await pageFor(client, metadata)).toMatchObject({ reason: 'DrillFailed', canary: 'shop/web' });
  expect(adviceFor(canary)).toEqual([
    {
      text: 'RollbackReady is False (DrillFailed): fix what the message names, then run holdfast drill',
      command: 'holdfast runbook DrillFailed',
    },
    {
      text: 'Drifted is True (ForeignChange): stop the other writer',
      command: 'holdfast runbook ForeignChange',
    },
  ]);
});

test('the runbook of a release that waits approves that release and no newer one', async () => {
  const commit = 'a'.repeat(40);
  const shown = async (reason: string, run: object) => {
    const conditions = [{ type: 'Ready', status: 'False', reason, message: '' }];
    const metadata = { name: 'web', namespace: 'shop' };
    const canary = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'Canary',
      metadata,
      status: { conditions, run },
    };
    const client = { get: async () => canary, list: async () => ({ items: [], resourceVersion: '' }) };
    return (await pageFor(client, metadata)).text;
  };
  for (const [reason, verb] of [
    ['Waiting', 'approve'],
    ['WaitingPromotion', 'approve'],
    ['WaitingForWindow', 'ignore-window'],
  ] as const) {
    const command = `\nholdfast ${verb} canary/web -n shop`;
    expect(await shown(reason, { commit })).toContain(`${command} --revision ${commit}\n`);
    expect(await shown(reason, { commit: '' })).toContain(`${command}\n`);
  }
});

test('the page of the commands has the table of exit codes', () => {
  const text = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
  for (const [code, meaning] of exitCodeMeanings) expect(text).toContain(`| ${code} | ${meaning} |`);
});
