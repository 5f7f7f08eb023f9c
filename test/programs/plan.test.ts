import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  deploymentText,
  type PlanBed,
  planBed,
  sourceText,
} from '../../src/review/plan/plan.test-support.ts';
import type { PlanReport } from '../../src/review/plan/report.ts';
import { realBuilders } from './programs.ts';

let bed: PlanBed;

beforeAll(() => {
  bed = planBed(realBuilders().builders);
  const source = (name: string, more = '') =>
    sourceText(more).replace('./apps', `./${name}`).replace('name: shop', `name: ${name}`);
  bed.repository.commit({
    'sources/overlay.yaml': source('overlay'),
    'sources/chart.yaml': source(
      'chart',
      '  defaultNamespace: shop\n  helm: {values: {image: {tag: "1"}}}\n',
    ),
    'base/kustomization.yaml': 'resources: [web.yaml]\n',
    'base/web.yaml': deploymentText('shop/web:1'),
    'overlay/kustomization.yaml':
      'resources: [../base]\nsecretGenerator: [{name: vault, namespace: shop, literals: [password=hunter2]}]\n',
    'chart/Chart.yaml': 'apiVersion: v2\nname: cart\nversion: 1.0.0\n',
    'chart/templates/cart.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: cart}
data: {image: "shop/cart:{{ .Values.image.tag }}"}
`,
  });
});

afterAll(() => bed.close());

const linesOf = (report: PlanReport) =>
  Object.fromEntries(
    report.sources.map(({ source, objects, problems }) => [
      source,
      [...problems, ...objects.flatMap(({ diff }) => diff.filter((line) => /^[+-]/.test(line)))],
    ]),
  );

test('a base outside the path and values of the Source are seen in what is built of them', async () => {
  const chart = sourceText('  defaultNamespace: shop\n  helm: {values: {image: {tag: "2"}}}\n')
    .replace('./apps', './chart')
    .replace('name: shop', 'name: chart');
  bed.repository.commit({ 'base/web.yaml': deploymentText('shop/web:2'), 'sources/chart.yaml': chart });
  expect(linesOf(await bed.plan())).toEqual({
    'delivery/chart': ['-  image: shop/cart:1', '+  image: shop/cart:2'],
    'delivery/overlay': [expect.stringContaining('-'), expect.stringContaining('image: shop/web:2')],
  });
});

test('a generated Secret that changes is a new one and the old one goes, without a value of either', async () => {
  bed.repository.commit({
    'overlay/kustomization.yaml':
      'resources: [../base]\nsecretGenerator: [{name: vault, namespace: shop, literals: [password=swordfish]}]\n',
  });
  const report = await bed.plan();
  const overlay = report.sources.find(({ source }) => source === 'delivery/overlay');
  expect(overlay?.objects.map(({ change, kind, fate }) => [change, kind, fate])).toEqual([
    ['added', 'Secret', undefined],
    ['removed', 'Secret', 'pruned'],
  ]);
  expect(JSON.stringify(report)).not.toMatch(/hunter2|swordfish|aHVudGVyMg|c3dvcmRmaXNo/);
});
