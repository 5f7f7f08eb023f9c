import { describe, expect, test } from 'vitest';
import { glyphsFor } from '../../src/terminal/timeline/rows.ts';
import type { DemoEventBody } from './events.ts';
import { createTimeline } from './timeline.ts';

const bad = '3333333aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const good = '2222222aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const commits: DemoEventBody[] = [
  { type: 'commit', name: 'v2', commit: good, subject: 'Add gift cards', intent: 'a good release' },
  { type: 'commit', name: 'v3', commit: bad, subject: 'Keep carts', intent: 'a bad release' },
];

function state(state: string, message: string): DemoEventBody {
  return { type: 'state', phase: 'Promoting', state, reason: '', message, next: '', nextTime: '' };
}

function linesOf(
  happenings: readonly DemoEventBody[],
  env: Record<string, string> = { LANG: 'C.UTF-8' },
): string[] {
  const timeline = createTimeline(
    { screen: { columns: 80, colour: false }, glyphs: glyphsFor(env), timeColumns: 7 },
    [{ line: 'holdfast install', purpose: 'manifests' }],
  );
  return happenings.flatMap((happening) => timeline.lines({ time: '', elapsedMs: 12_345, ...happening }));
}

describe('the timeline', () => {
  test('draws the shares as a bar and names releases, not commits', () => {
    const traffic: DemoEventBody = {
      type: 'traffic',
      primaryWeight: 80,
      canaryWeight: 20,
      serving: [
        { role: 'primary', commit: good, weight: 80, ready: 2 },
        { role: 'canary', commit: bad, weight: 20, ready: 2 },
      ],
    };
    expect(linesOf([...commits, traffic]).at(-1)).toBe(
      `│  12.3s  traffic       ${'█'.repeat(16)}${'▒'.repeat(4)}  primary v2 80 %, canary v3 20 %`,
    );
    expect(linesOf([...commits, traffic], { LANG: 'C' }).at(-1)).toContain('################----');
  });

  test('shows each check with value and bound, and a failed one as failed', () => {
    const results = [
      { name: 'success-rate', value: 93.1, min: 99, verdict: 'fail' as const, time: '' },
      { name: 'latency-ms', value: 40, max: 500, verdict: 'pass' as const, time: '' },
      { name: 'errors', verdict: 'inconclusive' as const, detail: 'no answer', time: '' },
    ];
    const lines = linesOf([{ type: 'checks', during: 'analysis', results }]);
    expect(lines.join('\n')).toContain('✗ success-rate 93.1 ≥ 99   ✓ latency-ms 40 ≤ 500');
    expect(lines.join('\n')).toContain('? errors: no answer');
  });

  test('tells a state once, and a cause once', () => {
    const lines = linesOf([
      ...commits,
      state('Held', `3333333 "Keep carts" is held: no pod is ready`),
      state('Held', `3333333 "Keep carts" is held, the canary carries all traffic: no pod is ready`),
      state('Reverting', `reverting to 2222222 "Add gift cards": no pod is ready`),
    ]);
    expect(lines.slice(-2)).toEqual([
      '│  12.3s  Held          v3 is held: no pod is ready',
      '│  12.3s  Reverting     reverting to v2',
    ]);
  });

  test('lists what differs and where the log is, in lines of at most 80 columns', () => {
    const lines = linesOf([
      {
        type: 'ended',
        ok: false,
        differences: [{ what: 'Canary shop: phase', expected: 'Succeeded', found: 'Failed' }],
        promoted: ['v1'],
        reverted: '',
        revertReason: '',
        failureToGoodMs: null,
        heldMs: null,
        requests: 1234,
        failedRequests: 2,
        log: '/tmp/x/holdfast.log',
      },
    ]);
    const text = lines.join('\n');
    expect(text).toContain('Canary shop: phase: expected Succeeded, found Failed');
    expect(text).toContain('2 of 1,234 sampled requests failed');
    expect(text).toContain('/tmp/x/holdfast.log');
    expect(text).not.toContain('Try next');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test('never lets a message from outside move the cursor', () => {
    const lines = linesOf([...commits, state('Held', 'held: \u001b[2Jgone\nforged')]);
    expect(lines.join('\n')).not.toContain('\u001b');
    expect(lines.at(-1)).toContain('held:');
  });
});
