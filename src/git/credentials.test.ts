import { expect, test } from 'vitest';
import { credentialsFromEnvironment, credentialsFromSecret } from './credentials.ts';

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
