import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  canaryText,
  configText,
  deploymentText,
  type PlanBed,
  planBed,
  sourceText,
} from '../../review/plan/plan.test-support.ts';
import { runProgram } from '../commands.ts';

let bed: PlanBed;
let stdout: string;

beforeEach(() => {
  bed = planBed();
  stdout = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  bed.close();
});

const plan = (...argv: string[]) =>
  runProgram(['plan', '--repo', bed.folder, '--base', 'HEAD^', '--head', 'HEAD', ...argv], '1.2.3');

describe('plan --fail-on changes', () => {
  it('lets a commit pass that changes nothing, though base is not what runs', async () => {
    const web = (image: string) => ({ 'apps/web.yaml': deploymentText(image) });
    const promoted = bed.repository.commit({
      ...web('shop/web:1'),
      'sources/shop.yaml': sourceText(),
      'apps/canary.yaml': canaryText(),
      'apps/settings.json': configText('ConfigMap', 'settings', { level: 'info' }),
    });
    bed.repository.git('update-ref', 'refs/holdfast/prod/shop/web/lkg', promoted);
    bed.repository.commit(web('shop/web:2'));
    bed.repository.commit({ 'README.md': 'hello' });

    expect(await plan('--fail-on', 'changes')).toBe(0);
    expect(stdout).toMatch(/^nothing changes$/m);
    expect(stdout).toContain('base is not what runs');
  });

  it.each(['text', 'markdown'] as const)(
    'stops a commit that changes the Source alone, and names it as %s',
    async (output) => {
      bed.repository.commit({ 'sources/shop.yaml': sourceText() });
      bed.repository.commit({ 'sources/shop.yaml': sourceText('  interval: 5m\n') });

      expect(await plan('--fail-on', 'changes', '-o', output)).toBe(1);
      expect(stdout).toContain('no object changes; 1 Source changed');
      expect(stdout).toContain('Source delivery/shop (apps), the Source itself is changed');
    },
  );
});
