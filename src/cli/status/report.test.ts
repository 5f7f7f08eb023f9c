import { describe, expect, it } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { KubernetesObject, ObjectReference } from '../../api/kubernetes.ts';
import { ApiError } from '../../cluster/errors.ts';
import { formatAge, formatSpan, screenOf } from '../../terminal/output.ts';
import { parseObjectArgument } from '../flags.ts';
import { type StatusOptions, type StatusReader, status } from './report.ts';

const nowMs = Date.parse('2026-03-01T03:00:00Z');
const good = 'a'.repeat(40);
const bad = 'b'.repeat(40);
const options: StatusOptions = {
  namespace: 'shop',
  format: 'table',
  screen: { columns: 80, colour: false },
  nowMs,
};

function canary(name: string, status: CanaryStatus | undefined, annotations = {}): KubernetesObject {
  const object = canaryDocument({}) as unknown as KubernetesObject;
  const metadata = { name, namespace: 'shop', annotations, managedFields: [{ manager: 'x' }] };
  return { ...object, metadata, ...(status ? { status } : {}) };
}

const calm = canary('calm', {
  phase: 'Succeeded',
  canaryWeight: 0,
  lastAppliedCommit: good,
  serving: [
    {
      workload: 'calm-primary',
      digest: 'v1:1',
      commit: good,
      subject: 'Add the search box',
      weight: 100,
      ready: 3,
    },
  ],
  conditions: [{ type: 'Ready', status: 'True', reason: 'Succeeded', message: 'all is well' }],
  message: 'all is well',
});

const held = canary('held', {
  phase: 'Promoting',
  canaryWeight: 100,
  postPromotion: { state: 'Held', reason: 'PrimaryNotReady' },
  lastAppliedCommit: bad,
  lastPromotedCommit: good,
  lastKnownGood: {
    commit: good,
    digest: 'v1:1',
    promotedTime: '2026-02-27T23:00:00Z',
    record: 'holdfast-held-1',
  },
  serving: [
    {
      workload: 'held',
      digest: 'v1:2',
      commit: bad,
      subject: 'Make the cart faster with a subject that is long',
      weight: 100,
      ready: 2,
    },
  ],
  checks: [
    { name: 'request-success-rate', value: 99.87654, min: 99, verdict: 'pass', time: '2026-03-01T02:59:30Z' },
    { name: 'latency', value: 612, max: 500, verdict: 'fail', time: '2026-03-01T02:59:30Z' },
  ],
  history: [
    {
      digest: 'v1:1',
      commit: good,
      subject: 'Add the search box',
      result: 'Succeeded',
      endTime: '2026-02-27T23:00:00Z',
    },
  ],
  rejected: [{ digest: 'v1:2', commit: bad, reason: 'CheckFailed', time: '2026-03-01T02:00:00Z' }],
  next: { action: 'revert to the last known good', time: '2026-03-01T03:08:00Z' },
  conditions: [
    {
      type: 'Ready',
      status: 'False',
      reason: 'PrimaryNotReady',
      message: 'the primary does not become ready; the canary serves everybody',
    },
  ],
  message: 'the primary does not become ready; the canary serves everybody; look at the pods of held-primary',
});

const source: KubernetesObject = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'Source',
  metadata: { name: 'shop', namespace: 'shop' },
  spec: { url: 'https://git.example.com/shop.git', ref: { branch: 'main' } },
  status: {
    head: { commit: bad, subject: 'Make the cart faster', author: 'Ada' },
    appliedCommit: bad,
    counts: { canaries: 2, objects: 9 },
    conditions: [{ type: 'Ready', status: 'False', reason: 'CanaryRejected', message: 'a Canary is held' }],
  },
};

