import { describe, expect, test } from 'vitest';
import { httpsFormOf, isSshAddress, parseSshAddress } from './git-address.ts';
import type { Source } from './source.ts';
import { checkSource } from './validate.ts';

test.each([
  ['ssh://git@github.com/acme/shop.git', 'https://github.com/acme/shop.git'],
  ['git@github.com:acme/shop.git', 'https://github.com/acme/shop.git'],
  ['git@GitLab.example.com:/group/sub/shop', 'https://gitlab.example.com/group/sub/shop'],
  ['ssh://git@git.example.com:2222/acme/shop.git', 'https://git.example.com/acme/shop.git'],
  ['git+ssh://git@git.example.com/shop', 'https://git.example.com/shop'],
  ['ssh://git@ssh.github.com:443/acme/shop.git', 'https://github.com/acme/shop.git'],
  ['git@ssh.dev.azure.com:v3/acme/platform/shop', 'https://dev.azure.com/acme/platform/_git/shop'],
])('the forge of %s is at %s', (address, form) => {
  expect(httpsFormOf(address)).toBe(form);
});

test.each([
  ['ssh://git@git.example.com/acme/shop.git', ['git', 'git.example.com', 22, '/acme/shop.git']],
  ['ssh://git.example.com:2222/acme/shop.git', [undefined, 'git.example.com', 2222, '/acme/shop.git']],
  ['ssh://git@git.example.com:80/shop', ['git', 'git.example.com', 80, '/shop']],
  ['ssh://git@git.example.com:22/shop', ['git', 'git.example.com', 22, '/shop']],
  ['ssh://git@[fd00::1]:2222/shop', ['git', 'fd00::1', 2222, '/shop']],
  [
    'ssh://o%40example.com@git.example.com/~ada/shop%20one',
    ['o@example.com', 'git.example.com', 22, '~ada/shop one'],
  ],
  ['git+ssh://git@git.example.com/shop', ['git', 'git.example.com', 22, '/shop']],
  ['git@git.example.com:acme/shop.git', ['git', 'git.example.com', 22, 'acme/shop.git']],
  ['org-1@git.example.com:/srv/shop', ['org-1', 'git.example.com', 22, '/srv/shop']],
])('%s is read', (address, [user, host, port, path]) => {
  expect(isSshAddress(address)).toBe(true);
  expect(parseSshAddress(address)).toEqual({ user, host, port, path });
});

test.each([
  'https://git.example.com/shop.git',
  'http://user@host:80/x',
  '/srv/git/shop.git',
  'shop',
  'file:///x',
])('%s is no SSH address', (address) => {
  expect(isSshAddress(address)).toBe(false);
});

describe('a Source with an SSH address', () => {
  const source = (url: string, secret = true): Source => ({
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery' },
    spec: { url, ref: { branch: 'main' }, ...(secret ? { secretRef: { name: 'git' } } : {}) },
  });

  test.each([
    ['ssh://ada:s3cret@git.example.com/acme/shop.git', 'holds a password'],
    ['ssh://git@git.example.com', 'names no repository'],
    ['ssh://git@git.example.com/', 'names no repository'],
    ['ssh://git@git.example.com/shop?x=s3cret', 'query'],
    ['ssh://git@git.example.com:99999/shop', 'cannot be read'],
    ['ssh://git@-oProxyCommand=s3cret/shop', 'no host'],
    ['git@-oProxyCommand:shop', 'no host'],
    ['git@git.example.com:sh op', 'space'],
  ])('%s is refused, and nothing of it is repeated', (url, problem) => {
    const { problems } = checkSource(source(url));
    expect(problems).toEqual([{ path: 'spec.url', message: expect.stringContaining(problem) }]);
    expect(JSON.stringify(problems)).not.toMatch(/s3cret|Proxy/);
  });

  test('needs a Secret', () => {
    const url = 'git@git.example.com:acme/shop.git';
    expect(checkSource(source(url)).problems).toEqual([]);
    expect(checkSource(source(url, false)).problems).toEqual([
      { path: 'spec.secretRef', message: expect.stringContaining('known_hosts') },
    ]);
  });
});
