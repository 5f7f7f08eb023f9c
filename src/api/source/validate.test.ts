import { expect, test } from 'vitest';
import type { Source } from './source.ts';
import { checkSource } from './validate.ts';

/** What is said of writing to a repository with this address. */
function saidOf(url: string, spec: Partial<Source['spec']>): string[] {
  const source: Source = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'shop' },
    spec: { url, ref: { branch: 'main' }, secretRef: { name: 'git' }, ...spec },
  };
  const { problems, warnings } = checkSource(source);
  expect(problems).toEqual([]);
  return warnings.map(({ path, message }) => `${path} ${message}`);
}

const write = { ledger: true, revert: 'pullRequest', status: true } as const;

test.each([
  ['https://dev.azure.com/acme/shop/_git/shop', 'Azure DevOps'],
  ['https://acme.visualstudio.com/shop/_git/shop', 'Azure DevOps'],
  ['git@ssh.dev.azure.com:v3/acme/shop/shop', 'Azure DevOps'],
  ['https://git-codecommit.eu-north-1.amazonaws.com/v1/repos/shop', 'CodeCommit'],
])(
  '%s has no API that is supported: what spec.write asks for in vain is said before a merge',
  (url, name) => {
    expect(saidOf(url, { write })).toEqual([
      `spec.write.status has no effect: ${name} is not supported`,
      `spec.write.revert is pullRequest, and ${name} is not supported: the branch is pushed, and a person opens the pull request`,
    ]);
    expect(saidOf(url, { write: { ledger: true, revert: 'commit' } })).toEqual([]);
  },
);

test('other hosts may be a forge, and a revert takes a branch', () => {
  const url = 'https://git.example.com/acme/shop.git';
  expect(saidOf(url, { write })).toEqual([]);
  expect(saidOf(url, { write, ref: { tag: 'v1' } })).toEqual([
    'spec.write.revert is pullRequest, which takes spec.ref.branch',
  ]);
});
