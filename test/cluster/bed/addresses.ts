/**
 * Where the parts of the bed listen. All are fixed: the bed has a network namespace to itself, so nothing can be in the way.
 * Endpoints of Kubernetes may not be loopback addresses; pods get theirs from 10.244.0.0/16, which is local in the namespace.
 */
export const addresses = {
  advertise: '10.244.0.1',
  apiServer: 'https://127.0.0.1:6443',
  /** The same for pods with a network of their own: to them the bed's loopback address is another one. */
  apiServerOfPods: 'https://10.244.0.1:6443',
  contourDebugPort: 6060,
  contourHealthPort: 8000,
  contourXdsPort: 8001,
  envoy: 'http://127.0.0.1:8080',
  envoyStatsPort: 8002,
  etcdClient: 'http://127.0.0.1:2379',
  etcdPeer: 'http://127.0.0.1:2380',
  git: 'http://127.0.0.1:3000',
  gitPort: 3000,
  prometheus: 'http://127.0.0.1:9090',
} as const;

/** The n-th pod address, counted from 0: 10.244.1.0 upwards, around after 10.244.255.255. */
export function podAddress(n: number): string {
  const index = n % (255 * 256);
  return `10.244.${1 + Math.floor(index / 256)}.${index % 256}`;
}
