import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { expect } from 'vitest';
import { playPage } from '../examples/guide.ts';
import type { BuiltProgram } from '../sandbox/built-program.ts';
import type { Bed } from '../sandbox/holdfast-bed.ts';
import { programs } from './programs.ts';

const guides = resolve(import.meta.dirname, '../../docs/guides');

/** Where a guide is played: the sandbox of a test, and the program as it is built. */
export interface GuideStage {
  readonly bed: Bed;
  readonly built: BuiltProgram;
}

/**
 * The real kubectl. The sandbox takes neither protobuf, which `create` sends, nor serves the schemas by which `apply` checks what it sends.
 */
const kubectl = `
real() { ${programs.kubectl} --kubeconfig="$KUBECONFIG" "$@"; }
case " $* " in
  *" create "*) real "$@" --dry-run=client -o json | real create --validate=false -f - ;;
  *" apply "*) real "$@" --validate=false ;;
  *) real "$@" ;;
esac`;

/** Plays a page of docs/guides with the sandbox's Git server and seconds in place of half a minute. */
export async function playGuide(
  { bed, built }: GuideStage,
  name: string,
  replaced: Readonly<Record<string, string>> = {},
): Promise<void> {
  const page = await readFile(join(guides, `${name}.md`), 'utf8');
  await playPage(`docs/guides/${name}.md`, page, {
    holdfast: `exec ${process.execPath} ${built.folder}/dist/main.js "$@"`,
    kubectl,
    kubeconfigPath: bed.kubeconfigPath,
    kustomizePath: programs.kustomize,
    gitRoot: dirname(bed.kubeconfigPath),
    gitUrl: bed.git.url,
    adapt: (text) =>
      Object.entries({ 'interval: 30s': 'interval: 1s', ...replaced }).reduce(
        (result, [from, to]) => result.replaceAll(from, to),
        text,
      ),
  });
}

/** Makes an object, which must not be there. */
export async function make({ send }: Bed, path: string, body: object): Promise<void> {
  expect((await send('POST', path, body)).status).toBe(201);
}
