import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { rolloutReasons } from '../../src/api/reasons.ts';
import { createPrometheus } from '../../src/server/http/prometheus.ts';

/** The dashboards against what /metrics says of a Canary and a Source to which everything happened once. */

const root = resolve(import.meta.dirname, '../..');
const folder = join(root, 'deploy/grafana');

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly templating: { readonly list: ReadonlyArray<{ name: string; definition?: string }> };
  readonly panels: ReadonlyArray<{
    readonly id: number;
    readonly title: string;
    readonly description: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets: ReadonlyArray<{ readonly expr: string; readonly legendFormat: string }>;
  }>;
}

const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
const dashboards = files.map(
  (name) => [name, JSON.parse(readFileSync(join(folder, name), 'utf8')) as Dashboard] as const,
);
const questions = dashboards.flatMap(([name, { panels, templating }]) => [
  ...panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({ where: `${name}: ${title}`, expr, legend: legendFormat })),
  ),
  ...templating.list.flatMap(({ name: variable, definition }) =>
    definition === undefined ? [] : [{ where: `${name}: $${variable}`, expr: definition, legend: '' }],
  ),
]);

/** Labels by the name of each series, and the values of each label. */
let series: Map<string, Map<string, Set<string>>>;
/** Labels that Prometheus adds when it scrapes. */
const SCRAPED = ['instance', 'job'];

beforeAll(async () => {
  const time = '2026-11-01T08:00:00Z';
  const condition = { lastTransitionTime: time, lastUpdateTime: time, message: 'words' };
  const conditions = [
    { ...condition, type: 'Ready', status: 'False', reason: 'Held' },
    { ...condition, type: 'Stalled', status: 'False', reason: 'NotStalled' },
    { ...condition, type: 'Held', status: 'True', reason: 'ChecksFailed' },
    { ...condition, type: 'RollbackReady', status: 'False', reason: 'NoRecord' },
  ];
  const metadata = { namespace: 'shop', name: 'web' };
  const checks = [{ name: 'request-duration', value: 250, verdict: 'pass', time }];
  const canary: KubernetesObject = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata,
    spec: { targetRef: { name: 'web' }, analysis: { stepWeight: 10 } },
    status: { phase: 'Progressing', canaryWeight: 20, conditions, checks },
  };
  const source: KubernetesObject = { apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', metadata };
  const { route, sink } = createPrometheus({
    ...{ version: '1.2.3', provider: 'gatewayapi:v1' },
    ...{ canaries: () => [canary], canary: () => canary, source: () => source },
    ...{ apiRequests: () => ({ get: 3 }), isLeading: () => true, queueDepth: () => 2 },
    gitStores: () => ({ stores: 1, packs: 2, bytes: 3, compactedMs: 4 }),
    watches: () => [{ kind: 'Pod', isOwn: false, healthy: true }],
  });
  sink.pass('shop/web', 5, false);
  for (const succeeded of [true, false]) sink.sync('shop/shop', succeeded);
  sink.drift('shop/shop', 1);
  sink.rendered('shop/shop', 1);
  for (const result of ['Succeeded', 'Failed'] as const) sink.ended(canary, result);
  const { body } = await route.handle({} as IncomingMessage, '');
  series = new Map();
  for (const line of String(body).split('\n')) {
    const [, name = '', labels = ''] = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? \S+$/i.exec(line) ?? [];
    if (!name) continue;
    const known = series.get(name) ?? new Map<string, Set<string>>();
    series.set(name, known);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g))
      known.set(label, (known.get(label) ?? new Set()).add(value));
  }
});

/** Each series that a query names, with the conditions on its labels. */
function selectors(expr: string): Array<{ name: string; matchers: Array<{ label: string; value: string }> }> {
  const found = expr.matchAll(/\b((?:holdfast|flagger|process|nodejs)_\w+)(?:\{([^}]*)\})?/g);
  return [...found].map(([, name = '', inside = '']) => ({
    name,
    matchers: [...inside.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)].map(
      ([, label = '', value = '']) => ({ label, value }),
    ),
  }));
}

describe('the dashboards', () => {
  it('are there for the fleet and for one Canary', () => {
    expect(files.sort()).toEqual(['canary.json', 'fleet.json']);
    expect(new Set(dashboards.map(([, { uid }]) => uid)).size).toBe(2);
  });

  it.each(questions)('$where asks for series and labels that exist', ({ expr, legend }) => {
    const asked = selectors(expr);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter(({ name }) => !series.has(name)).map(({ name }) => name)).toEqual([]);
    const labelsOf = (name: string) => [...(series.get(name)?.keys() ?? []), ...SCRAPED];
    const wrong = asked.flatMap(({ name, matchers }) =>
      matchers.filter(({ label }) => !labelsOf(name).includes(label)).map(({ label }) => `${name} ${label}`),
    );
    expect(wrong).toEqual([]);
    const everywhere = asked.map(({ name }) => labelsOf(name));
    const groups = [...expr.matchAll(/\bby \(([^)]*)\)/g)].map(([, list = '']) => list.split(/,\s*/));
    const matching = [...expr.matchAll(/\bon \(([^)]*)\)/g)].map(([, list = '']) => list.split(/,\s*/));
    const listed = /^label_values\(.*, (\w+)\)$/.exec(expr);
    const grouped = [...groups, ...matching, ...(listed?.[1] ? [[listed[1]]] : [])].flat();
    expect(grouped.filter((label) => !everywhere.every((labels) => labels.includes(label)))).toEqual([]);
    // A legend shows what the query leaves.
    const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    const left = groups.length > 0 ? groups.flat() : [...(everywhere[0] ?? [])];
    expect(shown.filter((label) => !left.includes(label))).toEqual([]);
  });

  it.each(questions)('$where asks for values that labels can have', ({ expr }) => {
    const matchers = selectors(expr).flatMap((one) => one.matchers);
    const valuesOf = (wanted: string) =>
      matchers
        .filter(({ label, value }) => label === wanted && !value.includes('$'))
        .flatMap(({ value }) => value.split('|'));
    const types = series.get('holdfast_canary_condition')?.get('type') ?? new Set();
    expect(valuesOf('type').filter((type) => !types.has(type))).toEqual([]);
    expect(valuesOf('reason').filter((reason) => !Object.hasOwn(rolloutReasons, reason))).toEqual([]);
    expect(valuesOf('status').filter((status) => !['True', 'False', 'Unknown'].includes(status))).toEqual([]);
    expect(valuesOf('result').filter((result) => !['success', 'failure'].includes(result))).toEqual([]);
  });

  it.each(dashboards)('%s uses its variables alone, and says what each panel shows', (_name, dashboard) => {
    const { panels, templating } = dashboard;
    const variables = templating.list.map(({ name }) => name);
    const used = [...JSON.stringify(panels).matchAll(/\$\{?(\w+)/g)].map(([, name = '']) => name);
    expect([...new Set(used)].filter((name) => !variables.includes(name))).toEqual([]);
    expect(variables.filter((name) => !used.includes(name))).toEqual([]);
    expect(panels.filter(({ title, description }) => !title || !description)).toEqual([]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });

  it.each(dashboards)('%s has no panels over one another', (_name, { panels }) => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });
});
