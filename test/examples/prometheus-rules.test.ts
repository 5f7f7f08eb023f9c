import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { rolloutReasons } from '../../src/api/reasons.ts';

/** What can be known of the alarms without Prometheus; test/cluster/prometheus-rules.test.ts has it play them. */

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly runbook_url: string };
}
const { groups } = parse(read('deploy/prometheus/rules.yaml')) as { groups: Array<{ rules: Rule[] }> };
const rules = groups.flatMap((group) => group.rules);

describe('the alarms', () => {
  it.each(rules)(
    '$alert asks for metrics, reasons and a page that exist',
    ({ expr, labels, annotations }) => {
      const code = readdirSync(join(root, 'src/server/http'))
        .map((name) => read(`src/server/http/${name}`))
        .join('\n');
      const metrics = expr.match(/(?:holdfast|flagger)_\w+/g) ?? [];
      expect(metrics.length).toBeGreaterThan(0);
      expect(metrics.filter((name) => !code.includes(`'${name}'`))).toEqual([]);
      const reasons = [...expr.matchAll(/reason!?="(\w+)"/g)].map(([, reason = '']) => reason);
      expect(reasons.filter((reason) => !Object.hasOwn(rolloutReasons, reason))).toEqual([]);
      const [page = ''] = annotations.runbook_url.split('#');
      expect(existsSync(join(root, page))).toBe(true);
      expect(['warn', 'error']).toContain(labels.severity);
    },
  );

  it('are each played, and each listed in the guide', () => {
    const played = read('deploy/prometheus/rules.test.yaml');
    const guide = read('docs/guides/operations.md');
    expect(rules.filter(({ alert }) => !played.includes(alert) || !guide.includes(`\`${alert}\``))).toEqual(
      [],
    );
  });
});
