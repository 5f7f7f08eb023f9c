/** Longest pointer that Git LFS itself takes for one. */
const MAX_POINTER_BYTES = 1024;
const POINTER = /^version https:\/\/(git-lfs|hawser)\.github\.com\/spec\//;

/** What to tell about a pointer, after its path. */
export const lfsPointer =
  'is a pointer of Git LFS, whose content is not in the repository; keep the file in Git itself';

/** Whether a file stands for one that Git LFS keeps elsewhere: read as what it says, it would be nonsense. */
export function isLfsPointer(bytes: Uint8Array): boolean {
  if (bytes.length > MAX_POINTER_BYTES) return false;
  return POINTER.test(Buffer.from(bytes).toString('latin1'));
}
