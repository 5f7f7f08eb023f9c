import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { validate } from '../review/validate/validate.ts';
import { reportText } from './review/validate.ts';
import { wrongCanaries } from './wrong-inputs/canaries.test-support.ts';
import { wrongOthers } from './wrong-inputs/others.test-support.ts';
import { wrongWorkloads } from './wrong-inputs/workloads.test-support.ts';

const files = [...wrongCanaries, ...wrongWorkloads, ...wrongOthers];
const valid: Readonly<Record<string, string>> = {
  ...Object.fromEntries(files.map(({ file, valid }) => [file, valid])),
  'compose.yaml': 'services:\n  web: {image: web}\n',
};

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-wrong-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function linesOf(files: Readonly<Record<string, string>>): Promise<string[]> {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { stdout } = reportText(await validate({ paths: [folder] }), { columns: 80, colour: false });
  return stdout.replaceAll(`${folder}/`, '').trim().split('\n');
}

it('has nothing to say about a valid repository, and leaves YAML of other tools alone', async () => {
  expect(await linesOf(valid)).toEqual(['no problems in 7 objects of 7 files; 1 other file ignored']);
});

describe.each(files)('$file', ({ file, valid: text, slips }) => {
  it.each(slips)('with %j as %j', async (found, replaced, expected) => {
    expect(text.split(found)).toHaveLength(2);

    const lines = await linesOf({ ...valid, [file]: text.replace(found, replaced) });

    const shortened = lines.map((line) =>
      line.replace(/is not one of .*; did you mean/, 'is not one of …; did you mean'),
    );
    expect(shortened.slice(0, -1)).toEqual(expected);
  });
});
