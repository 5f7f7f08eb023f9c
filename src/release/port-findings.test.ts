import { describe, expect, it } from 'vitest';
import { buildRelease } from './build.ts';
import { container, deployment, releaseInput, template } from './fixtures.test-support.ts';
import { undeclaredPort } from './port-findings.ts';
import type { ServicePortSpec } from './ports.ts';

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
        '"web" is the name of no TCP port of Deployment shop/pay, so that no pod of it would get a request; its ports: http (8080), dns (53/UDP), 9090. Name one of them, or give the number',
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
        /^sends requests to port 9999, which no container of Deployment shop\/pay declares and no probe asks \(its ports: http \(8080\), /,
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
