import type { IncomingMessage } from 'node:http';
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it, test, vi } from 'vitest';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { Incident } from '../../api/incident.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { MetricsSink } from './metrics-sink.ts';
import { addStoreMetrics, createPrometheus, type StoreSizes } from './prometheus.ts';

const time = '2026-11-01T08:00:00Z';
const incident: Omit<Incident, 'alerts'> = {
  key: 'v1:a/Held/ChecksFailed',
  time,
  outcome: 'Held',
  severity: 'error',
  reason: 'ChecksFailed',
  message: 'a release is held',
  commit: '',
  serving: [],
};

let canaries: KubernetesObject[];
let sources: KubernetesObject[];
let sink: MetricsSink;
let scrape: () => Promise<string[]>;
let depth: () => number;
let watches: Parameters<typeof createPrometheus>[0]['watches'];

beforeEach(() => {
  canaries = [canaryOf('web'), canaryOf('cart')];
  depth = () => 2;
  watches = () => [{ kind: 'Pod', isOwn: false, healthy: true }];
  sources = [
    { apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', metadata: { namespace: 'shop', name: 'shop' } },
  ];
  const find = (list: () => KubernetesObject[]) => (namespace: string, name: string) =>
    list().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  const prometheus = createPrometheus({
    version: '1.2.3',
    provider: 'gatewayapi:v1',
    canaries: () => canaries,
    canary: find(() => canaries),
    source: find(() => sources),
    apiRequests: () => ({ get: 3 }),
    isLeading: () => true,
    gitStores: () => undefined,
    queueDepth: () => depth(),
    watches: () => watches(),
  });
  sink = prometheus.sink;
  scrape = async () => {
    const { body } = await prometheus.route.handle({} as IncomingMessage, '');
    return String(body)
      .split('\n')
      .filter((line) => /^(flagger|holdfast)_/.test(line));
  };
});

it('is not made larger by a target of a name that nothing can have', async () => {
  const targetRef = { kind: 'Deployment', name: 'w'.repeat(1_000_000) };
  canaries = [{ ...canaryOf('web', { phase: 'Progressing' }), spec: { targetRef } }];
  sink.pass('shop/web', 5, true);
  const lines = await scrape();
  expect(lines.filter((line) => line.includes('www')).length).toBeGreaterThan(5);
  expect(lines.join('\n').length).toBeLessThan(100_000);
});

/** A Canary whose target has another name: series are named by the target, as Flagger's are. */
function canaryOf(name: string, status: Partial<CanaryStatus> = {}): KubernetesObject {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { namespace: 'shop', name },
    spec: { targetRef: { name: `${name}-app` }, analysis: { iterations: 3, match: [{}] } },
    status,
  };
}

const about = (lines: readonly string[], name: string) => lines.filter((line) => line.includes(name));

describe('what alarms are made of', () => {
  it('shows the present status and reason of the conditions that alarms ask for, and of no other', async () => {
    const condition = { lastTransitionTime: time, lastUpdateTime: time, message: 'words' };
    const held = { ...condition, type: 'Held', status: 'True', reason: 'ChecksFailed' } as const;
    const promoted = { ...condition, type: 'Promoted', status: 'Unknown', reason: 'Promoting' } as const;
    canaries = [canaryOf('web', { conditions: [held, promoted] })];
    const series = 'holdfast_canary_condition{name="web-app",namespace="shop",type="Held"';
    expect(about(await scrape(), 'holdfast_canary_condition')).toEqual([
      `${series},status="True",reason="ChecksFailed"} 1`,
    ]);
    canaries = [canaryOf('web', { conditions: [{ ...held, status: 'False', reason: 'NotHeld' }] })];
    expect(about(await scrape(), 'holdfast_canary_condition')).toEqual([
      `${series},status="False",reason="NotHeld"} 1`,
    ]);
  });

  it('counts the alerts that could not be sent, for a day, and none where none are', async () => {
    const alerts = [
      { name: 'chat', state: 'failed' },
      { name: 'pager', state: 'sent' },
      { name: 'mail', state: 'waiting' },
    ] as const;
    canaries = [
      canaryOf('web', { incidents: [{ ...incident, alerts: [...alerts] }, incident] }),
      canaryOf('cart'),
    ];
    const counts = async (hoursLater: number) => {
      vi.setSystemTime(Date.parse(time) + hoursLater * 3_600_000);
      return about(await scrape(), 'holdfast_alerts_not_sent').map((line) => line.replace(/^.*\{name=/, ''));
    };
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      expect(await counts(1)).toEqual(['"web-app",namespace="shop"} 1', '"cart-app",namespace="shop"} 0']);
      expect(await counts(25)).toEqual(['"web-app",namespace="shop"} 0', '"cart-app",namespace="shop"} 0']);
    } finally {
      vi.useRealTimers();
    }
  });
});

