import { expect, it } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import type { Canary } from '../../api/canary/canary.ts';
import type { Transport } from '../../cluster/transport/transport.ts';
import { applyRights, holdfastRights, ownRights, type RightsOptions } from '../install/rights.ts';
import { usedBy } from './canaries.ts';
import { checkRights } from './rights.ts';

const installed = { watchNamespaces: [], impersonation: false, trustedSourceNamespaces: [] };

/** An API server where the account has what `install` prints for these. */
function granting(granted: RightsOptions): Transport {
  const rights = [...ownRights, ...holdfastRights(granted), ...applyRights(granted)];
  return {
    async request({ body }: { body: { spec: { resourceAttributes: Record<string, string> } } }) {
      const { group, resource, subresource, verb } = body.spec.resourceAttributes;
      const whole = subresource ? `${resource}/${subresource}` : resource;
      const allowed = rights.some(
        (right) =>
          right.group === group && right.resource === whole && right.verbs.some((one) => one === verb),
      );
      return { status: { allowed } };
    },
  } as unknown as Transport;
}

async function findings(
  providers: readonly string[],
  used: readonly string[],
  choice: Pick<RightsOptions, 'defaultServiceAccount' | 'trustedSourceNamespaces' | 'dashboard'> = installed,
  running = choice,
) {
  const canaries = used.map((provider) => canaryDocument({ provider }) as unknown as Canary);
  const lines = await checkRights(granting({ ...installed, ...choice, providers }), {
    ...{ ownNamespace: 'holdfast-system', watchNamespaces: [], ...running },
    ...usedBy(canaries, 'kubernetes'),
  });
  return lines.filter(({ state }) => state !== 'ok').map(({ state, detail }) => `${state} ${detail}`);
}

it('asks for no rights on the routes of providers that no Canary uses, as install --providers grants none', async () => {
  expect(await findings(['kubernetes', 'gatewayapi:v1'], ['gatewayapi:v1'])).toEqual([]);
  expect(await findings(['kubernetes'], [])).toEqual([]);
});

it.each([
  ['istio', 'failed cannot get, list, watch, create, patch, delete virtualservices.networking.istio.io'],
  ['contour', 'failed cannot get, list, watch, create, patch, delete httpproxies.projectcontour.io'],
  ['knative', 'failed cannot get, list, watch, create, patch, delete services.serving.knative.dev'],
  ['traefik', 'failed cannot get, list, watch, create, patch, delete traefikservices.traefik.io'],
])('names those that a Canary with provider %s needs', async (provider, line) => {
  expect(await findings(['kubernetes'], [provider])).toContainEqual(expect.stringContaining(line));
});

it('asks for what install grants with the same choice of accounts, and no more', async () => {
  const none = { trustedSourceNamespaces: [] };
  const named = { ...none, defaultServiceAccount: 'deployer' };
  const trusting = { trustedSourceNamespaces: ['shop'] };
  const served = { ...none, dashboard: true };
  for (const choice of [none, named, trusting, served]) expect(await findings([], [], choice)).toEqual([]);
  expect(await findings([], [], named, none)).toContainEqual(
    expect.stringContaining('cannot bind clusterroles'),
  );
  expect(await findings([], [], none, trusting)).toContainEqual(
    expect.stringContaining('cannot create, patch, delete jobs.batch (applied from Git)'),
  );
  expect(await findings([], [], none, served)).toContainEqual(
    expect.stringMatching(
      /^failed cannot abort, .*, promote, .* canaries\.flagger\.app \(what people ask for on the dashboard\)$/,
    ),
  );
});

it('a right of the dashboard alone is missed where that is served', async () => {
  const transport = {
    async request({ body }: { body: { spec: { resourceAttributes: { resource: string } } } }) {
      const { resource } = body.spec.resourceAttributes;
      return { status: { allowed: resource !== 'subjectaccessreviews' } };
    },
  } as unknown as Transport;
  const options = { ...installed, ownNamespace: 'holdfast-system', ...usedBy([], 'kubernetes') };
  const states = async (dashboard: boolean) =>
    (await checkRights(transport, { ...options, dashboard }))
      .filter(({ detail }) => detail?.includes('subjectaccessreviews'))
      .map(({ state }) => state);

  expect(await states(true)).toEqual(['failed']);
  expect(await states(false)).not.toContain('failed');
});
