/** The root file system that the Dockerfile describes, in a plain folder with the Node of this machine, and programs started in it. */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const source = resolve(import.meta.dirname, '..');
const finalStage =
  readFileSync(join(source, 'Dockerfile'), 'utf8')
    .split(/^FROM /m)
    .at(-1) ?? '';

/** Every value of an instruction of the final stage. */
function instruction(name: string): string[] {
  return finalStage
    .split('\n')
    .flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));
}

const [uid = '', gid = ''] = (instruction('USER')[0] ?? '').split(':');
const [workFolder = ''] = instruction('WORKDIR');

/** What the final stage says of how the image is run. */
export const image = {
  entrypoint: JSON.parse(instruction('ENTRYPOINT')[0] ?? '[]') as readonly string[],
  command: JSON.parse(instruction('CMD')[0] ?? '[]') as readonly string[],
  environment: Object.fromEntries(
    instruction('ENV').flatMap((line) => line.split(' ').map((pair) => pair.split('='))),
  ) as Readonly<Record<string, string>>,
};

/** Where containers find the token of their service account. */
export const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Fills the folder `root`. `folder` is one of the built program's, with LICENSE and dist; kustomize and helm are paths of the programs. */
export async function assembleImage(
  root: string,
  folder: string,
  programs: { readonly kustomize: string; readonly helm: string },
): Promise<void> {
  const script = join(source, 'scripts/image-root.sh');
  await promisify(execFile)('sh', [script, root, folder, process.execPath]);
  for (const name of ['kustomize', 'helm'] as const)
    copyFileSync(programs[name], join(root, 'usr/local/bin', name));
  for (const mountPoint of ['proc', 'dev', 'data', accountFolder])
    mkdirSync(join(root, mountPoint), { recursive: true });
  writeFileSync(join(root, 'dev/null'), '');
}

/** As a runtime of containers does: /proc, /dev/null, what is mounted, all else read-only; then the user of the image, who has no rights. */
const inside = `
set -e
image=$1; root=$2; shift 2
mount --rbind /proc "$image/proc"
mount --bind /dev/null "$image/dev/null"
mount --bind "$image" "$root" && mount --bind -o remount,ro,nosuid,nodev,bind "$root"
mount --rbind /proc "$root/proc" && mount --bind /dev/null "$root/dev/null"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done
shift
exec unshare --user --map-user=${uid} --map-group=${gid} --root="$root" --wd=${workFolder} -- "$@"
`;

/**
 * The command that runs `words` in an assembled image. `emptyFolder` is where it is mounted; `mounts` are folders of this machine by the place
 * where the container has them.
 */
export function inImage(
  root: string,
  emptyFolder: string,
  mounts: Readonly<Record<string, string>>,
  words: readonly string[],
): readonly [program: string, args: readonly string[]] {
  const own = ['--user', '--map-root-user', '--mount', '--', 'sh', '-c', inside, 'sh'];
  const mounted = Object.entries(mounts).flatMap(([place, folder]) => [folder, place]);
  return ['unshare', [...own, root, emptyFolder, ...mounted, '--', ...words]];
}
