import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { type Cause, causes, type EndedBy } from '../health/causes.ts';
import { autoDecision } from './post-promotion.ts';

const page = resolve(import.meta.dirname, '../../docs/guides/diagnosis.md');

const endedBy: Readonly<Record<EndedBy, string>> = {
  itself: 'nobody: it recovers',
  cluster: 'whoever runs the cluster',
  release: 'the author of the release',
};

function rowOf(cause: Cause): string {
  const row = causes[cause];
  const { canaryHealthy, canaryToo } = autoDecision(cause);
  const cells = [cause, row.title, row.recognised, endedBy[row.endedBy], row.fix, canaryHealthy, canaryToo];
  return `| ${cells.join(' | ')} |`;
}

function render(): string {
  return [
    '# Why a primary does not become ready',
    '',
    'A release has passed its analysis, the primary was written, and it does not become ready. Holdfast compares the expected state of the',
    'primary with the actual one, takes the worst fault of its pods as the cause, and checks whether the canary, which runs the same release,',
    'shows it too. `holdfast explain canary/NAME` prints the comparison, the cause with its evidence, the decision and what happens next.',
    '`--what-if cause=NAME` tries a row of this table on your Canary, `--what-if onFailure=revert` another policy. It writes nothing and queries',
    'neither Git nor metrics. `holdfast diff canary/NAME` names every field that differs. Generated from `src/health/causes.ts`.',
    '',
    '| cause | what it is | recognised by | who can fix it | what to do | `auto`, canary healthy | `auto`, canary shows it too |',
    '|---|---|---|---|---|---|---|',
    ...Object.keys(causes).map((cause) => rowOf(cause as Cause)),
    '',
    'The rest of `onFailure` does not depend on the cause:',
    '',
    '| | the primary does not become ready | its checks fail with all traffic on it |',
    '|---|---|---|',
    '| `auto` | as above; without a ready canary of the same release: revert at the deadline | revert at once |',
    '| `hold` | hold without a deadline; the promotion continues when the primary recovers | hold |',
    '| `revert` | revert at the deadline | revert at once |',
    '| `manual` | hold; templates, config and replicas are not written | hold |',
    '',
    'The deadline is `postPromotion.progressDeadlineSeconds` without progress: no new pod was created or became ready for the first time, and',
    'no old one is gone. A primary that was ready and loses readiness with all traffic on it counts as a failed check at once, whatever the',
    'threshold. What scheduler, quotas and admission do is tested on a real control plane (`test/cluster/scenarios/causes.test.ts`); what pods',
    'do in the sandbox, whose pods report it as a kubelet does (`test/sandbox/scenarios/causes.test.ts`, `test/sandbox/causes.test.ts`).',
    '',
    'How to set deadlines and thresholds: [failed-promotion.md](failed-promotion.md#time-limits-and-thresholds).',
    '',
  ].join('\n');
}

it('docs/guides/diagnosis.md is the table of causes (UPDATE_DOCS=1 writes it)', () => {
  if (process.env.UPDATE_DOCS) writeFileSync(page, render());
  expect(readFileSync(page, 'utf8')).toBe(render());
});
