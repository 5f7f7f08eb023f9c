import { createHash, randomBytes } from 'node:crypto';

/** The characters of generated names in Kubernetes: no vowels, and no digits that look like one. */
const letters = 'bcdfghjklmnpqrstvwxz2456789';

/** Five random letters, as at the end of a pod's name. */
export function randomSuffix(): string {
  return lettersOf(randomBytes(5));
}

/** The hash of a template, as in the name of a ReplicaSet. */
export function templateHash(template: unknown): string {
  return lettersOf(createHash('sha256').update(JSON.stringify(template)).digest().subarray(0, 10));
}

function lettersOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => letters[byte % letters.length]).join('');
}
