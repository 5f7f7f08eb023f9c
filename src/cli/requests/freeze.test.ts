import { describe, expect, it } from 'vitest';
import { freezeLabel } from '../../api/freeze.ts';
import { localError } from '../../cluster/errors.ts';
import { freeze, unfreeze } from './freeze.ts';

const nowMs = Date.parse('2026-11-27T08:00:00Z');

/** Freezes namespace `shop` for an hour, or another place without an end, where this ConfigMap is there, or the server answers so. */
async function frozen(
  found: object | undefined | Error,
  place: { namespace?: string; ownNamespace?: string } = {},
  list = async (): Promise<object> => ({ items: [{ metadata: { name: 'web' } }] }),
) {
  const applied: object[] = [];
  const client = {
    async get({ kind }: { kind: string }) {
      if (kind === 'ConfigMap' && found instanceof Error) throw found;
      return kind === 'ConfigMap' ? found : undefined;
    },
    list,
    apply: async (object: object) => applied.push(object),
  } as unknown as Parameters<typeof freeze>[0];
  const scope = { namespace: 'shop', selector: undefined, ownNamespace: 'holdfast-system' } as const;
  const asked = {
    until: place.namespace ? undefined : '1h',
    reason: 'the network',
    windows: undefined,
    startsOnly: false,
    serverNowMs: () => nowMs,
  };
  const result = freeze(client, { ...scope, ...asked, ...place, format: 'text' });
  return { applied, ...(await result.catch((error: Error) => ({ error: error.message }))) };
}

