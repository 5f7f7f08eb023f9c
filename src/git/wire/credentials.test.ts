import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { testCertificate, testKey } from '../../http/testing/servers.ts';
import {
  credentialsFromEnvironment,
  credentialsFromSecret,
  sshCredentialsFromSecret,
} from './credentials.ts';

const secret = (data: Record<string, string>) =>
  credentialsFromSecret(
    'delivery/shop-git',
    Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value)])),
  );

test('reads user name, password and authority', () => {
  expect(secret({ username: 'ada', password: 'word\n', 'ca.crt': 'PEM\n' })).toEqual({
    auth: { kind: 'basic', username: 'ada', password: 'word' },
    tls: { ca: 'PEM' },
  });
});

test('a bearer token comes before a password', () => {
  expect(secret({ bearerToken: 'abc', username: 'ada', password: 'word' }).auth).toEqual({
    kind: 'bearer',
    token: 'abc',
  });
});

test('a password alone goes with the user name git', () => {
  expect(secret({ password: 'word' }).auth).toEqual({ kind: 'basic', username: 'git', password: 'word' });
});

test('an empty Secret means anonymous', () => {
  expect(secret({})).toEqual({});
});

test('a user name without a password, or a line feed inside a value, is refused without showing the value', () => {
  expect(() => secret({ username: 'ada' })).toThrow(
    'Secret delivery/shop-git holds a Git username without a password',
  );
  expect(() => secret({ bearerToken: 'hid\nden' })).toThrow(/^((?!hid).)*control character/);
});

test('reads the environment', () => {
  expect(credentialsFromEnvironment({})).toEqual({});
  expect(credentialsFromEnvironment({ HOLDFAST_GIT_TOKEN: 'abc' }).auth).toEqual({
    kind: 'bearer',
    token: 'abc',
  });
  expect(
    credentialsFromEnvironment({ HOLDFAST_GIT_USERNAME: 'ada', HOLDFAST_GIT_PASSWORD: 'word' }).auth,
  ).toEqual({
    kind: 'basic',
    username: 'ada',
    password: 'word',
  });
});

test('reads a client certificate, and names the keys that do not fit together', () => {
  expect(secret({ 'tls.crt': testCertificate, 'tls.key': testKey }).tls).toEqual({
    cert: testCertificate.trimEnd(),
    key: testKey.trimEnd(),
  });
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const otherKey = other.export({ type: 'pkcs8', format: 'pem' }).toString();
  const problems: Array<[Record<string, string>, string]> = [
    [{ 'tls.crt': testCertificate }, 'holds tls.crt without its key; add tls.key'],
    [{ 'tls.key': testKey }, 'holds tls.key without its certificate; add tls.crt'],
    [{ 'tls.crt': 'none', 'tls.key': testKey }, 'tls.crt is not a certificate in PEM format'],
    [{ 'tls.crt': testCertificate, 'tls.key': 'none' }, 'tls.key is not a private key in PEM format'],
    [{ 'tls.crt': testCertificate, 'tls.key': otherKey }, 'tls.key is not the key of tls.crt'],
  ];
  for (const [data, message] of problems) {
    expect(() => secret(data)).toThrow(`Secret delivery/shop-git: ${message}`);
    expect(() => secret(data)).not.toThrow(/BEGIN/);
  }
});

test('what Flux called authority, certificate and key before counts where the newer key is missing', () => {
  const { tls } = secret({ caFile: 'OLD', 'ca.crt': 'NEW', certFile: testCertificate, keyFile: testKey });
  expect(tls).toMatchObject({ ca: 'NEW', cert: testCertificate.trimEnd() });
  expect(secret({ caFile: 'OLD' }).tls).toEqual({ ca: 'OLD' });
});

test('an SSH address with the keys of an https address is told with both ways out', async () => {
  const reading = (data: Record<string, string>) =>
    sshCredentialsFromSecret(
      'delivery/shop-git',
      Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value)])),
      () => Promise.reject(new Error('no key is opened')),
    );
  await expect(reading({ githubAppID: '1' })).rejects.toThrow(
    'add it as identity, or set spec.url to the https address',
  );
  await expect(reading({ known_hosts: 'x' })).rejects.toThrow(/add it as identity$/);
});
