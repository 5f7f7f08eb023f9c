import { expect, it, vi } from 'vitest';
import { InputError } from '../api/problems.ts';
import { localError } from '../cluster/errors.ts';
import { failureBody, reportFailure } from './failure.ts';
import { parseObjectArgument } from './flags.ts';
import { nameIn } from './requests/request.ts';

it('says what a refused login means', () => {
  const error = localError('unauthorized', 'get the kinds at /api: 401 Unauthorized');

  expect(failureBody(error)).toEqual({
    exitCode: 2,
    reason: 'Unauthorized',
    message:
      'get the kinds at /api: 401 Unauthorized: the API server does not accept the credentials of the kubeconfig, or they have expired',
  });
});

it('says where to look when the cluster does not know a kind of Holdfast', () => {
  const error = localError(
    'unknownKind',
    'the server has no kind Canary in flagger.app/v1beta1; is its CRD installed?',
  );

  expect(failureBody(error).message).toBe(
    'the server has no kind Canary in flagger.app/v1beta1; is its CRD installed? To see what is missing in this cluster, run: holdfast check',
  );
});

it('separates that hint from what the API server says', () => {
  const error = localError(
    'unknownKind',
    'list canaries: 404 the server could not find the requested resource',
  );
  expect(failureBody(error).message).toMatch(
    /requested resource; to see what is missing in this cluster, run: /,
  );
});

it('says that a proxy of the environment, by which kubectl may reach the API server, is not used', () => {
  const direct = localError(
    'timeout',
    'list canaries: no connection in time (API server https://10.0.0.1:6443)',
  );
  const byProxy = localError(
    'transient',
    "list canaries: refused (API server https://10.0.0.1:6443 through the kubeconfig's proxy-url http://proxy:3128)",
  );
  const env = { HTTPS_PROXY: 'http://user:secret@proxy:3128' };

  expect(failureBody(direct, env).message).toBe(
    'list canaries: no connection in time (API server https://10.0.0.1:6443); HTTPS_PROXY is not read: set proxy-url of the cluster in the kubeconfig',
  );
  expect([failureBody(direct, {}), failureBody(byProxy, env)].map(({ message }) => message)).toEqual([
    direct.message,
    byProxy.message,
  ]);
});

it('asks for the name where a variable that is not set left it out', () => {
  const nothing = 'names no object; use canary/NAME or source/NAME';
  expect(() => nameIn('canary/', 'Canary')).toThrow(`"canary/" ${nothing}`);
  expect(() => nameIn('', 'Canary')).toThrow(`"" ${nothing}`);
});

it.each([
  ['canary/shop/web', undefined],
  ['canary/web', 'api'],
])('takes no part of %s %s for the object that is meant', (first, second) => {
  expect(() => parseObjectArgument(first, second)).toThrow(
    `"${[first, second].filter(Boolean).join(' ')}" names more than one object; use canary/NAME -n NAMESPACE`,
  );
});

it.each([
  [
    'source/shop',
    'Canary',
    'status, tree, events, diff, sync, suspend and resume are about Sources; what a Source waits for is approved by the annotation that holdfast status source/NAME shows',
  ],
  ['canary/web', 'Source', 'use source/NAME; to hold a Canary, run holdfast pause'],
] as const)('names the commands for %s where a %s is asked for', (subject, kind, hint) => {
  expect(() => nameIn(subject, kind)).toThrow(`"${subject}" is not a ${kind}; ${hint}`);
});

it('an error of several lines keeps them, and nothing else that would move the cursor', () => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);

  reportFailure(new InputError('a.yaml:1: \u001b[2Jno name\nb.yaml:2: \u009b1Ano kind'), []);

  expect(written.mock.calls.join('')).toBe('error: a.yaml:1:  [2Jno name\nb.yaml:2:  1Ano kind\n');
  written.mockRestore();
});
