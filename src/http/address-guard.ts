import type { lookup } from 'node:dns';
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net';
import { HttpError } from './errors.ts';

/** Which addresses outbound requests may reach. Host entries are `name` or `name:port`, without scheme. */
export interface AddressPolicy {
  /** Loopback addresses may be reached. Default false; the demo and tests on one machine turn it on. */
  readonly allowLoopback?: boolean;
  /** Hosts the operator named on purpose: the address rules do not apply to them, except that for the API server. */
  readonly allowHosts?: readonly string[];
  /** Hosts and IP addresses of the API server as configured. */
  readonly denyHosts?: readonly string[];
  /** Addresses of the API server as found in the cluster: `address` or `address:port` (`[address]:port`). Asked at each connection. */
  readonly deniedAddresses?: () => readonly string[];
}

/** Resolves a host name to all its addresses; replaced in tests to play a rebinding DNS server. */
export type Resolver = typeof lookup;

const LOOPBACK = blockList([
  ['127.0.0.0', 8, 'ipv4'],
  ['::1', 128, 'ipv6'],
]);

// Credentials and settings of machines and pods in the clouds.
const METADATA = blockList([
  ['169.254.169.254', 32, 'ipv4'],
  ['169.254.170.2', 32, 'ipv4'],
  ['169.254.170.23', 32, 'ipv4'],
  ['100.100.100.200', 32, 'ipv4'],
  ['192.0.0.192', 32, 'ipv4'],
  ['168.63.129.16', 32, 'ipv4'],
  ['fd00:ec2::', 32, 'ipv6'],
  ['fd20:ce::254', 128, 'ipv6'],
]);

// Link-local, addresses that mean "this host", multicast and broadcast.
const NEVER = blockList([
  ['0.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 128, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
]);

// By name too: with a proxy the name is not resolved here.
const METADATA_NAMES = new Set([
  ...['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data', 'instance-data.ec2.internal'],
]);
const API_SERVER_NAMES = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];

/**
 * Why this address may not be reached, or undefined when it may (docs/security.md, "internal network"). An IPv4 address inside an IPv6 one is
 * judged as the IPv4 address where the prefix says so (mapped, NAT64, 6to4). Networks choose NAT64 prefixes of their own, so one single IPv4
 * address that is refused is refused at the end of any IPv6 address.
 */
export function addressProblem(address: string, policy: AddressPolicy, port = ''): string | undefined {
  const groups = isIP(address) === 6 ? expandIPv6(address) : undefined;
  const plain = (groups && embeddedIPv4(groups)) ?? (groups ? canonicalIPv6(address) : address);
  const ending = groups && dotted(groups[6], groups[7]);
  const forms = ending ? [plain, ending] : [plain];
  if (forms.some((form) => isDenied(form, port, policy))) return apiServerProblem(plain);
  if (forms.some((form) => METADATA.check(form, familyOf(form))))
    return allowable(`${plain} is a metadata address`);
  if (NEVER.check(plain, familyOf(plain))) return allowable(`${plain} is a link-local or multicast address`);
  if (!policy.allowLoopback && LOOPBACK.check(plain, familyOf(plain)))
    return allowable(`${plain} is a loopback address`);
  return undefined;
}

/** Why this host may not be asked at all, before any name is resolved; undefined when it may. */
export function hostProblem(url: URL, policy: AddressPolicy): string | undefined {
  const name = hostName(url);
  if (
    API_SERVER_NAMES.some((own) => name === own || name.startsWith(`${own}.svc.`)) ||
    isDenied(name, portOf(url), policy)
  )
    return apiServerProblem(name);
  const problem = isIP(name) ? addressProblem(name, policy, portOf(url)) : undefined;
  if (problem?.includes(neverAllowed)) return problem;
  if (isAllowed(url, policy)) return undefined;
  if (METADATA_NAMES.has(name)) return allowable(`${name} is a metadata address`);
  return problem;
}

/** Throws HttpError Refused for a host that may not be asked; `what` asks it. */
export function refuseHost(url: URL, policy: AddressPolicy, what: string): void {
  const problem = hostProblem(url, policy);
  if (problem) throw new HttpError('Refused', url.host, `${what} ${refusal(url.host, problem)}`);
}

const neverAllowed = 'which is never allowed';

function apiServerProblem(host: string): string {
  return `${host} is the API server, ${neverAllowed}`;
}

function allowable(problem: string): string {
  return `${problem}; --allow-outbound can allow the host`;
}

function isDenied(host: string, port: string, { denyHosts = [], deniedAddresses }: AddressPolicy): boolean {
  const withPort = isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
  return [...denyHosts, ...(deniedAddresses?.() ?? [])].some((entry) => entry === host || entry === withPort);
}

/** Whether the operator exempted this host from the address rules. */
export function isAllowed(url: URL, { allowHosts = [] }: AddressPolicy): boolean {
  return (
    [hostName(url), url.hostname].some((name) => allowHosts.includes(name)) ||
    allowHosts.includes(`${url.hostname}:${portOf(url)}`)
  );
}

/** The port that a URL means. */
export function portOf({ port, protocol }: Pick<URL, 'port' | 'protocol'>): string {
  return port || (protocol === 'https:' ? '443' : '80');
}

/**
 * A lookup hook for sockets: resolves, then refuses if any address is forbidden. It runs at connect time,
 * so a name that changes its address between check and use (DNS rebinding) gains nothing.
 */
export function guardedLookup(policy: AddressPolicy, port: string, resolve: Resolver): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const problem = addresses.map(({ address }) => addressProblem(address, policy, port)).find(Boolean);
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

function refusal(host: string, problem: string): string {
  return `${host} is not allowed: ${problem}`;
}

function hostName(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** The IPv4 address inside a mapped or compatible (::ffff:0:0/96, ::ffff:0:0:0/96, ::/96), NAT64 (64:ff9b::/32) or 6to4 (2002::/16) address. */
function embeddedIPv4(groups: readonly string[]): string | undefined {
  const [first, second] = groups;
  const head = groups.slice(0, 6).join(':');
  if (['0:0:0:0:0:ffff', '0:0:0:0:ffff:0'].includes(head) || (first === '64' && second === 'ff9b'))
    return dotted(groups[6], groups[7]);
  // `::` and `::1` are addresses of their own.
  if (head === '0:0:0:0:0:0' && groups[6] !== '0') return dotted(groups[6], groups[7]);
  return first === '2002' ? dotted(groups[1], groups[2]) : undefined;
}

function canonicalIPv6(address: string): string {
  return new URL(`http://[${address.replace(/%.*$/, '')}]/`).hostname.slice(1, -1);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}

/** The eight groups of an IPv6 address in shortest hexadecimal form. */
function expandIPv6(address: string): string[] {
  const [left = '', right] = canonicalIPv6(address).split('::');
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
