import type { KubernetesObject } from '../../api/kubernetes.ts';
import { type FormerOwner, isTrackOf } from './former-owner.ts';
import { type Track, tracksOn } from './tracks.ts';

/** Annotation that tells Holdfast to take over an object that another tool or Source tracks. */
export const adoptAnnotation = 'holdfast.dev/adopt';

/** Another tool that applies this object, in words for people. */
export type OtherOwner = Pick<Track, 'tool' | 'detail'>;

/**
 * Who else tracks the live object (design section 2.2). The manifest in Git may carry `holdfast.dev/adopt: "true"` to take it over; whose
 * objects the Source takes over (`former`) is nobody else.
 */
export function otherOwner(
  live: KubernetesObject,
  wanted: KubernetesObject,
  former?: FormerOwner,
): OtherOwner | undefined {
  if (adopts(live) || adopts(wanted)) return undefined;
  return tracksOn(live).find((track) => !former || !isTrackOf(track, former));
}

function adopts(object: KubernetesObject): boolean {
  const value = object.metadata.annotations?.[adoptAnnotation];
  return value !== undefined && value !== 'false';
}
