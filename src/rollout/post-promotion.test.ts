import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { type Cause, causes, type EndedBy } from '../health/causes.ts';
import { autoDecision } from './post-promotion.ts';

const page = resolve(import.meta.dirname, '../../docs/guides/diagnosis.md');

const endedBy: Readonly<Record<EndedBy, string>> = {
  itself: 'nobody',
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
    '# Why a primary does not come up',
    '',
    'A release has passed its analysis, the primary was written, and it does not take the release over. Holdfast compares what must be true',
    'of the primary with what is, takes the worst fault of its pods for the cause, and looks whether the canary, which runs the same release,',
    'shows it too. `holdfast explain canary/NAME` prints the comparison, the cause with its evidence, the decision and what comes next;',
    '`--what-if cause=NAME` plays a row of this table on your Canary, `--what-if onFailure=revert` another policy. It writes nothing and asks',
    'neither Git nor metrics. `holdfast diff canary/NAME` names every field that differs. Made from `src/health/causes.ts`.',
    '',
    '| cause | what it is | recognised by | who ends it | what to do | `auto`, canary healthy | `auto`, canary shows it too |',
    '|---|---|---|---|---|---|---|',
    ...Object.keys(causes).map((cause) => rowOf(cause as Cause)),
    '',
    'The rest of `onFailure` does not depend on the cause:',
    '',
    '| | the primary does not come up | its checks fail with all traffic on it |',
    '|---|---|---|',
    '| `auto` | as above; without a ready canary of the same release: revert at the deadline | revert at once |',
    '| `hold` | hold without end; the promotion goes on when the primary heals | hold |',
    '| `revert` | revert at the deadline | revert at once |',
    '| `halt` | hold; templates, config and replicas stand still | hold |',
    '',
    'The deadline is `postPromotion.progressDeadlineSeconds` without progress: no further pod made, or ready for the first time, and no old',
    'one gone. A primary that was ready and loses its readiness with all traffic on it counts as a failed check that needs no second opinion.',
    'The common rows are played on a real control plane (`test/cluster/scenarios/causes.test.ts`). Its nodes run processes and no containers:',
    'an init container that fails and one that is killed for its memory are played on the sandbox, whose pods report them as a kubelet does',
    '(`test/sandbox/causes.test.ts`).',
    '',
    'How to set deadlines and thresholds: [failed-promotion.md](failed-promotion.md#time-limits-and-thresholds).',
    '',
  ].join('\n');
}

it('docs/guides/diagnosis.md is the table of causes (UPDATE_DOCS=1 writes it)', () => {
  if (process.env.UPDATE_DOCS) writeFileSync(page, render());
  expect(readFileSync(page, 'utf8')).toBe(render());
});
