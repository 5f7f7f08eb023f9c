import { deployment } from './holdfast-bed.ts';

/** The Deployment `web` with every key of ConfigMap `settings` and Secret `database` in its environment. */
export function deploymentWithConfig(image: string): string {
  const workload = JSON.parse(deployment(image));
  workload.spec.template.spec.containers[0].envFrom = [
    { configMapRef: { name: 'settings' } },
    { secretRef: { name: 'database' } },
  ];
  return JSON.stringify(workload);
}

/** That ConfigMap and that Secret; the password is `hunter2`. */
export function configWith(level: string): string {
  const metadata = (name: string) => ({ name, namespace: 'shop' });
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('settings'), data: { level } },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: metadata('database'),
        stringData: { password: 'hunter2' },
      },
    ],
  });
}
