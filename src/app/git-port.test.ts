import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../api/clock.ts';
import type { Source } from '../api/source.ts';
import { createGitFixture, type GitFixture } from '../git/testing/fixture.ts';
import { createGitAccess } from './git-access.ts';
import { createRepositories } from './git-port.ts';
import { rememberFileSources } from './source-files.ts';

const nothing = async () => undefined;
const noSecrets = { credentials: nothing, signers: nothing, proxy: nothing };
const signal = new AbortController().signal;
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
});
afterEach(() => fixture.close());

function aSource(spec: Partial<Source['spec']> = {}): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery', labels: { 'holdfast.dev/from-file': 'true' } },
    spec: { url: fixture.url, ref: { branch: 'main' }, ...spec },
  };
}

/** Opens as a process does whose command line named `given`; its environment holds a token. */
function opener(given: readonly Source[]) {
  return createRepositories({
    client: fixture.client,
    dataDir: fixture.dataDir,
    clock: systemClock,
    identity: { name: 'Holdfast', email: 'holdfast@example.com' },
    access: createGitAccess({
      client: fixture.client,
      clock: systemClock,
      env: { HOLDFAST_GIT_TOKEN: 'from-the-environment' },
      fileSources: rememberFileSources(given),
    }),
  }).open;
}

async function authorizationsOf(
  given: readonly Source[],
  followed: Source,
): Promise<Set<string | undefined>> {
  await opener(given)(followed, noSecrets).poll(signal);
  return new Set(fixture.server.requests.map(({ authorization }) => authorization));
}

test('gives credentials of the environment to a Source of the command line', async () => {
  expect(await authorizationsOf([aSource()], aSource())).toEqual(new Set(['Bearer from-the-environment']));
});

test('gives them to no Source of the cluster, whatever its labels say', async () => {
  expect(await authorizationsOf([], aSource())).toEqual(new Set([undefined]));
});

test('gives them to no other repository when somebody changed the address of our Source in the cluster', async () => {
  const ours = aSource({ url: 'https://git.example.com/shop.git' });

  expect(await authorizationsOf([ours], aSource())).toEqual(new Set([undefined]));
});

test("ends a request to a Git server that trickles at the Source's timeout", async () => {
  fixture.server.fault = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
    const drip = setInterval(() => response.write('0'), 20);
    response.on('close', () => clearInterval(drip));
    return true;
  };
  const repository = opener([])(aSource({ timeout: '300ms' }), noSecrets);

  await expect(repository.poll(signal)).rejects.toMatchObject({ code: 'Timeout' });
});