function reader(...objects: KubernetesObject[]): StatusReader {
  const same = (a: { kind: string }, b: { kind: string }) => a.kind === b.kind;
  return {
    get: async (reference: ObjectReference) =>
      objects.find((object) => same(object, reference) && object.metadata.name === reference.name),
    list: async (_, kind) => ({
      items: objects.filter((object) => object.kind === kind),
      resourceVersion: '1',
    }),
  };
}

async function lines(more: Partial<StatusOptions> = {}, objects = [calm, held, source]): Promise<string[]> {
  return (await status(reader(...objects), { ...options, ...more })).stdout.split('\n');
}

describe('status', () => {
  it('puts what needs a person on top, with what goes on and what comes next, on 80 columns', async () => {
    const shown = await lines();
    expect(shown).toEqual([
      'CANARY  PHASE             WEIGHT  SERVING               HEAD     REASON',
      'held    Promoting (Held)  100     Make the cart faste…  bbbbbbb  PrimaryNotReady',
      '  the primary does not become ready; the canary serves everybody; look at the',
      '  pods of held-primary',
      '  Next: revert to the last known good in 8m',
      'calm    Succeeded         0       Add the search box    aaaaaaa  Succeeded',
      '',
      'SOURCE  READY  REASON          CANARIES  APPLIED  HEAD',
      'shop    False  CanaryRejected  2         bbbbbbb  Make the cart faster',
      '  a Canary is held',
      '',
    ]);
    expect(Math.max(...shown.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('shows shares of pods where no router divides the traffic', async () => {
    const inPlace = canary('worker', {
      phase: 'Progressing',
      canaryWeight: 40,
      provider: 'native',
      lastAppliedCommit: bad,
      serving: [
        { workload: 'worker', digest: 'v1:1', commit: good, weight: 60, ready: 3 },
        { workload: 'worker', digest: 'v1:2', commit: bad, weight: 40, ready: 2 },
      ],
    });
    expect(await lines({}, [inPlace])).toContainEqual(expect.stringContaining('40 % of pods'));
    const detail = await lines({ kind: 'Canary', name: 'worker' }, [inPlace]);
    expect(detail.filter((line) => line.includes('% of pods'))).toHaveLength(2);
  });

  it('cuts nothing when asked for the wide form', async () => {
    const [, first] = await lines({ format: 'wide', namespace: undefined });
    expect(first).toMatch(
      /^shop +held .*with a subject that is long .*in 8m +the primary does not .*held-primary$/,
    );
  });

  it('uses colours on a terminal only', async () => {
    const coloured = await lines({ screen: { columns: 80, colour: true } });
    expect(coloured.join('\n')).toContain('\u001b[31mPromoting (Held)\u001b[0m');
    expect((await lines()).join('\n')).not.toContain('\u001b');
  });

  it('draws shares with signs of ASCII where the locale has no others', async () => {
    const { isAscii } = screenOf({}, { LC_ALL: 'C', LANG: 'en_US.UTF-8' });
    const screen = { columns: 80, colour: false, isAscii } as const;
    const text = (await lines({ kind: 'Canary', name: 'held', screen })).join('\n');
    expect(text).toMatch(/held +#{20} +100 % /);
  });

  it('shows one Canary with shares as bars, checks with bounds and what to do', async () => {
    const text = (await lines({ kind: 'Canary', name: 'held' })).join('\n');
    expect(text).toMatch(/^Canary shop\/held +Promoting \(Held\)$/m);
    expect(text).toMatch(/held +████████████████████ +100 % +2 ready +bbbbbbb Make the cart/);
    expect(text).toMatch(/pass +request-success-rate +99\.877 \(min 99\) +30s ago/);
    expect(text).toMatch(/fail +latency +612 \(max 500\)/);
    expect(text).toMatch(/aaaaaaa Add the search box {2}1d4h ago/);
    expect(text).toContain('git revert --no-edit bbbbbbbbbbbb && git push');
    expect(text).toContain('holdfast retry -n shop canary/held');
    const wide = text.split('\n').filter((line) => line.length > 80);
    expect(wide).toEqual([]);
  });

  it('does not advise to abort what is held where the last known good release is lost', async () => {
    const abort = 'holdfast abort -n shop canary/held';
    const conditions = [{ type: 'RollbackReady', status: 'False', reason: 'RecordDamaged', message: 'gone' }];
    const lost = { ...held, status: { ...(held.status as object), conditions } };

    expect((await lines({ kind: 'Canary', name: 'held' })).join('\n')).toContain(abort);
    const text = (await lines({ kind: 'Canary', name: 'held' }, [lost])).join('\n');
    expect(text).not.toContain(abort);
    expect(text).toContain('holdfast runbook RecordDamaged');
  });

  it('advises older releases, and no git revert, where the last known good release itself does not come up', async () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'LKGNotReady', message: 'no image' }];
    const postPromotion = { state: 'Held', reason: 'LKGNotReady' };
    const stuck = {
      ...held,
      status: { ...(held.status as object), phase: 'Failed', postPromotion, conditions },
    };
    const text = (await lines({ kind: 'Canary', name: 'held' }, [stuck])).join('\n');
    expect(text).not.toContain('git revert');
    expect(text).toContain('holdfast history -n shop canary/held');
  });

  it('reverts a merge as Git asks for it', async () => {
    const command = `git revert --no-edit -m 1 ${bad.slice(0, 12)} && git push`;
    const merged = { ...held, status: { ...(held.status as object), incidents: [{ command }] } };
    const text = (await lines({ kind: 'Canary', name: 'held' }, [merged])).join('\n');
    expect(text).toContain(command);
  });

  it('shows the newest rejections first; the status has them last', async () => {
    const rejected = Array.from({ length: 12 }, (_, index) => ({
      digest: `v1:${index}`,
      commit: `${'abcdef012345'[index]}`.repeat(40),
      reason: 'AnalysisFailed',
      time: `2026-02-${20 - index}T00:00:00Z`,
    })).reverse();
    const text = (await lines({ name: 'web' }, [canary('web', { phase: 'Failed', rejected })])).join('\n');
    expect(text).toMatch(/Rejected\n {2}aaaaaaa .*\n {2}bbbbbbb /);
    expect(text).not.toContain('5555555');
  });

  it('says what must be mended where a release does not go on, and where none was looked at', async () => {
    const stalls = { status: 'True' as const, reason: 'TargetInvalid', message: 'spec.x: must be y' };
    const waiting = { phase: 'Initializing' as const, message: 'waiting for the primary' };
    const stuck = canary('stuck', { ...waiting, conditions: [{ type: 'Stalled', ...stalls }] });
    const unwatched = canary('unwatched', {
      conditions: [{ ...stalls, type: 'Ready', status: 'False', message: 'is its CRD installed?' }],
    });
    const refused = {
      ...stalls,
      type: 'Ready',
      status: 'False' as const,
      message: `SetTraffic: ${'no '.repeat(60)}`,
    };
    const cut = canary('cut', { ...waiting, message: `${'no '.repeat(50)}…`, conditions: [refused] });
    const beside = canary('beside', { ...waiting, conditions: [{ ...refused, message: 'MarkProven: no' }] });
    const world = [stuck, unwatched, cut, beside];

    const list = (await lines({}, world)).join('\n');
    const one = (await lines({ name: 'stuck' }, world)).join('\n');
    const other = await lines({ name: 'unwatched' }, world);

    expect(list).toContain('Why: spec.x: must be y');
    expect(list).toContain('Why: MarkProven: no');
    expect((await lines({ name: 'cut' }, world)).join(' ')).toContain(refused.message.trim());
    expect(one).toContain('What stops it\n  spec.x: must be y');
    expect(other[1]).toBe('is its CRD installed?');
  });

  it('says below the line of a Canary whose newest release serves what else asks for a person', async () => {
    const { conditions = [], ...status } = calm.status as CanaryStatus;
    const told = { type: 'Drifted', reason: 'ForeignChange', message: 'kubectl-edit changed the image' };
    const of = async (is: 'True' | 'False') => {
      const drifted = { ...status, conditions: [...conditions, { ...told, status: is }] };
      return (await lines({ kind: 'Canary' }, [{ ...calm, status: drifted }])).join('\n');
    };

    expect(await of('True')).toContain('Succeeded\n  Drifted is True: kubectl-edit changed the image');
    expect(await of('False')).not.toContain('Drifted');
  });

  it('says how to go on after a pause', async () => {
    const paused = canary('web', calm.status as CanaryStatus, { 'holdfast.dev/pause': 'true' });
    const text = (await lines({ name: 'web' }, [paused])).join('\n');
    expect(text).toContain('holdfast resume -n shop canary/web');
  });

  it('puts nothing from a status into a command but a commit id', async () => {
    const forged = canary('web', {
      phase: 'Failed',
      lastAppliedCommit: '$(reboot)',
      rejected: [{ digest: 'd', commit: '$(reboot)', reason: 'X', time: '2026-03-01T02:00:00Z' }],
    });
    const text = (await lines({ name: 'web' }, [forged])).join('\n');
    expect(text).not.toMatch(/(git revert|annotate).*reboot/);
  });

  it('shows control characters of a commit message as blanks', async () => {
    const forged = canary('web', { phase: 'Succeeded', message: 'fine\u001b[2J\nreally' });
    expect((await lines({ name: 'web' }, [forged])).join('|')).toContain('fine [2J really');
  });

  it('shows those of a reason as blanks, too', async () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'X\u001b[2J\nforged', message: '' }];
    const forged = { ...source, status: { conditions } };
    const [title] = await lines({ kind: 'Source', name: 'shop' }, [forged]);
    expect(title).toMatch(/^Source shop\/shop +X \[2J forged$/);
  });

  it('gives programs the objects without managed fields', async () => {
    const { stdout } = await status(reader(calm, source), { ...options, format: 'json' });
    const { items } = JSON.parse(stdout) as { items: KubernetesObject[] };
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['calm', 'shop']);
    expect(stdout).not.toContain('managedFields');
  });

  it('shows a Canary that nobody has looked at yet', async () => {
    const fresh = canary('fresh', undefined);
    const [, row, remark] = await lines({}, [fresh]);
    expect(row).toMatch(/^fresh +- +- +- +- +-$/);
    expect(remark).toBe('  not reconciled by Holdfast yet; holdfast check and holdfast events say why');
    expect((await lines({ name: 'fresh' }, [fresh])).join('\n')).toContain('not reconciled by Holdfast yet');
  });

  it('shows Canaries alone where Sources may not be read, and says so', async () => {
    const forbidden: StatusReader = {
      get: async () => undefined,
      list: async (apiVersion, kind, query) => {
        if (kind === 'Canary') return reader(calm).list(apiVersion, kind, query);
        throw new ApiError('list sources in shop: 403 forbidden', {
          kind: 'forbidden',
          status: 403,
          reason: 'Forbidden',
          effectUnknown: false,
          fieldConflicts: [],
        });
      },
    };
    const { stdout, stderr } = await status(forbidden, options);
    expect(stdout).toContain('calm');
    expect(stderr).toMatch(/^note: no Sources are shown: .*403/);
  });

  it('says where it looked when there is nothing', async () => {
    expect(await status(reader(), options)).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('namespace shop'),
    });
    await expect(status(reader(), { ...options, name: 'web' })).rejects.toThrow('Canary shop/web not found');
  });

  it('shows one Source', async () => {
    const text = (await lines({ kind: 'Source', name: 'shop' })).join('\n');
    expect(text).toMatch(/^Source shop\/shop +CanaryRejected$/m);
    expect(text).toContain('bbbbbbb Make the cart faster  Ada');
    expect(text).toContain('canaries 2, objects 9');
  });
});

