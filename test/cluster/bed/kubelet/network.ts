import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KubernetesObject } from '../../../../src/api/kubernetes.ts';
import { addresses } from '../addresses.ts';
import type { Command } from './holdfast.ts';
import { behaviourOf } from './image.ts';

/** The network namespace of one pod, and its /etc/hosts. */
export interface PodNetwork {
  /** The command that runs another one in it. */
  inside(command: Command): Command;
  /** Ends it, when its last process has ended. */
  close(): void;
}

/** Keeps the namespace, with nothing but its loopback device, until it is killed. */
const holding = 'ip link set lo up && echo ready && exec sleep infinity';

/**
 * A pair of devices between the bed and the namespace of the process $1. The bed has all pods' addresses for local ones: the route in the same table
 * says where this one is, and what the bed asks from. The bed forwards what such pods send each other.
 */
const connecting = `
echo 1 >/proc/sys/net/ipv4/ip_forward
ip link add "$2" type veth peer name eth0 netns "$1"
ip link set "$2" up
ip route add "$3/32" dev "$2" src ${addresses.advertise} table local
exec nsenter --target "$1" --net sh -ec "$4" "$3" ${addresses.advertise}
`;
const insideOf = `
ip addr add "$0/32" dev eth0
ip link set eth0 up
ip route add "$1" dev eth0
ip route add 10.244.0.0/16 via "$1"
`;

/** Whether a pod needs one: Knative's programs listen on the same ports of every address. */
export function needsOwnNetwork(pod: KubernetesObject): boolean {
  const { containers } = pod.spec as { containers: ReadonlyArray<{ image?: string }> };
  return containers.some(({ image = '' }) => behaviourOf(image) === 'knative');
}

/** Makes it, with the names of the pod's `hostAliases`; `folder` is removed with the bed. */
export async function createPodNetwork(
  pod: KubernetesObject,
  address: string,
  folder: string,
): Promise<PodNetwork> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', holding], { stdio: ['ignore', 'pipe', 'inherit'] });
  // Where it has ended instead there is nothing to connect, which then says so.
  await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')]);
  const device = `pod${address.split('.').slice(2).join('-')}`;
  const words = ['-ec', connecting, 'sh', String(holder.pid), device, address, insideOf];
  try {
    await promisify(execFile)('sh', words);
  } catch (error) {
    holder.kill('SIGKILL');
    throw error;
  }
  const hosts = join(folder, `${pod.metadata.uid}-hosts`);
  const { hostAliases = [] } = pod.spec as {
    hostAliases?: ReadonlyArray<{ ip: string; hostnames?: readonly string[] }>;
  };
  const aliases = hostAliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join(' '));
  writeFileSync(hosts, ['127.0.0.1 localhost', `${address} ${pod.metadata.name}`, ...aliases, ''].join('\n'));
  const entering = ['--target', String(holder.pid), '--net', 'unshare', '--mount', 'sh', '-ec'];
  const mounting = 'mount --bind "$0" /etc/hosts; exec "$@"';
  return {
    inside: ({ program, args, env }) => ({
      program: 'nsenter',
      args: [...entering, mounting, hosts, program, ...args],
      env,
    }),
    close: () => void holder.kill('SIGKILL'),
  };
}