const freezeOf = (manager: string, data: object) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data },
  metadata: {
    ...{ name: 'holdfast-freeze', namespace: 'shop' },
    managedFields: [
      {
        ...{ manager, operation: 'Apply', fieldsType: 'FieldsV1' },
        fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${freezeLabel}`]: {} } } },
      },
    ],
  },
});

it('a freeze that another tool applies is not changed, since that would set it back', async () => {
  const { applied, ...answer } = await frozen(freezeOf('kustomize-controller', { reason: 'holidays' }));

  expect(applied).toEqual([]);
  expect(answer).toEqual({
    error: expect.stringMatching(
      /^ConfigMap shop\/holdfast-freeze: .* is set by kustomize-controller, which would set it back; change it there$/,
    ),
  });
});

it('who freezes what is frozen already is told which freeze that replaces, and its end', async () => {
  const data = { reason: 'the sale', until: '2026-11-27T18:00:00.000Z' };

  const { applied, ...answer } = await frozen(freezeOf('holdfast-cli', data));

  expect(applied).toHaveLength(1);
  expect(answer).toMatchObject({
    exitCode: 0,
    stderr: 'note: this replaces a freeze until 2026-11-27T18:00:00.000Z: the sale\n',
  });
});

it('an end counts by the clock of the API server, which is known with its first answer', async () => {
  let serverMs = 0;
  const applied: Array<{ data: { until: string } }> = [];
  const client = {
    async get() {
      serverMs = nowMs;
      return undefined;
    },
    list: async () => ({ items: [{ metadata: { name: 'web' } }] }),
    apply: async (object: (typeof applied)[number]) => applied.push(object),
  } as unknown as Parameters<typeof freeze>[0];
  const asked = { until: '1h', reason: 'the network', windows: undefined, startsOnly: false } as const;
  const scope = { namespace: 'shop', selector: undefined, ownNamespace: 'holdfast-system' } as const;

  const { stdout } = await freeze(client, {
    ...{ ...asked, ...scope, format: 'text' },
    serverNowMs: () => serverMs,
  });

  expect(applied.map(({ data }) => data.until)).toEqual(['2026-11-27T09:00:00.000Z']);
  expect(stdout).toContain('frozen until 2026-11-27T09:00:00.000Z, in 1h;');
});

it.each([
  ['there is none', undefined],
  ['none may be read', localError('forbidden', 'get ConfigMap shop/holdfast-freeze: 403')],
])('a freeze is written and nothing more said where %s', async (_, found) => {
  expect(await frozen(found)).toMatchObject({ exitCode: 0, stderr: '', applied: [{ kind: 'ConfigMap' }] });
});

it.each([
  [{ namespace: 'blog' }, 'holdfast unfreeze -n blog;'],
  [{ namespace: 'holdfast-system' }, 'holdfast unfreeze -A;'],
  [{ namespace: 'fast', ownNamespace: 'fast' }, 'holdfast unfreeze -A --holdfast-namespace fast;'],
])('a freeze of %j without an end names what ends it: %s', async (place, command) => {
  expect(await frozen(undefined, place)).toMatchObject({
    stdout: expect.stringContaining(`frozen until ${command}`),
  });
});

it.each([
  [
    'there are no Canaries, as in the cluster of another context',
    'unknownKind',
    /^warning: this cluster has no Canaries: no kind Canary; .* --context names another cluster\n$/,
  ],
  ['Canaries may not be listed', 'forbidden', /^$/],
] as const)('a freeze where %s', async (_, kind, said) => {
  const answer = await frozen(undefined, {}, async () => {
    throw localError(kind, 'no kind Canary; is its CRD installed?');
  });

  expect(answer).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(said) });
});

it('a freeze that may not be deleted is named beside those that were lifted', async () => {
  const names = ['holdfast-freeze', 'holdfast-freeze-0000aaaa', 'holdfast-freeze-1111bbbb'];
  const items = names.map((name) => ({
    ...freezeOf('holdfast-cli', {}),
    metadata: { name, namespace: 'shop' },
  }));
  const refused = 'delete ConfigMap shop/holdfast-freeze-0000aaaa: 403 Forbidden';
  const client = {
    list: async () => ({ items }),
    async delete({ name }: { name: string }) {
      if (name === names[1]) throw localError('forbidden', refused);
      return true;
    },
  } as unknown as Parameters<typeof unfreeze>[0];
  const scope = {
    namespace: 'shop',
    ownNamespace: 'holdfast-system',
    selector: undefined,
    scheduled: false,
    format: 'text',
  } as const;

  expect(await unfreeze(client, scope)).toEqual({
    stdout: [names[0], names[2]].map((name) => `ConfigMap shop/${name}: the freeze is lifted\n`).join(''),
    stderr: `warning: still frozen: ${refused}\n`,
    exitCode: 1,
  });
});

/** A cluster with these freezes. */
function freezes(...all: readonly (readonly [namespace: string, data: object])[]) {
  const items = all.map(([namespace, data]) => ({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', data },
    metadata: { name: 'holdfast-freeze', namespace },
  }));
  return {
    list: async (_: string, __: string, query: { namespace?: string }) => ({
      items: items.filter(({ metadata }) => [undefined, metadata.namespace].includes(query.namespace)),
    }),
    delete: async () => undefined,
  } as unknown as Parameters<typeof unfreeze>[0];
}

it('unfreeze of a namespace names what freezes its Canaries still: a schedule there, and a freeze of the whole cluster', async () => {
  const weekends = JSON.stringify([{ kind: 'deny', schedule: '0 18 * * 5', duration: '62h' }]);
  const client = freezes(
    ['shop', { reason: 'the sale' }],
    ['shop', { reason: 'weekends', windows: weekends }],
    ['fast', { reason: 'an outage' }],
    ['blog', { reason: 'of others' }],
  );
  const scope = { namespace: 'shop', ownNamespace: 'fast', selector: undefined, scheduled: false } as const;

  expect(await unfreeze(client, { ...scope, format: 'text' })).toEqual({
    exitCode: 0,
    stdout: 'ConfigMap shop/holdfast-freeze: the freeze is lifted\n',
    stderr: [
      'note: ConfigMap shop/holdfast-freeze still freezes namespace shop (weekends); to end it, run: holdfast unfreeze -n shop --scheduled\n',
      'note: ConfigMap fast/holdfast-freeze still freezes all namespaces (an outage); to end it, run: holdfast unfreeze -A --holdfast-namespace fast\n',
    ].join(''),
  });
});

it('names the labels of freezes that stay, so that nobody ends those of others with them', async () => {
  const client = freezes(
    ['shop', { reason: 'the sale', selector: 'team=till' }],
    ['shop', { reason: 'a move', selector: 'team=web' }],
  );
  const scope = { namespace: 'shop', ownNamespace: 'fast', scheduled: false, format: 'text' } as const;

  const lifted = await unfreeze(client, { ...scope, selector: 'team=till' });
  const unknown = unfreeze(client, { ...scope, selector: 'team = web' });

  expect(lifted.stderr).toBe(
    'note: ConfigMap shop/holdfast-freeze still freezes team=web in namespace shop (a move); to end it, run: holdfast unfreeze -n shop -l "team=web"\n',
  );
  await expect(unknown).rejects.toThrow(
    /there are: holdfast-freeze \(-l "team=till", the sale\), holdfast-freeze \(-l "team=web", a move\)$/,
  );
});

it('prints nothing to be run that somebody wrote into a freeze for a shell', async () => {
  const client = freezes(
    ['shop', { reason: 'the sale', selector: 'team=till' }],
    ['shop', { reason: 'a move', selector: '`id`' }],
  );
  const scope = { namespace: 'shop', ownNamespace: 'fast', scheduled: false, format: 'text' } as const;

  const lifted = await unfreeze(client, { ...scope, selector: 'team=till' });
  const unknown = unfreeze(client, { ...scope, selector: 'team=web' });

  expect(lifted.stderr).toBe(
    'note: ConfigMap shop/holdfast-freeze still freezes namespace shop (a move); to end it, run: kubectl -n shop delete configmap holdfast-freeze\n',
  );
  await expect(unknown).rejects.toThrow(/, holdfast-freeze \(a move\)$/);
});

it('a list of other freezes that fails keeps none from being lifted', async () => {
  const client = freezes(['shop', { reason: 'the sale' }]);
  const list: typeof client.list = async (version, kind, query = {}) => {
    if (query.namespace === 'fast') throw localError('transient', 'list configmaps in fast: 500');
    return client.list(version, kind, query);
  };
  const scope = { namespace: 'shop', ownNamespace: 'fast', selector: undefined, scheduled: false } as const;

  expect(await unfreeze({ ...client, list }, { ...scope, format: 'text' })).toMatchObject({
    ...{ exitCode: 0, stderr: '' },
  });
});

describe('unfreeze -A', () => {
  const scope = {
    ...{ namespace: 'holdfast-system', ownNamespace: 'holdfast-system' },
    selector: undefined,
    scheduled: false,
    format: 'text',
  } as const;
  const ended = { reason: 'over', until: '2020-01-01T00:00:00Z' };
  const note =
    'note: ConfigMap shop/holdfast-freeze still freezes namespace shop (the sale); to end it, run: holdfast unfreeze -n shop';

  it('names the freezes of single namespaces, which stay', async () => {
    const client = freezes(
      ['holdfast-system', { reason: 'an outage' }],
      ['shop', { reason: 'the sale' }],
      ['blog', ended],
    );

    expect(await unfreeze(client, { ...scope, isForAll: true })).toEqual({
      ...{ exitCode: 0, stderr: `${note}\n` },
      stdout: 'ConfigMap holdfast-system/holdfast-freeze: the freeze is lifted\n',
    });
  });

  it('names them also where no freeze covers the whole cluster', async () => {
    const found = unfreeze(freezes(['shop', { reason: 'the sale' }]), { ...scope, isForAll: true });

    await expect(found).rejects.toThrow(`no freeze in namespace holdfast-system\n${note}`);
  });

  it('names the command that also ends one with a schedule', async () => {
    const weekends = JSON.stringify([{ kind: 'deny', schedule: '0 18 * * 5', duration: '62h' }]);
    const client = freezes(['shop', { reason: 'the sale', windows: weekends }]);

    const found = unfreeze(client, { ...scope, isForAll: true });

    await expect(found).rejects.toThrow(`${note} --scheduled`);
  });
});
