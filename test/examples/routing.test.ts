/** The examples of the guide to routing providers: each is one that its provider takes as it is and can divide requests with. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Canary } from '../../src/api/canary/canary.ts';
import { unsupportedFields } from '../../src/api/canary/unsupported-fields.ts';
import { checkCanary } from '../../src/api/canary/validate.ts';
import { parseCanary } from '../../src/api/kinds/parse.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { routerFor, routers } from '../../src/providers/routing/table.ts';
import { renderPlain } from '../../src/render/render.ts';

const page = readFileSync('docs/guides/routing.md', 'utf8');
const examples = [...page.matchAll(/```yaml\n([\s\S]*?)\n```/g)].map(([, text = '']) => {
  const objects = renderPlain([{ path: 'example.yaml', bytes: Buffer.from(text) }]).objects.map(
    ({ object }) => object,
  );
  const canary = objects.find(({ kind }) => kind === 'Canary') as Canary;
  return { provider: String(canary.spec.provider), canary, objects };
});

describe.each(examples)('the example of $provider', ({ provider, canary, objects }) => {
  const router = routerFor(provider);

  it('is taken without a problem, a warning or a field that nothing acts on', () => {
    const parsed = parseCanary(canary as unknown as KubernetesObject, { strict: true });
    const checked =
      parsed.ok && checkCanary(parsed.value, { defaultProvider: 'kubernetes', intervalFloorMs: 10_000 });

    expect(checked).toMatchObject({ problems: [], warnings: [] });
    expect(router?.check(canary)).toEqual([]);
    expect(unsupportedFields(canary, router?.ignores(canary))).toEqual([]);
  });

  it('divides requests as the Canary asks for, with what the example says that you keep', () => {
    const names = { apex: 'web', primary: 'web-primary', canary: 'web-canary' };
    const context = { canary, names, label: undefined };
    const target = { primaryWeight: 90, canaryWeight: 10, mirrored: false, matched: false };
    const live = objects.filter((object) => object !== (canary as unknown as KubernetesObject));

    const written = router?.objects(context, target, live) ?? [];

    const others = live.filter(
      ({ kind, metadata }) =>
        !written.some((one) => one.kind === kind && one.metadata.name === metadata.name),
    );
    expect(router?.read(context, [...others, ...written])).toMatchObject({ canaryWeight: 10 });
  });
});

it('every provider has a row in the table', () => {
  const [table = ''] = page.split('## istio');
  expect(routers.filter(({ name }) => !table.includes(`\`${name}\``))).toEqual([]);
});
