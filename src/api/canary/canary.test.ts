import { describe, expect, test } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import { parseCanary, parseKind } from '../kinds/parse.ts';
import { limits } from '../limits.ts';
import { postPromotionAnnotation } from './canary.ts';

function annotated(text: string, spec: Record<string, unknown> = {}) {
  return canaryDocument(spec, { annotations: { [postPromotionAnnotation]: text } });
}

describe('postPromotion as an annotation', () => {
  test('is read as if it stood in the spec', () => {
    const parsed = parseCanary(annotated('onFailure: revert\nsuccessThreshold: 3\n'));
    expect(parsed.ok && parsed.value.spec.postPromotion).toEqual({
      onFailure: 'revert',
      successThreshold: 3,
    });
  });

  test('gives way to the field', () => {
    const parsed = parseCanary(annotated('onFailure: revert', { postPromotion: {} }));
    expect(parsed.ok && parsed.value.spec.postPromotion).toEqual({});
  });

  test.each([
    ['onFailure: pray', /\.onFailure "pray" is not one of auto, hold, revert, halt, manual$/],
    ['[', /cannot be read as YAML$/],
    ['just words', /must be an object, is a string$/],
    ['a: &x [1]\nb: *x', /cannot be read as YAML$/],
    ['x'.repeat(limits.postPromotionAnnotationBytes + 1), /is too long$/],
  ])('stops the Canary when it is wrong (%#)', (text, expected) => {
    const parsed = parseKind('Canary', annotated(text));
    const problems = parsed.ok ? [] : parsed.problems;
    expect(problems.map(({ path, message }) => `${path} ${message}`)).toEqual([
      expect.stringMatching(expected),
    ]);
  });
});
