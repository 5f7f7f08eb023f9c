import { describe, expect, it } from 'vitest';
import { routerFor } from './table.ts';

describe('the table of providers', () => {
  it.each([
    ['kubernetes', 'kubernetes'],
    ['contour', 'contour'],
    ['knative', 'knative'],
    ['gatewayapi:v1', 'gatewayapi:v1'],
    ['gatewayapi:v1:service', 'gatewayapi:v1'],
    ['gatewayapi:v1beta1', undefined],
    ['gatewayapi', undefined],
    ['contour:service', undefined],
    ['istio', undefined],
    ['', undefined],
  ])('gives %s the router %s', (provider, name) => {
    expect(routerFor(provider)?.name).toBe(name);
  });
});
