import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { releaseCommands, shellLine } from './kubectl.ts';

test('plain words stay as they are', () => {
  const words = ['kubectl', '-n', 'flux-system', 'get', 'source', 'apps', '--field=a:b,c=d/e.f'];
  expect(shellLine(...words)).toBe('kubectl -n flux-system get source apps --field=a:b,c=d/e.f');
});

test.each(['', 'a b', "it's", '$(id)', '`id`', 'a;b', '"', '\\', '*', '~', 'a\nb', '!', '#x', '-'])(
  'a shell reads %j as one word',
  (word) => {
    const script = shellLine('printf', '%s|', word, 'end');
    expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(`${word}|end|`);
  },
);

test('an object that is named like a command is none', () => {
  const name = 'x; touch /tmp/y';
  const live = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, labels: { 'applyset.kubernetes.io/part-of': 'applyset-x-v1' } },
  };
  const { apiVersion, kind } = live;
  expect(releaseCommands([{ reference: { apiVersion, kind, name }, live }])).toEqual([
    `kubectl label clusterrole.rbac.authorization.k8s.io 'x; touch /tmp/y' applyset.kubernetes.io/part-of-`,
  ]);
});