it('shows the whole message of each condition of one Canary, also on a narrow terminal', async () => {
  const message =
    'spec.analysis.mirror and spec.service.retries have no effect with provider contour; take them out';
  const conditions = [{ type: 'FieldsNotActedOn', status: 'True', reason: 'NotSupported', message }];
  const careless = canary('careless', { phase: 'Succeeded', conditions } as CanaryStatus);

  const shown = await lines({ kind: 'Canary', name: 'careless', screen: { columns: 60, colour: false } }, [
    careless,
  ]);

  expect(shown.map((line) => line.trim()).join(' ')).toContain(message);
  expect(shown.filter((line) => line.length > 60)).toEqual([]);
});

it('shows the whole of why a check has no value, also on a narrow terminal', async () => {
  const detail = 'the query returns 2 series; aggregate them to one, as with sum(...)';
  const checks = [
    { name: 'error-rate', verdict: 'inconclusive', max: 1, detail, time: '2026-03-01T02:59:00Z' },
  ];
  const blind = canary('blind', { phase: 'Progressing', checks } as CanaryStatus);

  const shown = await lines({ kind: 'Canary', name: 'blind', screen: { columns: 60, colour: false } }, [
    blind,
  ]);

  expect(shown).toContain('  inconclusive  error-rate  (max 1)  1m ago');
  expect(shown.map((line) => line.trim()).join(' ')).toContain(detail);
});

