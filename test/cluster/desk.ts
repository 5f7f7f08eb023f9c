import { join, resolve } from 'node:path';
import { bedVersion } from '../examples/bed-version.ts';
import type { Desk } from '../examples/guide.ts';
import type { BedClient } from './bed/client.ts';

const main = resolve(import.meta.dirname, '../../dist/main.js');

/**
 * The desk of a person who plays a page on the bed, with repositories of its own below `name`. Others work on the same cluster, so Holdfast may
 * see single namespaces only: they are there before a page makes them, and `installOptions` go to each `holdfast install`.
 */
export function bedDesk(
  bed: BedClient,
  name: string,
  { kustomizePath = '', installOptions = [] as readonly string[] } = {},
): Desk {
  const holdfast = `exec ${process.execPath} ${main}`;
  const kubectl = `exec ${bed.kubectlPath} --kubeconfig="$KUBECONFIG"`;
  return {
    holdfast: `
case "$1" in
  install) shift; ${holdfast} install ${installOptions.join(' ')} "$@" ;;
  *) ${holdfast} "$@" ;;
esac`,
    kubectl: `
case "$1 $2" in
  "create namespace") shift 2; ${kubectl} get namespace "$@" ;;
  *) ${kubectl} "$@" ;;
esac`,
    kubeconfigPath: bed.kubeconfigPath,
    kustomizePath,
    gitRoot: join(bed.gitRoot, name),
    gitUrl: `${bed.gitBaseUrl}/${name}`,
    adapt: (text) => bedVersion(text, bed),
  };
}
