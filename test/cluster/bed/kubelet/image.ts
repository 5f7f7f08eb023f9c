import { createHash } from 'node:crypto';

/** What the bed does with an image, told by its repository. */
export type ImageBehaviour =
  | 'app'
  | 'denied'
  | 'fake'
  | 'holdfast'
  | 'knative'
  | 'missing'
  | 'slow'
  | 'unknown'
  | 'unreachable';

const namedBehaviours = ['denied', 'fake', 'missing', 'slow', 'unreachable'] as const;

/** As Knative's manifests name its programs, which are built from source. */
const knativeImage = /^ko:\/\/knative\.dev\/([a-z-]+)\/cmd\/([a-z]+)$/;

/** Holdfast as it was built last, under every tag. */
const holdfastRepository = 'registry.example.com/holdfast';

/**
 * `fake/*` is Ready at once without a process; `slow/*` is pulled for SLOW_PULL_MS, or until SLOW_PULL_FILE is there, and then runs; any
 * repository that ends in `app` runs the bed's program; `registry.example.com/holdfast` is Holdfast's own image, and `ko://knative.dev/MODULE/cmd/PROGRAM` a program of Knative. The rest can never be pulled: `denied/*` may not be, the registry of
 * `unreachable/*` does not answer, `missing/*` and anything else does not exist.
 */
export function behaviourOf(image: string): ImageBehaviour {
  const { repository } = splitImage(image);
  const first = repository.split('/')[0];
  const named = namedBehaviours.find((behaviour) => behaviour === first);
  if (named) return named;
  if (repository === holdfastRepository) return 'holdfast';
  if (knativeImage.test(repository)) return 'knative';
  return repository.split('/').at(-1) === 'app' ? 'app' : 'unknown';
}

/** Of an image of Knative: `MODULE/PROGRAM`. */
export function knativeProgram(image: string): string {
  return image.replace(knativeImage, '$1/$2');
}

/** What containerd says when it cannot pull the image; undefined for one that it can. */
export function pullError(image: string): string | undefined {
  const failed = `failed to pull and unpack image "${image}": `;
  const unresolved = `${failed}failed to resolve reference "${image}": `;
  switch (behaviourOf(image)) {
    case 'missing':
    case 'unknown':
      return `${failed}not found`;
    case 'denied':
      return `${unresolved}pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`;
    case 'unreachable':
      return `${unresolved}failed to do request: Head "https://registry.example.com/v2/": dial tcp 192.0.2.1:443: i/o timeout`;
    default:
      return undefined;
  }
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
