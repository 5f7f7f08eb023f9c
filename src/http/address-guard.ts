import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net';
import { HttpError } from './errors.ts';

/** Which addresses outbound requests may reach. Host entries are `name` or `name:port`, without scheme. */
export interface AddressPolicy {
  /** Loopback addresses may be reached. Default false; the demo and tests on one machine turn it on. */
  readonly allowLoopback?: boolean;
  /** Hosts the operator named on purpose: the address rules do not apply to them. */
  readonly allowHosts?: readonly string[];
  /** Hosts and IP addresses never to be reached, such as the cluster's API server. */
  readonly denyHosts?: readonly string[];
}

/** Resolves a host name to all its addresses; replaced in tests to play a rebinding DNS server. */
export type Resolver = typeof systemLookup;

const LOOPBACK = blockList([
  ['127.0.0.0', 8, 'ipv4'],
  ['::1', 128, 'ipv6'],
]);

// Link-local with the clouds' metadata services, addresses that mean "this host", multicast and broadcast.
const NEVER = blockList([
  ['0.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['100.100.100.200', 32, 'ipv4'],
  ['192.0.0.192', 32, 'ipv4'],
  ['168.63.129.16', 32, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 128, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['fd00:ec2::254', 128, 'ipv6'],
  ['fd20:ce::254', 128, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
]);

/**
 * Why this address may not be reached, or undefined when it may (docs/security.md, "internal network").
 * An IPv4 address inside an IPv6 one (mapped, NAT64, 6to4) is judged as the IPv4 address.
 */
export function addressProblem(address: string, policy: AddressPolicy): string | undefined {
  const plain = embeddedIPv4(address) ?? address;
  const family = isIPv4(plain) ? 'ipv4' : 'ipv6';
  if (policy.denyHosts?.includes(plain)) return `${plain} is on the deny list`;
  if (NEVER.check(plain, family)) return `${plain} is a link-local, metadata or multicast address`;
  if (!policy.allowLoopback && LOOPBACK.check(plain, family)) return `${plain} is a loopback address`;
  return undefined;
}

/** Why this host may not be asked at all, before any name is resolved; undefined when it may. */
export function hostProblem(url: URL, policy: AddressPolicy): string | undefined {
  const name = hostName(url);
  if (policy.denyHosts?.includes(name) || policy.denyHosts?.includes(url.host))
    return `${name} is on the deny list`;
  if (isAllowed(url, policy)) return undefined;
  return isIP(name) ? addressProblem(name, policy) : undefined;
}

/** Whether the operator exempted this host from the address rules. */
export function isAllowed(url: URL, policy: AddressPolicy): boolean {
  const hosts = policy.allowHosts ?? [];
  return hosts.includes(hostName(url)) || hosts.includes(url.host);
}

/**
 * A lookup hook for sockets: resolves, then refuses if any address is forbidden. It runs at connect time,
 * so a name that changes its address between check and use (DNS rebinding) gains nothing.
 */
export function guardedLookup(policy: AddressPolicy, resolve: Resolver = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const problem = addresses.map(({ address }) => addressProblem(address, policy)).find(Boolean);
      const first = addresses[0];
      if (problem || !first) {
        return callback(
          new HttpError('Refused', hostname, refusal(hostname, problem ?? 'it has no address')),
          [],
        );
      }
      if (options.all) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };
}

/** The message of a refused host. */
export function refusal(host: string, problem: string): string {
  return `${host} may not be reached: ${problem}; the operator can allow the host`;
}

function hostName(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** The IPv4 address inside a mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96) or 6to4 (2002::/16) address. */
function embeddedIPv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  const groups = expandIPv6(address);
  const head = groups.slice(0, 6).join(':');
  if (head === '0:0:0:0:0:ffff' || head === '64:ff9b:0:0:0:0') return dotted(groups[6], groups[7]);
  return groups[0] === '2002' ? dotted(groups[1], groups[2]) : undefined;
}

/** The eight groups of an IPv6 address in shortest hexadecimal form. */
function expandIPv6(address: string): string[] {
  const canonical = new URL(`http://[${address.replace(/%.*$/, '')}]/`).hostname.slice(1, -1);
  const [left = '', right] = canonical.split('::');
  const before = left ? left.split(':') : [];
  const after = right ? right.split(':') : [];
  const zeros = right === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
}

function dotted(high = '0', low = '0'): string {
  const bits = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256).join('.');
}

function blockList(subnets: ReadonlyArray<readonly [string, number, 'ipv4' | 'ipv6']>): BlockList {
  const list = new BlockList();
  for (const [net, prefix, family] of subnets) list.addSubnet(net, prefix, family);
  return list;
}
