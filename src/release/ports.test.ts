import { expect, test } from 'vitest';
import { container, template } from './fixtures.test-support.ts';
import { servicePorts } from './ports.ts';

const podinfo = template({
  containers: [
    container({
      name: 'podinfo',
      ports: [
        { name: 'http', containerPort: 9898 },
        { name: 'http-metrics', containerPort: 8080 },
        { containerPort: 8888 },
      ],
    }),
    container({ name: 'istio-proxy', ports: [{ name: 'proxy', containerPort: 15090 }] }),
    container({ name: 'envoy', ports: [{ name: 'admin', containerPort: 9901 }] }),
  ],
  initContainers: [container({ name: 'init', ports: [{ containerPort: 7777 }] })],
});

test('without discovery the Canary names the only port, http on its own number by default', () => {
  expect(servicePorts({ port: 9898 }, podinfo)).toEqual([
    { name: 'http', protocol: 'TCP', port: 9898, targetPort: 9898 },
  ]);
});

test('name, target and application protocol of the port are taken over', () => {
  const service = { port: 80, portName: 'web', targetPort: 'http', appProtocol: 'grpc' };
  expect(servicePorts(service, podinfo)).toEqual([
    { name: 'web', protocol: 'TCP', port: 80, targetPort: 'http', appProtocol: 'grpc' },
  ]);
  expect(servicePorts({ port: 80, targetPort: '0' }, podinfo)[0]?.targetPort).toBe(80);
});

test('discovery adds the other ports of the containers, not those of sidecars and init containers', () => {
  expect(servicePorts({ port: 9898, portDiscovery: true }, podinfo)).toEqual([
    { name: 'http', protocol: 'TCP', port: 9898, targetPort: 9898 },
    { name: 'http-metrics', protocol: 'TCP', port: 8080, targetPort: 8080 },
    { name: 'tcp-podinfo-2', protocol: 'TCP', port: 8888, targetPort: 8888 },
  ]);
});

test.each([['http'], [9898]])('the port that target %s covers is not discovered again', (targetPort) => {
  const names = servicePorts({ port: 80, targetPort, portDiscovery: true }, podinfo).map((port) => port.name);
  expect(names).toEqual(['http', 'http-metrics', 'tcp-podinfo-2']);
});

test('ports stay distinct by name, and by number and protocol', () => {
  const pods = template({
    containers: [
      container({
        name: 'a',
        ports: [
          { name: 'http', containerPort: 8080 },
          { name: 'dns', containerPort: 53 },
        ],
      }),
      container({
        name: 'b',
        ports: [{ name: 'dns', containerPort: 53, protocol: 'UDP' }, { containerPort: 8080 }],
      }),
    ],
  });
  expect(servicePorts({ port: 80, portDiscovery: true }, pods)).toEqual([
    { name: 'http', protocol: 'TCP', port: 80, targetPort: 80 },
    { name: 'tcp-a-0', protocol: 'TCP', port: 8080, targetPort: 8080 },
    { name: 'dns', protocol: 'TCP', port: 53, targetPort: 53 },
    { name: 'tcp-b-0', protocol: 'UDP', port: 53, targetPort: 53 },
  ]);
});

test('a Canary without a service has no ports', () => {
  expect(servicePorts(undefined, podinfo)).toEqual([]);
});
