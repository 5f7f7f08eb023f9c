import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  canaryText,
  configText,
  deploymentText,
  type PlanBed,
  planBed,
  sourceText,
} from '../../src/review/plan/plan.test-support.ts';
import { commentMark } from '../../src/review/plan/report-markdown.ts';
import { run } from '../sandbox/cli-run.ts';

const examples = resolve(import.meta.dirname, '../../examples/ci');
const textOf = (path: string) => readFileSync(join(examples, path), 'utf8');

interface Workflow {
  readonly jobs: {
    readonly plan: { readonly container: string; readonly steps: ReadonlyArray<{ run?: string }> };
  };
}

interface Pipeline {
  readonly holdfast: { readonly image: string; readonly script: readonly string[] };
}

/** What each pipeline runs of ours. */
function commandsOf(name: 'github' | 'gitlab'): string[] {
  const { jobs } = (
    name === 'github' ? parse(textOf('github/holdfast.yaml')) : { jobs: undefined }
  ) as Partial<Workflow>;
  const lines = jobs
    ? jobs.plan.steps.flatMap((step) => (step.run ?? '').split('\n'))
    : (parse(textOf('gitlab/.gitlab-ci.yml')) as Pipeline).holdfast.script;
  return lines.map((line) => line.trim()).filter((line) => line.startsWith('holdfast '));
}

let bed: PlanBed;

beforeAll(() => {
  bed = planBed();
  const source = sourceText().replace('./apps', './clusters/prod');
  const settings = configText('ConfigMap', 'settings', { level: 'info' });
  bed.repository.commit({
    'sources/shop.yaml': source,
    'clusters/prod/web.yaml': deploymentText('shop/web:1'),
    'clusters/prod/canary.yaml': canaryText(),
    'clusters/prod/settings.json': settings,
  });
  bed.repository.commit({ 'clusters/prod/web.yaml': deploymentText('shop/web:2') });
});

afterAll(() => bed.close());

/** The words of a command as a shell would have them in that pipeline, its output not redirected. */
function argvOf(command: string): string[] {
  const variables: Readonly<Record<string, string>> = {
    CI_MERGE_REQUEST_DIFF_BASE_SHA: bed.repository.git('rev-parse', 'HEAD^'),
    CI_COMMIT_SHA: bed.repository.git('rev-parse', 'HEAD'),
  };
  const [line = ''] = command.split(' > ');
  const words = line
    .replace(/"\$(\w+)"/g, (_, name: string) => variables[name] ?? `unknown ${name}`)
    .split(' ');
  const placed = words.slice(1).map((word) => (word === 'clusters/prod' ? join(bed.folder, word) : word));
  return placed[0] === 'plan' ? [...placed, '--repo', bed.folder] : placed;
}

describe.each(['github', 'gitlab'] as const)('the pipeline for %s', (name) => {
  test('runs commands that the program takes, and gets a comment', async () => {
    const commands = commandsOf(name);
    expect(commands.map((command) => command.split(' ')[1])).toEqual(['validate', 'plan']);
    for (const command of commands) {
      const { code, text } = await run(...argvOf(command));
      expect(code, text).toBe(0);
      if (command.includes(' plan '))
        expect(text).toMatch(new RegExp(`^${commentMark}[\\s\\S]*a rollout starts`));
    }
  });

  test('finds its comment by the mark that the plan begins with', () => {
    const text = textOf(name === 'github' ? 'github/holdfast.yaml' : 'gitlab/.gitlab-ci.yml');
    expect(text).toContain(commentMark);
  });
});

test('both run in the image that the Dockerfile beside them makes', () => {
  const { jobs } = parse(textOf('github/holdfast.yaml')) as Workflow;
  const { holdfast } = parse(textOf('gitlab/.gitlab-ci.yml')) as Pipeline;
  const [, image = ''] = /docker build -t (\S+) \./.exec(textOf('Dockerfile')) ?? [];
  expect([jobs.plan.container, holdfast.image]).toEqual([image, image]);
});

test('their image holds the whole program, whose parts are files of their own', () => {
  const copied = [...textOf('Dockerfile').matchAll(/^COPY --from=holdfast (\/app\S*) (\S+)$/gm)].map(
    ([, from, to]) => [from, to],
  );
  expect(copied).toEqual([['/app', '/app']]);
});
