import { expect, test } from 'vitest';
import { httpsFormOf, sshProblem } from './git-address.ts';
import type { Source } from './source.ts';
import { checkSource } from './validate.ts';

test.each([
  ['ssh://git@github.com/acme/shop.git', 'https://github.com/acme/shop.git'],
  ['git@github.com:acme/shop.git', 'https://github.com/acme/shop.git'],
  ['git@GitLab.example.com:/group/sub/shop', 'https://gitlab.example.com/group/sub/shop'],
  ['ssh://git@git.example.com:2222/acme/shop.git', 'https://git.example.com/acme/shop.git'],
  ['ssh://ada:s3cret@git.example.com/acme/shop.git', 'https://git.example.com/acme/shop.git'],
  ['git+ssh://git@git.example.com/shop', 'https://git.example.com/shop'],
  ['ssh://git@ssh.github.com:443/acme/shop.git', 'https://github.com/acme/shop.git'],
  ['git@ssh.dev.azure.com:v3/acme/platform/shop', 'https://dev.azure.com/acme/platform/_git/shop'],
])('%s is %s over HTTPS', (address, form) => {
  expect(httpsFormOf(address)).toBe(form);
});

test.each([
  'https://git.example.com/shop.git',
  'http://user@host:80/x',
  '/srv/git/shop.git',
  'shop',
  'file:///x',
])('%s is no SSH address', (address) => {
  expect(sshProblem(address)).toBeUndefined();
});

test('a Source with an SSH address is told the address to write', () => {
  const source: Source = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery' },
    spec: { url: 'ssh://ada:s3cret@git.example.com/acme/shop.git', ref: { branch: 'main' } },
  };
  const { problems } = checkSource(source);
  expect(problems).toEqual([
    {
      path: 'spec.url',
      message:
        'is an SSH address, and Git is read over HTTPS only: write https://git.example.com/acme/shop.git, and a token into the Secret',
    },
  ]);
  expect(JSON.stringify(problems)).not.toContain('s3cret');
});
