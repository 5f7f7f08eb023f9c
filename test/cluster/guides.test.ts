/** Guides for many namespaces, played by a shell on the bed; test/programs plays others, which need nothing of a real cluster. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { buildModule } from '../../scripts/programs-build.mjs';
import { playPage } from '../examples/guide.ts';
import { imageOf } from '../objects.ts';
import { type BedClient, useBed } from './bed/client.ts';
import { bedDesk } from './desk.ts';
import { createProgram } from './scenarios/program.ts';

const bed: BedClient = useBed();
const guides = resolve(import.meta.dirname, '../../docs/guides');

async function play(name: string, namespaces: readonly string[]): Promise<void> {
  const { kustomize = '' } = await buildModule('programs/kustomize');
  for (const namespace of namespaces) await bed.createNamespace(namespace);
  const program = createProgram(bed, namespaces, undefined, {}, { HOLDFAST_KUSTOMIZE: kustomize });
  program.start();
  await program.url();
  try {
    const page = await readFile(join(guides, `${name}.md`), 'utf8');
    await playPage(`docs/guides/${name}.md`, page, bedDesk(bed, name, { kustomizePath: kustomize }));
  } finally {
    await program.stop();
  }
}

describe.concurrent('a guide', () => {
  test('environments', async () => {
    await play('environments', ['shop-staging', 'shop-production']);
    for (const namespace of ['shop-staging', 'shop-production'])
      expect(imageOf(await bed.readObject('Deployment', namespace, 'web-primary'))).toBe('app:6.9.1');
  });

  test('app-of-apps', async () => {
    await play('app-of-apps', ['delivery', 'team-shop', 'team-blog']);
    expect(await bed.readObject('ConfigMap', 'team-blog', 'settings')).toBeUndefined();
  });
});
