import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { selectorLabel } from './metadata.ts';

function target(matchLabels: Record<string, string>, podLabels = matchLabels): KubernetesObject {
  const spec = { selector: { matchLabels }, template: { metadata: { labels: podLabels } } };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'podinfo', namespace: 'test' },
    spec,
  };
}

describe('the label that distinguishes primary from canary', () => {
  it('may have the name of the workload or another value', () => {
    expect(selectorLabel(target({ app: 'podinfo' }))).toEqual({
      key: 'app',
      canary: 'podinfo',
      primary: 'podinfo-primary',
    });
    expect(selectorLabel(target({ app: 'web-frontend' }))).toEqual({
      key: 'app',
      canary: 'web-frontend',
      primary: 'web-frontend-primary',
    });
  });

  it.each([
    [{ 'app.kubernetes.io/name': 'a', name: 'b', app: 'c' }, 'app'],
    [{ 'app.kubernetes.io/name': 'a', name: 'b', tier: 'web' }, 'name'],
    [{ 'app.kubernetes.io/name': 'a', tier: 'web' }, 'app.kubernetes.io/name'],
  ])('of %j is the first of the list that the selector has: %s', (labels, key) => {
    expect(selectorLabel(target(labels)).key).toBe(key);
  });

  it('may be one of the list of a flag', () => {
    expect(selectorLabel(target({ app: 'a', component: 'web' }), ['component']).key).toBe('component');
  });

  it.each([
    [
      'no label of the list',
      target({ tier: 'web' }),
      'needs one of the labels app, name, app.kubernetes.io/name',
    ],
    ['another value on the pods', target({ app: 'web' }, { app: 'api' }), 'must be web'],
    ['a value too long for a suffix', target({ app: 'w'.repeat(60) }), 'too long'],
  ])('is refused with %s', (_what, object, words) => {
    expect(() => selectorLabel(object)).toThrow(words);
  });
});
