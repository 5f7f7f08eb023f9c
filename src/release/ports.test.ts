import { describe, expect, it, test } from 'vitest';
import { measureEffort } from '../../test/effort.ts';
import { buildRelease } from './build.ts';
import { container, deployment, releaseInput, template } from './fixtures.test-support.ts';
import { type ServicePortSpec, servicePorts, undeclaredPort, undeclaredPorts } from './ports.ts';

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

test('tens of thousands of ports are discovered and compared at once', () => {
  const ports = Array.from({ length: 40_000 }, (_, index) => ({
    name: `p${index}`,
    containerPort: index + 1,
  }));
  const many = template({ containers: [container({ ports })] });
  const effort = measureEffort();
  const found = servicePorts({ port: 80, portDiscovery: true }, many);
  expect(found).toHaveLength(40_000);
  expect(undeclaredPorts(many, found)).toEqual([]);
  expect(effort()).toBeLessThan(100);
});

test.each([['http'], [9898]])('the port that target %s covers is not discovered again', (targetPort) => {
  const names = servicePorts({ port: 80, targetPort, portDiscovery: true }, podinfo).map((port) => port.name);
  expect(names).toEqual(['http', 'http-metrics', 'tcp-podinfo-2']);
});

test('a port of another protocol with the number of the target is discovered, as of a name server', () => {
  const dns = [
    { name: 'dns-tcp', containerPort: 53 },
    { name: 'dns', containerPort: 53, protocol: 'UDP' },
  ];
  const pods = template({ containers: [container({ name: 'dns', ports: dns })] });

  expect(servicePorts({ port: 53, portName: 'dns-tcp', portDiscovery: true }, pods)).toEqual([
    { name: 'dns-tcp', protocol: 'TCP', port: 53, targetPort: 53 },
    { name: 'dns', protocol: 'UDP', port: 53, targetPort: 53 },
  ]);
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

const ports = [
  { name: 'http', containerPort: 8080 },
  { name: 'dns', containerPort: 53, protocol: 'UDP' },
  { containerPort: 9090 },
];
const target = deployment(template({ containers: [container({ ports })] }));

function built(service: ServicePortSpec | undefined, of = target) {
  const canary = { metadata: { name: 'pay', namespace: 'shop' }, spec: { service } };
  return buildRelease(releaseInput({ canary, target: of }));
}

function warningOf(service: ServicePortSpec, of = target) {
  const { ok } = built(service, of);
  return ok && undeclaredPort(service, ok);
}

describe('a targetPort by name', () => {
  it('is refused where no container has a port of that name, with the ports that there are', () => {
    expect(built({ port: 80, targetPort: 'web' }).problem).toEqual({
      object: 'Canary shop/pay',
      field: 'spec.service.targetPort',
      message:
        '"web" is not the name of a TCP port of Deployment shop/pay, so its pods would get no requests (its ports: http (8080), dns (53/UDP), 9090); use one of them, or the number',
    });
  });

  it('is refused where the port of that name has another protocol, or is one of an init container', () => {
    expect(built({ port: 80, targetPort: 'dns' }).problem?.field).toBe('spec.service.targetPort');
    const init = template({ initContainers: [container({ name: 'init', ports })] });
    expect(built({ port: 80, targetPort: 'http' }, deployment(init)).problem?.message).toContain(
      'ports: none',
    );
  });

  it('is taken where a container or a sidecar has it, and where no Service is made', () => {
    const sidecar = { ...container({ name: 'proxy', ports }), restartPolicy: 'Always' };
    expect(built({ port: 80, targetPort: 'http' }).ok).toBeDefined();
    expect(
      built({ port: 80, targetPort: 'http' }, deployment(template({ initContainers: [sidecar] }))).ok,
    ).toBeDefined();
    expect(built(undefined).ok).toBeDefined();
  });
});

describe('a targetPort by number', () => {
  it('is doubtful where the template declares ports, and not this one', () => {
    expect(warningOf({ port: 80, targetPort: 9999 })).toEqual({
      field: 'spec.service.targetPort',
      message: expect.stringMatching(
        /^sends requests to port 9999, which no container of Deployment shop\/pay declares and no probe checks \(its ports: http \(8080\), /,
      ),
    });
    expect(warningOf({ port: 53 })?.field).toBe('spec.service.port');
  });

  it('is not where it is declared, where a probe asks it, or where nothing is declared at all', () => {
    const probes = [
      { httpGet: { path: '/', port: 9999 } },
      { tcpSocket: { port: 9999 } },
      { grpc: { port: 9999 } },
    ];
    expect(warningOf({ port: 80, targetPort: 9090 })).toBeUndefined();
    expect(warningOf({ port: 80, targetPort: 9999 }, deployment())).toBeUndefined();
    for (const readinessProbe of probes) {
      const probed = deployment(template({ containers: [container({ ports, readinessProbe })] }));
      expect(warningOf({ port: 80, targetPort: 9999 }, probed)).toBeUndefined();
    }
  });
});
