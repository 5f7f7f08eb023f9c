import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reportText } from '../../src/cli/review/validate.ts';
import { validate } from '../../src/review/validate/validate.ts';
import { outputPattern, stepsOf } from '../examples/readme.ts';
import { programs } from './programs.ts';

const examples = resolve(import.meta.dirname, '../../examples');

describe.each(['kustomize', 'helm'])('the example %s', (name) => {
  test('validates as its README says', async () => {
    const folder = join(examples, name);
    const [step] = stepsOf(readFileSync(join(folder, 'README.md'), 'utf8'));
    const [, , ...paths] = step?.commands.trim().split(' ') ?? [];
    const validation = await validate({
      paths: paths.map((path) => join(folder, path)),
      strict: true,
      programs,
    });
    const { stdout } = reportText(validation, { columns: 80, colour: false });
    expect(stdout).toMatch(outputPattern(step?.output ?? ''));
  });
});
