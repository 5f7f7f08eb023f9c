import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Source } from '../../api/source/source.ts';
import { createGitFixture, type GitFixture } from '../../git/testing/fixture.ts';
import { startTestProxy, type TestProxy } from '../../http/testing/servers.ts';
import { rememberFileSources } from '../../server/source-files.ts';
import { checkSources } from './sources.ts';

let fixture: GitFixture;
let proxy: TestProxy;

beforeAll(async () => {
  fixture = await createGitFixture();
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
  proxy = await startTestProxy();
});
afterAll(async () => {
  await proxy.close();
  await fixture.close();
});

/** Checks a Source in a cluster with these Secrets. */
async function linesOf(
  spec: Partial<Source['spec']>,
  secrets: Readonly<Record<string, Readonly<Record<string, string>>>>,
) {
  const source: Source = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery' },
    spec: { url: fixture.url, ref: { branch: 'main' }, ...spec },
  };
  const get = async ({ name }: { readonly name: string }) => {
    const values = secrets[name];
    if (!values) return undefined;
    const data = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
    return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data: Object.fromEntries(data) };
  };
  const checks = { client: { get }, http: fixture.client, env: {}, fileSources: rememberFileSources([]) };
  const lines = await checkSources(checks, [source]);
  return lines.map(({ state, detail, actor }) => `${state} ${actor ?? ''}: ${detail}`);
}

test('a Source is asked for its refs through its proxy', async () => {
  const spec = { proxySecretRef: { name: 'way-out' } };
  const [line] = await linesOf(spec, { 'way-out': { address: `http://${proxy.address}` } });
  expect(line).toContain('refs/heads/main of');
  expect(proxy.asked[0]).toContain('GET');
});

test('a Secret that is not there, or whose keys do not fit together, is named with the field', async () => {
  expect(await linesOf({ proxySecretRef: { name: 'way-out' } }, {})).toEqual([
    'failed administrator: Secret delivery/way-out, which spec.proxySecretRef names, does not exist',
  ]);
  const secretRef = { name: 'shop-git' };
  expect(await linesOf({ secretRef }, { 'shop-git': { githubAppID: '4' } })).toEqual([
    expect.stringMatching(/^failed administrator: Secret delivery\/shop-git: a GitHub App needs/),
  ]);
  expect(await linesOf({ secretRef }, { 'shop-git': { 'tls.crt': 'x' } })).toEqual([
    'failed administrator: Secret delivery/shop-git: holds tls.crt without its key; add tls.key',
  ]);
});
