import { gunzipSync, gzipSync } from 'node:zlib';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { limits } from '../api/limits.ts';
import { canonicalJson, isRecord } from './json.ts';
import type { Release } from './release.ts';
import { isService } from './service-content.ts';

/** Layout of the JSON in a record; another one is refused, not guessed. */
const layout = 1;

/** The release as gzip of canonical JSON: equal releases give equal bytes. Undefined when it is larger than can be kept. */
export function packRelease(release: Release): Buffer | undefined {
  const json = Buffer.from(canonicalJson({ layout, release }));
  if (json.length > limits.recordBytes) return undefined;
  const packed = gzipSync(json, { level: 9 });
  // Byte 9 names the operating system in a gzip header; 255 is "unknown".
  packed[9] = 255;
  return packed;
}

/** Bytes of a release as a record would hold it, before compression. */
export function releaseBytes(release: Release): number {
  return Buffer.byteLength(canonicalJson({ layout, release }));
}

/** The release in a record's bytes, or why they hold none. The reason never quotes the content (S31). */
export function unpackRelease(
  packed: Uint8Array,
): { ok: Release; problem?: never } | { ok?: never; problem: string } {
  let content: unknown;
  try {
    content = JSON.parse(gunzipSync(packed, { maxOutputLength: limits.recordBytes }).toString('utf8'));
  } catch {
    return { problem: 'its bytes are damaged (no gzip of JSON)' };
  }
  if (!isRecord(content) || content.layout !== layout)
    return { problem: 'it has a layout this version does not know' };
  return isRelease(content.release) ? { ok: content.release } : { problem: 'it lacks fields of a release' };
}

function isRelease(value: unknown): value is Release {
  if (!isRecord(value) || typeof value.digest !== 'string') return false;
  const { canary, target, commit, ports, configs, liveConfigs, origins } = value;
  if (!isRecord(canary) || typeof canary.name !== 'string' || typeof canary.namespace !== 'string')
    return false;
  if (!isRecord(commit) || !isRecord(target) || !isRecord(target.metadata) || !isRecord(target.spec))
    return false;
  if (!isService(target as unknown as KubernetesObject) && !isRecord(target.spec.template)) return false;
  if (!Array.isArray(configs) || !configs.every((object) => isRecord(object) && isRecord(object.metadata)))
    return false;
  return [ports, liveConfigs, origins].every((list) => Array.isArray(list));
}
