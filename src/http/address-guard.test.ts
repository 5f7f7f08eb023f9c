import { expect, test } from 'vitest';
import { addressProblem, hostProblem } from './address-guard.ts';

test.each([
  '169.254.169.254',
  '169.254.0.1',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '0.0.0.0',
  '224.0.0.1',
  '255.255.255.255',
  'fe80::1',
  'fd00:ec2::254',
  '::',
  'ff02::1',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '64:ff9b::169.254.169.254',
  '2002:a9fe:a9fe::1',
])('%s is never reached', (address) => {
  expect(addressProblem(address, { allowLoopback: true })).toBeDefined();
});

test.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])(
  '%s is reached only when loopback is allowed',
  (address) => {
    expect(addressProblem(address, {})).toContain('loopback');
    expect(addressProblem(address, { allowLoopback: true })).toBeUndefined();
  },
);

test.each(['10.0.0.7', '192.168.1.1', '172.16.0.1', '93.184.216.34', '2606:2800:220:1::1', 'fd12:3456::1'])(
  '%s may be reached: clusters live on private addresses',
  (address) => {
    expect(addressProblem(address, {})).toBeUndefined();
  },
);

test.each([
  'http://2852039166/',
  'http://0xa9fea9fe/',
  'http://0251.0376.0251.0376/',
  'http://169.254.169.254./',
  'http://[::ffff:169.254.169.254]/',
  'http://[::169.254.169.254]/',
  'http://[::ffff:0:169.254.169.254]/',
  'http://[64:ff9b:1::169.254.169.254]/',
  'http://[2001:db8:64::169.254.169.254]/',
  'http://169.254.170.2/v2/credentials',
  'http://169.254.170.23/v1/credentials',
  'http://[fd00:ec2::23]/v1/credentials',
  'http://metadata.google.internal/',
  'http://METADATA.google.internal./',
  'http://metadata.goog/',
  'http://instance-data.ec2.internal/',
])('the disguised metadata address %s is refused', (url) => {
  expect(hostProblem(new URL(url), {})).toBeDefined();
});

test('denied hosts are refused by name, by address and by port', () => {
  const policy = { denyHosts: ['kubernetes.default.svc', '10.96.0.1', 'api.example:6443'] };
  expect(hostProblem(new URL('https://kubernetes.default.svc/'), policy)).toContain('never allowed');
  expect(hostProblem(new URL('https://10.96.0.1/'), policy)).toContain('never allowed');
  expect(hostProblem(new URL('https://api.example:6443/'), policy)).toContain('never allowed');
  expect(hostProblem(new URL('https://api.example/'), policy)).toBeUndefined();
});

test('an allowed host is exempt, its neighbours are not', () => {
  const policy = { allowHosts: ['127.0.0.1:9090'] };
  expect(hostProblem(new URL('http://127.0.0.1:9090/'), policy)).toBeUndefined();
  expect(hostProblem(new URL('http://127.0.0.1:9091/'), policy)).toBeDefined();
});

test('a metadata endpoint is reached when the operator allows it, and only that one', () => {
  const policy = { allowHosts: ['169.254.169.254', 'metadata.google.internal:80'] };
  expect(hostProblem(new URL('http://169.254.169.254/latest'), policy)).toBeUndefined();
  expect(hostProblem(new URL('http://metadata.google.internal/'), policy)).toBeUndefined();
  expect(hostProblem(new URL('http://169.254.170.2/'), policy)).toBeDefined();
});

const apiServer = { deniedAddresses: () => ['10.96.0.1', '172.18.0.2:6443', 'fd00:96::1'] };

test.each([
  'https://10.96.0.1/',
  'https://[::ffff:10.96.0.1]:8443/',
  'https://[64:ff9b::10.96.0.1]/',
  'https://[2001:db8:64::10.96.0.1]/',
  'https://[fd00:96:0:0::1]/',
  'https://172.18.0.2:6443/',
  'https://kubernetes/',
  'https://kubernetes.default/',
  'https://kubernetes.default.svc.cluster.local./',
])('%s is the API server, and not to be allowed by a flag', (url) => {
  const host = new URL(url).hostname;
  expect(hostProblem(new URL(url), { ...apiServer, allowHosts: [host] })).toContain('API server');
});

test('other ports of the machine that the API server runs on may be reached', () => {
  expect(hostProblem(new URL('http://172.18.0.2:3000/'), apiServer)).toBeUndefined();
  expect(hostProblem(new URL('http://172.18.0.3:6443/'), apiServer)).toBeUndefined();
});
