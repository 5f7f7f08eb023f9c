import { createHash } from 'node:crypto';

/** What the bed does with an image, told by its repository. */
export type ImageBehaviour = 'app' | 'fake' | 'missing' | 'slow' | 'unknown';

/**
 * `fake/*` is Ready at once without a process; `missing/*` can never be pulled; `slow/*` is pulled for SLOW_PULL_MS and then runs;
 * any repository that ends in `app` runs the bed's program; anything else cannot be pulled either.
 */
export function behaviourOf(image: string): ImageBehaviour {
  const { repository } = splitImage(image);
  const first = repository.split('/')[0];
  if (first === 'fake' || first === 'missing' || first === 'slow') return first;
  return repository.split('/').at(-1) === 'app' ? 'app' : 'unknown';
}

/** Repository and tag (`latest` when there is none); a digest is left out. */
export function splitImage(image: string): { readonly repository: string; readonly tag: string } {
  const name = image.split('@')[0] ?? image;
  const slash = name.lastIndexOf('/');
  const colon = name.lastIndexOf(':');
  return colon > slash
    ? { repository: name.slice(0, colon), tag: name.slice(colon + 1) }
    : { repository: name, tag: 'latest' };
}

/** The imageID of a pulled image: the digest it names itself, or one made from its name. */
export function imageId(image: string): string {
  const { repository } = splitImage(image);
  const digest = image.split('@')[1] ?? `sha256:${createHash('sha256').update(image).digest('hex')}`;
  return `${repository}@${digest}`;
}
