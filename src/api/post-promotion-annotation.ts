/** `spec.postPromotion` as an annotation, for clusters where Flagger's own CRD prunes the field (design section 2.3). */
import { parse as parseYaml } from 'yaml';
import type { Canary } from './canary.ts';
import { limits } from './limits.ts';
import { postPromotionSchema } from './post-promotion.ts';
import { type Problem, problemOf } from './problems.ts';

/** The annotation's key; its value is the YAML that would stand under spec.postPromotion. */
export const postPromotionAnnotation = 'holdfast.dev/post-promotion';

const at = ['metadata', 'annotations', postPromotionAnnotation];
const atText = `metadata.annotations[${JSON.stringify(postPromotionAnnotation)}]`;

/** The Canary with the annotation moved to spec.postPromotion. A field in the spec wins: the annotation is then unread. */
export function withAnnotatedPostPromotion(canary: Canary): { canary: Canary; problems: Problem[] } {
  const text = canary.metadata.annotations?.[postPromotionAnnotation];
  if (text === undefined || canary.spec.postPromotion) return { canary, problems: [] };
  if (Buffer.byteLength(text) > limits.postPromotionAnnotationBytes)
    return { canary, problems: [{ path: atText, message: 'is too long' }] };
  const value = readYaml(text);
  if (value === undefined) return { canary, problems: [{ path: atText, message: 'cannot be read as YAML' }] };
  const parsed = postPromotionSchema.safeParse(value);
  if (parsed.success)
    return { canary: { ...canary, spec: { ...canary.spec, postPromotion: parsed.data } }, problems: [] };
  return { canary, problems: parsed.error.issues.map((issue) => problemOf(issue, value, at)) };
}

function readYaml(text: string): unknown {
  try {
    return parseYaml(text, { maxAliasCount: 0, logLevel: 'error' });
  } catch {
    return undefined;
  }
}
