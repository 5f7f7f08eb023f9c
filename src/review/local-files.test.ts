import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { limits } from '../api/limits.ts';
import { readLocalFiles } from './local-files.ts';

it('says once that there are more manifests than are read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-local-'));
  try {
    for (let index = 0; index < limits.sourceFiles + 10; index += 1)
      writeFileSync(join(folder, `${index}.yaml`), '');
    const { files, problems } = await readLocalFiles([folder]);

    expect(files).toHaveLength(limits.sourceFiles + 1);
    expect(problems).toEqual([
      {
        file: folder,
        line: 0,
        message: `there are more than ${limits.sourceFiles} manifests, of which the others are not read; choose a smaller path`,
      },
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
