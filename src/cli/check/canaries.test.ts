import { expect, it } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { localError } from '../../cluster/errors.ts';
import { checkCanaries, checkProviders } from './canaries.ts';

const options = { defaultProvider: 'kubernetes', forbidsOtherNamespaces: true };

function canary(name: string, spec: Record<string, unknown>): KubernetesObject {
  return canaryDocument(spec, { name }) as unknown as KubernetesObject;
}

/** A cluster that serves no routing kind. */
const client = {
  resolve: async (apiVersion: string, kind: string) => {
    if (apiVersion === 'v1') return { apiVersion, kind, plural: '', namespaced: true };
    throw localError('unknownKind', `the server has no kind ${kind}`);
  },
};

it('names the Canary, the field and its author where one cannot be acted on', () => {
  const { valid, lines } = checkCanaries(
    [
      canary('good', { provider: 'contour' }),
      canary('bad', { provider: 'appmesh' }),
      canary('broken', { analysis: 1 }),
    ],
    options,
  );
  expect(valid.map(({ metadata }) => metadata.name)).toEqual(['good']);
  expect(lines).toMatchObject([
    { state: 'ok', detail: '1 of 3 are valid' },
    {
      state: 'failed',
      subject: 'Canary default/bad',
      actor: 'author',
      detail: expect.stringMatching(/^spec\.service\.meshName: /),
    },
    {
      state: 'failed',
      subject: 'Canary default/broken',
      actor: 'author',
      detail: expect.stringMatching(/^spec\.analysis: /),
    },
  ]);
});

it('asks only for the kinds that the providers in use write', async () => {
  const { valid } = checkCanaries([canary('a', { provider: 'contour' }), canary('b', {})], options);
  expect(await checkProviders(client, valid, 'kubernetes')).toMatchObject([
    {
      state: 'failed',
      subject: 'provider contour',
      actor: 'administrator',
      detail: 'the cluster does not serve HTTPProxy of projectcontour.io/v1',
    },
    { state: 'ok', subject: 'provider kubernetes' },
  ]);
});

it('calls no Canary valid that the controller refuses for a reference to another namespace', () => {
  const metrics = [{ name: 'errors', templateRef: { name: 'errors', namespace: 'shared' } }];
  const analysis = { interval: '1m', threshold: 1, iterations: 2, metrics };
  const objects = [canary('refers', { provider: 'contour', analysis })];
  expect(checkCanaries(objects, options)).toMatchObject({
    valid: [],
    lines: [{ state: 'failed', detail: expect.stringMatching(/^spec\.analysis\.metrics\[0\]\.templateRef/) }],
  });
  expect(checkCanaries(objects, { ...options, forbidsOtherNamespaces: false }).valid).toHaveLength(1);
});
