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
])('the disguised metadata address %s is refused', (url) => {
  expect(hostProblem(new URL(url), {})).toBeDefined();
});

test('denied hosts are refused by name, by address and by port', () => {
  const policy = { denyHosts: ['kubernetes.default.svc', '10.96.0.1', 'api.example:6443'] };
  expect(hostProblem(new URL('https://kubernetes.default.svc/'), policy)).toContain('deny list');
  expect(hostProblem(new URL('https://10.96.0.1/'), policy)).toContain('deny list');
  expect(hostProblem(new URL('https://api.example:6443/'), policy)).toContain('deny list');
  expect(hostProblem(new URL('https://api.example/'), policy)).toBeUndefined();
});

test('an allowed host is exempt, its neighbours are not', () => {
  const policy = { allowHosts: ['127.0.0.1:9090'] };
  expect(hostProblem(new URL('http://127.0.0.1:9090/'), policy)).toBeUndefined();
  expect(hostProblem(new URL('http://127.0.0.1:9091/'), policy)).toBeDefined();
});
