/** What is known of one object. What is `progressing` may come to work by itself, what has `failed` does not. */
export type Health =
  | { readonly kind: 'healthy' }
  | { readonly kind: 'progressing' | 'failed'; readonly why: string };

/** It works, or there is nothing that could tell otherwise. */
export const healthy: Health = { kind: 'healthy' };
