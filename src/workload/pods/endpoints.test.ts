import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { aSlice } from './endpoints.test-support.ts';
import { endpointsOf, haveSameTargets } from './endpoints.ts';
import type { Pod } from './pods.ts';

const http = { name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 };
const web = { ...http, targetPort: 'web' };
const metrics = { name: 'metrics', protocol: 'TCP', port: 9090, targetPort: 'metrics' };
const at = (port: number, name = 'http') => ({ name, protocol: 'TCP', port });

function aService(ports: readonly object[], more: object = {}, annotations = {}): KubernetesObject {
  const metadata = { name: 'web-primary', namespace: 'shop', annotations };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { selector: { app: 'web-primary' }, ports, ...more },
  };
}

/** A pod with container ports of these names. */
function aPod(uid: string, names: Readonly<Record<string, number>> = {}, isSidecar = false): Pod {
  const ports = Object.entries(names).map(([name, containerPort]) => ({ name, containerPort }));
  const app = { name: 'app', ports: isSidecar ? [] : ports };
  const proxy = { name: 'proxy', restartPolicy: 'Always', ports };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: uid, namespace: 'shop', uid },
    spec: { containers: [app], ...(isSidecar ? { initContainers: [proxy] } : {}) },
  };
}

const [one, two] = ['one', 'two'].map((uid) => ({ uid }));
const pods = [aPod('one'), aPod('two')];

describe('endpoints of pods', () => {
  it('are those that a slice has as ready, or says nothing else of', () => {
    const slices = [aSlice('web-primary', [at(8080)], [{ uid: 'one', ready: true }, two!, { uid: 'three' }])];
    expect(endpointsOf({ service: aService([http]), endpointSlices: slices }, pods)).toBe(2);
  });

  it.each<[string, readonly KubernetesObject[]]>([
    ['no slice is there', []],
    ['the slice is of another Service', [aSlice('web', [at(8080)], [one!, two!])]],
    ['the slice has other pods', [aSlice('web-primary', [at(8080)], [{ uid: 'gone' }])]],
    ['none is ready', [aSlice('web-primary', [at(8080)], [{ uid: 'one', ready: false }])]],
    ['the slice has no port', [aSlice('web-primary', null, [one!, two!])]],
    ['the slice still has the previous port', [aSlice('web-primary', [at(9090)], [one!, two!])]],
    ['the slice has the port under another name', [aSlice('web-primary', [at(8080, 'web')], [one!, two!])]],
    ['the port is another protocol’s', [aSlice('web-primary', [{ ...at(8080), protocol: 'UDP' }], [one!])]],
  ])('are none while %s', (_, endpointSlices) => {
    expect(endpointsOf({ service: aService([http]), endpointSlices }, pods)).toBe(0);
  });

  it('are one where a pod is in slices of both address types', () => {
    const slices = ['IPv4', 'IPv6'].map((addressType) => ({
      ...aSlice('web-primary', [at(8080)], [one!]),
      addressType,
    }));
    expect(endpointsOf({ service: aService([http]), endpointSlices: slices }, pods)).toBe(1);
  });

  it('have a port by name where their own pod has one, whatever its number', () => {
    const named = [aPod('one', { web: 8080 }), aPod('two', { web: 9090 }), aPod('three', { http: 8080 })];
    const slices = [
      aSlice('web-primary', [at(8080)], [one!]),
      aSlice('web-primary', [at(9090)], [two!]),
      aSlice('web-primary', null, [{ uid: 'three' }]),
    ];
    expect(endpointsOf({ service: aService([web]), endpointSlices: slices }, named)).toBe(2);
  });

  it('have the port of a sidecar that is an init container', () => {
    const slices = [aSlice('web-primary', [at(8443)], [one!])];
    const pod = aPod('one', { web: 8443 }, true);
    expect(endpointsOf({ service: aService([web]), endpointSlices: slices }, [pod])).toBe(1);
  });

  it('are counted by the port that has the fewest', () => {
    const both = aPod('one', { web: 8080, metrics: 9102 });
    const slices = [
      aSlice('web-primary', [at(8080), at(9102, 'metrics')], [one!]),
      aSlice('web-primary', [at(8080)], [two!]),
    ];
    const service = aService([web, metrics]);
    expect(endpointsOf({ service, endpointSlices: slices }, [both, aPod('two', { web: 8080 })])).toBe(1);
  });

  it('leave out ports that a taken-over Service had before', () => {
    const slices = [aSlice('web-primary', [at(8080)], [one!])];
    const service = aService([http, metrics], {}, { 'holdfast.dev/taken-over': '80/TCP' });
    expect(endpointsOf({ service, endpointSlices: slices }, pods)).toBe(1);
  });

  it('need no port where a headless Service has none', () => {
    const slices = [aSlice('web-primary', null, [one!])];
    const service = aService([], { clusterIP: 'None' });
    expect(endpointsOf({ service, endpointSlices: slices }, pods)).toBe(1);
  });

  it.each<[string, KubernetesObject | undefined]>([
    ['there is no Service', undefined],
    ['it leaves the choice of pods to others', aService([http], { selector: undefined })],
    ['it is a name for another host', aService([http], { type: 'ExternalName' })],
  ])('are not known while %s', (_, service) => {
    expect(endpointsOf({ service, endpointSlices: [] }, pods)).toBeUndefined();
  });
});

describe('one Service reaches pods of the other', () => {
  const discovered = { name: 'metrics', protocol: 'TCP', port: 9090, targetPort: 9090 };

  it.each<[string, ReadonlyArray<typeof http> | undefined, boolean]>([
    ['without the other', undefined, true],
    ['with the same ports', [http], true],
    ['with a further port', [http, discovered], true],
    ['not with another target', [{ ...http, targetPort: 9090 }], false],
    ['not with another port, which its route leads to', [{ ...http, port: 90 }], false],
  ])('%s', (_, other, isSame) => {
    expect(haveSameTargets([http], other)).toBe(isSame);
  });
});
