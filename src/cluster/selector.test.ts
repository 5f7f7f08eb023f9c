import { describe, expect, it } from 'vitest';
import { parseLabelSelector } from './selector.ts';

describe('parseLabelSelector', () => {
  it.each([
    ['', {}, true],
    ['app=web', { app: 'web' }, true],
    ['app==web', { app: 'api' }, false],
    ['app!=web', {}, true],
    ['app!=web,tier=front', { app: 'api', tier: 'front' }, true],
    ['app in (web, api),!legacy', { app: 'api' }, true],
    ['app in (web, api),!legacy', { app: 'api', legacy: '' }, false],
    ['app in (web)', {}, false],
    ['app notin (web)', {}, true],
    ['app notin (web)', { app: 'web' }, false],
    ['holdfast.dev/owner', { 'holdfast.dev/owner': '' }, true],
    ['constructor', {}, false],
  ])('%s on %j is %s', (selector, labels, fits) => {
    expect(parseLabelSelector(selector)(labels as Record<string, string>)).toBe(fits);
  });

  it.each(['app in web', 'a b', '=x', 'app in (web'])('refuses %s', (selector) => {
    expect(() => parseLabelSelector(selector)).toThrow(/label selector/);
  });
});
