import { annotationPrefix } from '../api/annotations.ts';
import { beginningOf } from '../api/limits.ts';
import type { World } from './world.ts';

/** A request by annotation that has not been handled yet: `<commit or digest>[@anything]`. */
export interface Request {
  readonly verb: string;
  /** The annotation's whole value, cut to what the status can hold. */
  readonly value: string;
  /** The part before the `@`: a commit or a digest. */
  readonly revision: string;
}

const MAX_VALUE_CHARACTERS = 512;
const MIN_COMMIT_CHARACTERS = 7;

/** The request of a verb, unless it was handled already. */
export function requestOf(world: World, verb: string): Request | undefined {
  const given = world.canary.metadata.annotations?.[annotationPrefix + verb];
  const value = given && beginningOf(given, MAX_VALUE_CHARACTERS);
  if (!value || world.status.handled?.[verb] === value) return undefined;
  return { verb, value, revision: value.split('@')[0] ?? '' };
}

/** Whether the request names this release. A commit may be shortened to seven characters or more, a digest may not. */
export function namesRelease(request: Request, release: { digest: string; commit: string }): boolean {
  const { revision } = request;
  if (revision === release.digest) return true;
  return revision.length >= MIN_COMMIT_CHARACTERS && release.commit.startsWith(revision);
}
