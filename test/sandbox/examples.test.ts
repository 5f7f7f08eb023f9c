import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { validate } from '../../src/review/validate/validate.ts';
import { outputPattern, stepsOf } from '../examples/readme.ts';

const examples = resolve(import.meta.dirname, '../../examples');
const main = resolve(import.meta.dirname, '../../dist/main.js');
const names = readdirSync(examples, { withFileTypes: true })
  // Pipelines are no manifests; test/examples/ci.test.ts runs them.
  .filter((entry) => entry.isDirectory() && entry.name !== 'ci')
  .map(({ name }) => name);

/** These need programs, which the suite `programs` builds. */
const built = ['helm', 'kustomize'];

describe.each(names.filter((name) => !built.includes(name)))('the example %s', (name) => {
  const folder = join(examples, name);
  const steps = stepsOf(readFileSync(join(folder, 'README.md'), 'utf8'));
  const validations = steps.filter(({ commands }) => commands.startsWith('holdfast validate '));

  test('has nothing that Holdfast would refuse, doubt or leave undone', async () => {
    const { findings, objects } = await validate({ paths: [folder], strict: true });
    expect(findings).toEqual([]);
    expect(objects).toBeGreaterThan(2);
  });

  test('validates as its README says', async () => {
    expect(validations.length).toBeGreaterThan(0);
    for (const { commands, output = '' } of validations) {
      const args = commands.trim().split(' ').slice(1);
      expect(await holdfast(folder, args)).toMatch(outputPattern(output));
    }
  });

  test('keeps to its namespace and repository', () => {
    const source = readFileSync(join(folder, 'source.yaml'), 'utf8');
    expect(source).toContain(`https://git.example.com/acme/${name}.git`);
    expect(source).toContain(`defaultNamespace: ${name}`);
  });
});

test('the index of examples names each of them', () => {
  const index = readFileSync(join(examples, 'README.md'), 'utf8');
  expect(names.filter((name) => !index.includes(`(${name}/README.md)`))).toEqual([]);
});

/** Output of the built program, whatever its exit code. */
function holdfast(cwd: string, args: readonly string[]): Promise<string> {
  return new Promise((done) => {
    execFile(process.execPath, [main, ...args], { cwd }, (_error, stdout, stderr) => done(stdout + stderr));
  });
}
