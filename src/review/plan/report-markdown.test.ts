import { describe, expect, it } from 'vitest';
import { type ObjectChange, type PlanReport, type SourcePlanned, summaryOf } from './report.ts';
import { commentMark, planMarkdown } from './report-markdown.ts';

function object(name: string, diff: readonly string[]): ObjectChange {
  return {
    change: 'changed',
    apiVersion: 'v1',
    kind: 'ConfigMap',
    namespace: 'shop',
    name,
    role: 'other',
    canaries: [],
    origin: `apps/${name}.yaml:1`,
    diff,
  };
}

function report(source: Partial<SourcePlanned>, subject = 'Pay faster'): PlanReport {
  const sources: SourcePlanned[] = [
    {
      source: 'delivery/shop',
      path: 'apps',
      change: 'same',
      problems: [],
      objects: [],
      canaries: [],
      oneWay: [],
      notes: [],
      ...source,
    },
  ];
  return {
    notes: [],
    sources,
    summary: summaryOf(sources),
    base: { revision: 'main', commit: { commit: 'a'.repeat(40), subject: 'Before' } },
    head: { revision: 'HEAD', commit: { commit: 'b'.repeat(40), subject } },
  };
}

describe('a comment', () => {
  it('begins with the mark by which it is found again, and holds every difference', () => {
    const text = planMarkdown(report({ objects: [object('a', ['-x: 1', '+x: 2'])] }), 65_000);
    expect(text.startsWith(`${commentMark}\n`)).toBe(true);
    expect(text).toContain('**objects: 1 changed**');
    expect(text).toContain('```diff\n-x: 1\n+x: 2\n```');
    expect(text).not.toContain('Left out');
  });

  it('never grows beyond its limit, keeps what must be decided on, and counts what it left out', () => {
    const long = Array.from({ length: 200 }, (_, index) => `+line ${index} é ${'x'.repeat(40)}`);
    const oneWay = {
      rule: 'deletion',
      severity: 'oneWay',
      object: 'Namespace extra',
      origin: 'apps/ns.yaml:1',
      message: 'everything in the namespace is deleted with it',
    } as const;
    const objects = Array.from({ length: 300 }, (_, index) => object(`c${index}`, long));
    for (const most of [2_000, 20_000, 65_000]) {
      const text = planMarkdown(report({ objects, oneWay: [oneWay] }), most);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most);
      expect(text).toContain('everything in the namespace is deleted');
      expect(text).toMatch(
        new RegExp(`Left out, because a comment holds at most ${most} bytes: .*\\d+ difference`),
      );
    }
  });

  it('lets nothing from outside make markup, call people, or leave its block', () => {
    const subject = '<img src=x> @acme/team [a](http://x) `b` | c';
    const text = planMarkdown(
      report({ objects: [object('a', ['+```', '+</details><script>'])] }, subject),
      65_000,
    );
    const [before = '', block = ''] = text.split('````diff');
    expect(before).not.toMatch(/<img|@acme|\[a\]|`b`/);
    expect(block.trim().split('\n').slice(0, 3)).toEqual(['+```', '+</details><script>', '````']);
  });
});
