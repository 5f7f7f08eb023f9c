import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { buildRelease } from './build.ts';
import { releaseInput } from './fixtures.test-support.ts';
import { decodeRecord, encodeRecord } from './record.ts';
import { isService, serviceContent } from './release.ts';

/** Service pay as it stands in Git. */
function aService(spec: Record<string, unknown> = {}): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'pay', namespace: 'shop' },
    spec: { selector: { app: 'pay', version: 'one' }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
  };
}

/** The same as the API server gives it back. */
const stored = {
  type: 'LoadBalancer',
  clusterIP: '10.0.0.7',
  clusterIPs: ['10.0.0.7'],
  ipFamilies: ['IPv4'],
  ipFamilyPolicy: 'SingleStack',
  internalTrafficPolicy: 'Cluster',
  externalTrafficPolicy: 'Cluster',
  sessionAffinity: 'None',
  ports: [{ port: 80, targetPort: 8080, protocol: 'TCP', nodePort: 30_123 }],
};

const digestOf = (spec: Record<string, unknown> = {}, canary = {}) => {
  const input = releaseInput({ target: aService(spec) });
  const built = buildRelease({
    ...input,
    canary: { ...input.canary, spec: { ...input.canary.spec, ...canary } },
  });
  return built.ok?.digest ?? built.problem;
};

describe('a release of a Service', () => {
  it('is the same whether the API server filled in its defaults, and wherever it is reached from outside', () => {
    expect(digestOf(stored)).toBe(digestOf());
    expect(serviceContent({ ...(aService().spec as object), ...stored })).toEqual(
      serviceContent(aService().spec),
    );
  });

  it.each([
    ['another selector', { selector: { app: 'pay', version: 'two' } }],
    ['another port of the pods', { ports: [{ port: 80, targetPort: 9090 }] }],
    ['another protocol above', { ports: [{ port: 80, targetPort: 8080, appProtocol: 'grpc' }] }],
    ['clients that stay with their pod', { sessionAffinity: 'ClientIP' }],
    ['pods of the node alone', { internalTrafficPolicy: 'Local' }],
    ['pods that are not ready', { publishNotReadyAddresses: true }],
    ['a name outside', { type: 'ExternalName', externalName: 'pay.example.com' }],
  ])('is another one for %s', (_, spec) => {
    expect(digestOf(spec)).toMatch(/^v1:/);
    expect(digestOf(spec)).not.toBe(digestOf());
  });

  it('leaves out what revisionIgnore names', () => {
    const canary = { revisionIgnore: ['/spec/selector/version'] };
    expect(digestOf({ selector: { app: 'pay', version: 'two' } }, canary)).toBe(digestOf({}, canary));
    expect(digestOf({}, { revisionIgnore: ['/metadata/labels'] })).toMatchObject({
      field: 'spec.revisionIgnore[0]',
      message: 'must be a JSON pointer below /spec/',
    });
  });

  it('is stored whole in a record and read back', () => {
    const { ok: release } = buildRelease(releaseInput({ target: aService(stored) }));
    if (!release) throw new Error('no release');
    const { secretKey } = releaseInput();
    expect(release).toMatchObject({ ports: [], configs: [], liveConfigs: [] });
    expect(decodeRecord(encodeRecord(release).ok ?? [], secretKey).ok?.release).toEqual(release);
  });

  it.each([
    ['without a selector', { selector: {} }, 'spec.selector', /would reach no pod/],
    ['without the port of the route', { ports: [{ port: 8080 }] }, 'spec.ports', /has no port 80/],
  ])('is refused %s', (_, spec, field, message) => {
    expect(digestOf(spec)).toMatchObject({
      object: 'Service shop/pay',
      field,
      message: expect.stringMatching(message),
    });
  });

  it('is not one of Knative', () => {
    expect(isService({ apiVersion: 'serving.knative.dev/v1', kind: 'Service' })).toBe(false);
  });
});
