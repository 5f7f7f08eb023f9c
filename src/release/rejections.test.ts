import { expect, test } from 'vitest';
import { decodeRejections, encodeRejections, type Rejection, rejectionsName } from './rejections.ts';

const canary = { namespace: 'shop', name: 'pay' };

function rejection(index: number, digest = `v1:${index}`): Rejection {
  const time = new Date(Date.UTC(2026, 10, 1) + index * 60_000).toISOString();
  return { digest, commit: String(index).padStart(40, '0'), reason: 'PostPromotionFailed', time };
}

test('rejections are read back newest first', () => {
  const secret = encodeRejections(canary, [rejection(1), rejection(3), rejection(2)]);
  expect(secret.metadata).toMatchObject({ name: rejectionsName(canary), namespace: 'shop' });
  expect(decodeRejections(secret)).toEqual([rejection(3), rejection(2), rejection(1)]);
});

test('the newest 100 are stored, one for each digest', () => {
  const many = Array.from({ length: 150 }, (_, index) => rejection(index));
  const kept = decodeRejections(encodeRejections(canary, [...many, rejection(200, 'v1:149')])) ?? [];
  expect(kept).toHaveLength(100);
  expect(kept[0]).toEqual(rejection(200, 'v1:149'));
  expect(kept.at(-1)).toEqual(rejection(50));
});

test('the cause that was diagnosed is stored, and only text counts as one', () => {
  const withCause = { ...rejection(1), cause: 'ReferenceMissing' };
  const secret = encodeRejections(canary, [withCause, rejection(2)]);
  expect(decodeRejections(secret)).toEqual([rejection(2), withCause]);
  const rejections = btoa(JSON.stringify([{ ...rejection(1), cause: 7, more: true }]));
  expect(decodeRejections({ ...secret, data: { rejections } })).toEqual([rejection(1)]);
});

test('a Secret that is damaged or not ours is not read as "nothing is rejected"', () => {
  const secret = encodeRejections(canary, [rejection(1)]);
  expect(decodeRejections({ ...secret, data: { rejections: 'AAAA' } })).toBeUndefined();
  expect(decodeRejections({ ...secret, data: {} })).toBeUndefined();
  expect(decodeRejections({ ...secret, type: 'Opaque' })).toBeUndefined();
  expect(decodeRejections({ ...secret, data: { rejections: btoa('[{"digest":1}]') } })).toBeUndefined();
});