test('a kind with one dead watch is not healthy, and our own kinds are distinguished from those of tenants', async () => {
  watches = () => [
    { kind: 'Canary', isOwn: true, healthy: true },
    { kind: 'Canary', isOwn: true, healthy: false },
    { kind: 'Canary', isOwn: false, healthy: true },
    { kind: 'Widget', isOwn: false, healthy: false },
    { kind: 'Source', isOwn: true, healthy: true },
  ];

  const lines = about(await scrape(), 'holdfast_watch_healthy');

  expect(lines.sort()).toEqual([
    'holdfast_watch_healthy{kind="Canary",own="false"} 1',
    'holdfast_watch_healthy{kind="Canary",own="true"} 0',
    'holdfast_watch_healthy{kind="Source",own="true"} 1',
    'holdfast_watch_healthy{kind="Widget",own="false"} 0',
  ]);
});

describe("Flagger's series", () => {
  it('say nothing of the result and the weights of a Canary that was never acted on, as in Flagger', async () => {
    canaries = [canaryOf('refused', {})];
    expect((await scrape()).filter((line) => /^flagger_canary/.test(line))).toEqual([
      'flagger_canary_total{namespace="shop"} 1',
    ]);
  });

  it('have its names, labels and values', async () => {
    const checks = [
      { name: 'request-success-rate', value: 99.5, verdict: 'pass', time },
      { name: 'request-duration', value: 250, verdict: 'pass', time },
      { name: 'restarts', verdict: 'inconclusive', time },
    ] as const;
    canaries = [
      canaryOf('web', { phase: 'Progressing', canaryWeight: 20, checks: [...checks] }),
      canaryOf('cart', { phase: 'Failed' }),
    ];
    const web = 'name="web-app",namespace="shop"';
    const lines = (await scrape()).filter((line) => line.startsWith('flagger_'));
    expect(lines).toEqual([
      'flagger_info{version="1.2.3",mesh_provider="gatewayapi:v1"} 1',
      'flagger_canary_total{namespace="shop"} 2',
      `flagger_canary_status{${web}} 0`,
      'flagger_canary_status{name="cart-app",namespace="shop"} 2',
      'flagger_canary_weight{workload="web-app-primary",namespace="shop"} 80',
      'flagger_canary_weight{workload="web-app",namespace="shop"} 20',
      'flagger_canary_weight{workload="cart-app-primary",namespace="shop"} 100',
      'flagger_canary_weight{workload="cart-app",namespace="shop"} 0',
      `flagger_canary_metric_analysis{${web},metric="request-success-rate"} 99.5`,
      `flagger_canary_metric_analysis{${web},metric="request-duration"} 0.25`,
    ]);
    canaries = [];
    expect((await scrape()).filter((line) => /^flagger_canary/.test(line))).toEqual([]);
  });

  it.each([
    [{ iterations: 3, match: [{}] }, {}, 'ab-testing', 'completed'],
    [{ iterations: 3 }, {}, 'blue-green', 'completed'],
    [{ stepWeight: 10 }, {}, 'canary', 'completed'],
    [{ stepWeight: 10 }, { provider: 'kubernetes' }, 'canary', 'completed'],
    [{ stepWeight: 10 }, { skipAnalysis: true }, 'canary', 'skipped'],
  ])('count releases of %j %j as %s, %s', async (analysis, more, strategy, status) => {
    const canary = { ...canaryOf('web'), spec: { targetRef: { name: 'web-app' }, analysis, ...more } };
    sink.ended(canary, 'Succeeded');
    sink.ended(canary, 'Superseded');
    expect(about(await scrape(), 'successes_total')).toEqual([
      `flagger_canary_successes_total{name="web-app",namespace="shop",deployment_strategy="${strategy}",analysis_status="${status}"} 1`,
    ]);
    // As in Flagger, a failed release counts as completed, also without analysis.
    sink.ended(canary, 'Failed');
    expect(about(await scrape(), 'failures_total')).toEqual([
      `flagger_canary_failures_total{name="web-app",namespace="shop",deployment_strategy="${strategy}",analysis_status="completed"} 1`,
    ]);
  });
});

