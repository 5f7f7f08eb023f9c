import { describe, type KubernetesObject } from '../api/kubernetes.ts';
import { limits } from '../api/limits.ts';
import { releaseBytes } from './record-payload.ts';
import type { Release } from './release.ts';

/** Why a release cannot be kept: its size and its biggest object by name. Undefined when it can. */
export function tooLarge(release: Release): string | undefined {
  const bytes = releaseBytes(release);
  if (bytes <= limits.recordBytes) return undefined;
  const [biggest] = [release.target, ...release.configs]
    .map((object) => ({ object, size: sizeOf(object) }))
    .sort((left, right) => right.size - left.size);
  const { namespace, name } = release.canary;
  const about = biggest ? `, ${inMebibytes(biggest.size)} of it ${describe(biggest.object)}` : '';
  return `the release of Canary ${namespace}/${name} has ${inMebibytes(bytes)}${about}; no more than ${inMebibytes(limits.recordBytes)} can be kept to return to: take large ConfigMaps or Secrets out of its pod template`;
}

function sizeOf(object: KubernetesObject): number {
  return Buffer.byteLength(JSON.stringify(object));
}

function inMebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
