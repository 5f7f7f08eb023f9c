import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { renderPlain } from '../../src/render/render.ts';

/** Folder of documents that together use every field of Flagger's kinds. */
export const flaggerFieldsFolder = join(import.meta.dirname, 'flagger-fields');

/** Objects of one of its files, or of all; `change` may put other addresses in. */
export function flaggerFields(
  file?: string,
  change: (text: string) => string = (text) => text,
): KubernetesObject[] {
  const names = readdirSync(flaggerFieldsFolder).filter((name) => name.endsWith('.yaml'));
  const files = names
    .filter((name) => file === undefined || name === file)
    .map((name) => ({
      path: name,
      bytes: Buffer.from(change(readFileSync(join(flaggerFieldsFolder, name), 'utf8'))),
    }));
  const { objects, problems } = renderPlain(files);
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return objects.map(({ object }) => object);
}