it('puts Sources that are not ready on top, with the whole of what is wrong', async () => {
  const said = `apps/web.yaml:3: Deployment shop/web: ${'the field is immutable; '.repeat(10)}delete it`;
  const ready = (status: string, message: string) => ({
    message: message.slice(0, 160),
    conditions: [{ type: 'Ready', status, reason: status === 'True' ? 'Applied' : 'Invalid', message }],
  });
  const named = (name: string, status: object) => ({
    ...source,
    metadata: { namespace: 'shop', name },
    status,
  });
  const sources = [named('apps', ready('True', 'applied')), named('web', ready('False', said))];

  const shown = await lines({ kind: 'Source', screen: { columns: 1_000, colour: false } }, sources);

  expect(shown.slice(1).map((line) => line.trim().split(/ {2,}/)[0])).toEqual(['web', said, 'apps', '']);
});

describe('the subject on the command line', () => {
  it.each([
    [[], {}],
    [['canaries'], { kind: 'Canary' }],
    [['canary', 'web'], { kind: 'Canary', name: 'web' }],
    [['source/shop'], { kind: 'Source', name: 'shop' }],
    [['web'], { kind: 'Canary', name: 'web' }],
  ])('%j', ([first, second], expected) => {
    expect(parseObjectArgument(first, second)).toEqual(expected);
  });

  it('refuses other kinds', () => {
    expect(() => parseObjectArgument('pod', 'web')).toThrow('must be canary or source');
    expect(() => parseObjectArgument('shop/web', undefined)).toThrow('-n NAMESPACE names the namespace');
    for (const [first, second] of [['canary/'], ['canary', ''], [''], ['/web']])
      expect(() => parseObjectArgument(first, second)).toThrow(
        'names no object; use canary/NAME or source/NAME',
      );
  });
});

it.each([
  [0, '0s'],
  [61_000, '1m1s'],
  [3_600_000, '1h'],
  [90_000_000, '1d1h'],
  [-5, '0s'],
])('a span of %i ms is %s', (ms, text) => {
  expect(formatSpan(ms)).toBe(text);
});

it('an age is past or to come', () => {
  expect(formatAge('2026-03-01T02:59:00Z', nowMs)).toBe('1m ago');
  expect(formatAge('2026-03-01T03:00:30Z', nowMs)).toBe('in 30s');
  expect(formatAge('2026-03-01T03:00:00.200Z', nowMs)).toBe('now');
  expect(formatAge('soon', nowMs)).toBe('');
});