describe('what is counted', () => {
  it('is named by the target of the Canary and by the Source', async () => {
    sink.pass('shop/web', 12, false);
    sink.ended(canaryOf('web'), 'Failed');
    sink.ended(canaryOf('web'), 'Initialized');
    sink.sync('shop/shop', false);
    const lines = await scrape();
    const web = 'name="web-app",namespace="shop"';
    expect(lines).toContain(`holdfast_canary_pass_failures_total{${web}} 1`);
    expect(lines).toContain(`flagger_canary_duration_seconds_count{${web}} 1`);
    expect(lines).toContain(
      `flagger_canary_failures_total{${web},deployment_strategy="ab-testing",analysis_status="completed"} 1`,
    );
    expect(lines).toContain('holdfast_source_syncs_total{name="shop",namespace="shop",result="failure"} 1');
    expect(lines).toContain(
      `flagger_canary_successes_total{${web},deployment_strategy="ab-testing",analysis_status="completed"} 0`,
    );
  });

  it('begins at 0, since Prometheus takes what appears with a 1 for no increase', async () => {
    sink.pass('shop/web', 12, true);
    sink.sync('shop/shop', true);

    const counters = (await scrape()).filter((line) => /_total\{name=/.test(line));

    expect(counters.map((line) => line.replace(/^\w+_(canary|source)_|\{.*(?= \d+$)|"/g, '')).sort()).toEqual(
      [
        'drift_corrections_total 0',
        'drift_corrections_total 0',
        'failures_total 0',
        'pass_failures_total 0',
        'rendered_total 0',
        'successes_total 0',
        'syncs_total 0',
        'syncs_total 1',
      ],
    );
  });

  it('of a Source that was never synced begins with its first poll, so that its age can raise an alarm', async () => {
    const at = async (seconds: number, succeeded: boolean) => {
      vi.setSystemTime(seconds * 1_000);
      sink.sync('shop/shop', succeeded);
      return about(await scrape(), 'last_sync');
    };
    const lastSync = (seconds: number) => [
      `holdfast_source_last_sync_timestamp_seconds{name="shop",namespace="shop"} ${seconds}`,
    ];
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      expect(await at(100, false)).toEqual(lastSync(100));
      expect(await at(200, false)).toEqual(lastSync(100));
      expect(await at(300, true)).toEqual(lastSync(300));
      expect(await at(400, false)).toEqual(lastSync(300));
    } finally {
      vi.useRealTimers();
    }
  });

  it('says since when a Source fails, until it succeeds, is suspended or is deleted', async () => {
    const at = async (seconds: number, succeeded: boolean) => {
      vi.setSystemTime(seconds * 1_000);
      sink.sync('shop/shop', succeeded);
      return about(await scrape(), 'failing_since');
    };
    const failingSince = (seconds: number) => [
      `holdfast_source_failing_since_timestamp_seconds{name="shop",namespace="shop"} ${seconds}`,
    ];
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      expect(await at(100, true)).toEqual([]);
      expect(await at(3_700, false)).toEqual(failingSince(3_700));
      expect(await at(7_300, false)).toEqual(failingSince(3_700));
      expect(await at(10_900, true)).toEqual([]);
      expect(await at(14_500, false)).toEqual(failingSince(14_500));
      sources = sources.map((source) => ({ ...source, spec: { suspend: true } }));
      expect(about(await scrape(), 'failing_since')).toEqual([]);
      sources = [];
      expect(about(await scrape(), 'failing_since')).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('goes with the object it is about, and comes back only for a new one', async () => {
    for (const key of ['shop/web', 'shop/cart']) sink.pass(key, 12, false);
    sink.ended(canaryOf('web'), 'Succeeded');
    sink.sync('shop/shop', true);
    expect(about(await scrape(), 'web-app').length).toBeGreaterThan(10);
    [canaries, sources] = [[canaryOf('cart')], []];
    sink.pass('shop/web', 12, false);
    sink.sync('shop/shop', true);
    const left = await scrape();
    expect(about(left, 'web-app')).toEqual([]);
    expect(about(left, 'name="shop"')).toEqual([]);
    expect(left).toContain('holdfast_canary_pass_failures_total{name="cart-app",namespace="shop"} 1');
    canaries.push(canaryOf('web'));
    sink.pass('shop/web', 12, false);
    expect(await scrape()).toContain(
      'holdfast_canary_pass_failures_total{name="web-app",namespace="shop"} 1',
    );
  });

  it('goes with the target of a Canary that names another one, so that nobody adds series without end', async () => {
    const targets = ['web-1', 'web-2', 'web-3'];
    for (const name of targets) {
      canaries = [{ ...canaryOf('web'), spec: { targetRef: { name } } }];
      sink.pass('shop/web', 12, false);
      for (const canary of canaries) sink.ended(canary, 'Succeeded');
    }
    const counted = (await scrape()).filter((line) => /_(total|count)\{name="web/.test(line));
    expect(counted.map((line) => /name="([^"]+)"/.exec(line)?.[1])).toEqual(Array(5).fill('web-3'));
  });
});

test('concurrent scrapes share one answer, and constant scraping leaves most of the time to other work', async () => {
  let collected = 0;
  depth = () => {
    collected += 1;
    for (const endMs = performance.now() + 5; performance.now() < endMs; );
    return collected;
  };
  await Promise.all(Array.from({ length: 500 }, scrape));
  expect(collected).toBe(1);
  const beganMs = performance.now();
  const seen: string[] = [];
  for (let scrapes = 0; scrapes < 4; scrapes += 1) seen.push(...(await scrape()));
  expect(performance.now() - beganMs).toBeGreaterThan(4 * 9 * 5);
  expect(seen).toContain('holdfast_queue_depth 5');
});

async function linesOf(sizes: StoreSizes | undefined): Promise<string[]> {
  const registry = new Registry();
  addStoreMetrics(registry, () => sizes);
  const text = await registry.metrics();
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('reports the disk usage of the stores', async () => {
  expect(await linesOf({ stores: 2, packs: 7, bytes: 4_096, compactedMs: 1_500 })).toEqual([
    'holdfast_git_stores 2',
    'holdfast_git_store_packs 7',
    'holdfast_git_store_bytes 4096',
    'holdfast_git_store_compacted_timestamp_seconds 1.5',
  ]);
});

test('a store that was never made smaller has no time, and a copy that follows no Git says nothing', async () => {
  const lines = await linesOf({ stores: 1, packs: 1, bytes: 10, compactedMs: undefined });
  expect(lines).toHaveLength(3);
  expect(await linesOf(undefined)).toEqual([]);
});

test('what only grows is a counter with the suffix of one, as Prometheus asks for, also at the next scrape', async () => {
  await scrape();
  const text = await scrape();
  expect(text).toContain('holdfast_api_requests_total{verb="get"} 3');
});
