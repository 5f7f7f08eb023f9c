import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['taken-named', 'taken-nameless', 'rotated']);

interface Port {
  readonly name?: string;
  readonly port: number;
  readonly nodePort?: number;
}

/** Service podinfo of somebody else, as kubectl applies it. */
async function applyService(namespace: string, ports: readonly object[]): Promise<void> {
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'podinfo', labels: { team: 'store' } },
    spec: { type: 'NodePort', selector: { app: 'podinfo' }, ports },
  };
  await bed.kubectl(['-n', namespace, 'apply', '-f', '-'], JSON.stringify(service));
}

async function serviceOf(
  namespace: string,
): Promise<KubernetesObject & { ports: Port[]; selector: unknown }> {
  const object = await bed.readObject('Service', namespace, 'podinfo');
  const { ports = [], selector } = (object?.spec ?? {}) as { ports?: Port[]; selector?: unknown };
  return { ...(object as KubernetesObject), ports, selector };
}

const names = ({ ports }: { ports: readonly Port[] }) =>
  Object.fromEntries(ports.map(({ name, port }) => [port, name]));

test('a Service with a port of the same name, and one without a name, are taken over and given back', async () => {
  const cases = {
    'taken-named': {
      ports: [{ name: 'http', port: 8080, targetPort: 'http' }],
      kept: 'http',
      own: 'http-80',
    },
    'taken-nameless': { ports: [{ port: 8443, targetPort: 'http' }], kept: 'tcp-8443', own: 'http' },
  };
  await Promise.all(
    Object.entries(cases).map(async ([namespace, { ports, kept, own }]) => {
      const shop = await shops.open(namespace, { spec: { revertOnDeletion: true } });
      await applyService(namespace, ports);
      const [before] = (await serviceOf(namespace)).ports;
      await shop.release('v1');
      await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
      const taken = await serviceOf(namespace);
      expect(names(taken)).toEqual({ 80: own, [before?.port ?? 0]: kept });
      expect(taken.ports.map(({ nodePort }) => nodePort)).toContain(before?.nodePort);
      expect(taken.selector).toEqual({ app: 'podinfo-primary' });
      expect(taken.metadata.labels).toMatchObject({ team: 'store' });
      expect(taken.metadata.annotations?.['kustomize.toolkit.fluxcd.io/reconcile']).toBe('disabled');

      const commit = await shop.repo.commit({ 'canary.yaml': null }, 'Take the Canary out');
      const applied = ['-n', namespace, 'get', 'sources', '-o', 'jsonpath={.items[0].status.appliedCommit}'];
      await waitFor(async () => (await bed.kubectl(applied)) === commit, {
        timeoutMs: 120_000,
        what: `${namespace}: Git holds no Canary any more`,
      });
      await bed.kubectl(['-n', namespace, 'delete', 'canary', 'podinfo', '--wait=false']);
      await waitFor(async () => !(await bed.readObject('Canary', namespace, 'podinfo')), {
        timeoutMs: 120_000,
        what: `${namespace}: the Canary is gone`,
      });
      const left = await serviceOf(namespace);
      expect(left.selector).toEqual({ app: 'podinfo' });
      expect(left.metadata.annotations).not.toHaveProperty('holdfast.dev/taken-over');
      await shop.close();
    }),
  );
});

test('a rotated Secret that is in no repository reaches both copies as a release of the same commit', async () => {
  const namespace = 'rotated';
  const shop = await shops.open(namespace);
  const rotate = (value: string) =>
    bed.kubectl(
      ['-n', namespace, 'apply', '-f', '-'],
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'login' },
        stringData: { value },
      }),
    );
  await rotate('one');
  const web = await shop.release('v1', {}, { container: { envFrom: [{ secretRef: { name: 'login' } }] } });
  await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
  const load = shop.startLoad();
  await rotate('two');
  const ended = await shop.until('the rotation is promoted', ({ history, phase, run }) => {
    return history?.length === 1 && phase === 'Succeeded' && !run;
  });
  expect(ended.lastPromotedCommit).toBe(web);
  const copy = (await bed.readObject('Secret', namespace, 'login-primary')) as { data?: { value?: string } };
  expect(Buffer.from(copy.data?.value ?? '', 'base64').toString('utf8')).toBe('two');
  expect((await load.stop()).failures).toEqual([]);
  await shop.close();
});
