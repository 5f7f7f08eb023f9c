import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Canary } from '../../src/api/canary/canary.ts';
import { fieldsOfFewProviders } from '../../src/api/canary/unsupported-fields.ts';
import { checkCanary } from '../../src/api/canary/validate.ts';
import { freezeLabel, parseFreeze } from '../../src/api/freeze.ts';
import { apiVersionOf, kindNames } from '../../src/api/kinds/kinds.ts';
import { parseKind } from '../../src/api/kinds/parse.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { rolloutReasons } from '../../src/api/reasons.ts';
import type { Source } from '../../src/api/source/source.ts';
import { checkSource } from '../../src/api/source/validate.ts';
import { routers } from '../../src/providers/routing/table.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const pages = ['README.md', 'SECURITY.md', ...under('docs'), ...under('examples'), ...under('deploy')];

function under(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join(folder, path));
}

/** As forges make anchors of headings, and those that a page sets itself. */
function anchors(text: string): string[] {
  const own = [...text.matchAll(/<a id="([\w-]+)"><\/a>/g)].map(([, id = '']) => id);
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
  return [...own, ...headings];
}

describe('links between the pages', () => {
  it.each(pages)('of %s lead somewhere', (page) => {
    const dead = [...read(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [path = '', anchor] = target.split('#');
        const file = path ? relative(root, resolve(root, dirname(page), path)) : page;
        if (!existsSync(join(root, file))) return true;
        return anchor !== undefined && !anchors(read(file)).includes(anchor);
      });
    expect(dead).toEqual([]);
  });
});

/** The objects and parts of objects in the YAML blocks of a page, and in what it hands to `kubectl apply -f -`. */
function yamlIn(page: string): ReadonlyArray<Record<string, unknown>> {
  const blocks = [...read(page).matchAll(/^( *)(?:```ya?ml|.*<<'?EOF'?)\n([\s\S]*?)\n *(?:```|EOF)$/gm)];
  return blocks.flatMap(([, , block = '']) => {
    const indent = /^ */.exec(block)?.[0] ?? '';
    const text = block.replace(new RegExp(`^${indent}`, 'gm'), '');
    return parseAllDocuments(text).map((document) => {
      expect(document.errors, block).toEqual([]);
      return document.toJS() as Record<string, unknown>;
    });
  });
}

/** What pages say about a part of these objects stands in one that is otherwise complete. */
const wholes: Readonly<Record<string, object>> = {
  Source: {
    ...{ apiVersion: 'holdfast.dev/v1alpha1', kind: 'Source', metadata: { name: 'shop', namespace: 'shop' } },
    spec: { url: 'https://git.example.com/acme/shop.git', ref: { branch: 'main' } },
  },
  Canary: {
    ...{ apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata: { name: 'web', namespace: 'shop' } },
    spec: {
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      service: { port: 80 },
      analysis: { interval: '1m', threshold: 5, stepWeight: 10, maxWeight: 50 },
    },
  },
};
const partsOf: Readonly<Record<string, string>> = {
  'docs/guides/native.md': 'Canary',
  'docs/guides/rendering.md': 'Source',
  'docs/guides/sources.md': 'Source',
  'docs/guides/webhooks.md': 'Canary',
  'docs/guides/with-other-tools.md': 'Canary',
  'docs/guides/write-back.md': 'Source',
};

/** An object, also of a part of it; undefined for anything else, such as values of a chart. */
function objectOf(page: string, found: Record<string, unknown>): KubernetesObject | undefined {
  if (found.apiVersion !== undefined) return found as unknown as KubernetesObject;
  const whole = wholes[partsOf[page] ?? ''] as { spec: { analysis?: object } } | undefined;
  if (!whole || typeof found.spec !== 'object') return undefined;
  const spec: { analysis?: object } = { ...whole.spec, ...found.spec };
  if (spec.analysis) spec.analysis = { ...whole.spec.analysis, ...spec.analysis };
  return { ...whole, spec } as unknown as KubernetesObject;
}

/** What Holdfast would say about it; kinds of others are the API server's. */
function problemsOf(object: KubernetesObject): unknown[] {
  if (object.metadata.labels?.[freezeLabel] !== undefined) {
    const freeze = parseFreeze(object);
    return typeof freeze === 'string' ? [freeze] : [];
  }
  const kind = kindNames.find((name) => name === object.kind && apiVersionOf(name) === object.apiVersion);
  if (!kind) return [];
  const parsed = parseKind(kind, object, { strict: true });
  if (!parsed.ok) return [...parsed.problems];
  const options = { defaultProvider: 'contour', intervalFloorMs: 10_000 };
  const found =
    kind === 'Canary'
      ? checkCanary(parsed.value as Canary, options)
      : kind === 'Source'
        ? checkSource(parsed.value as Source)
        : undefined;
  return found ? [...found.problems, ...found.warnings] : [];
}

describe('YAML in the pages', () => {
  const withYaml = pages.filter((page) => /```ya?ml|<<'?EOF/.test(read(page)));

  it.each(withYaml)('of %s is taken as it is', (page) => {
    const objects = yamlIn(page).flatMap((found) => objectOf(page, found) ?? []);
    expect(objects.flatMap((object) => problemsOf(object).map((problem) => [object.kind, problem]))).toEqual(
      [],
    );
  });

  it('is found, with the parts of objects', () => {
    const found = withYaml.flatMap((page) => yamlIn(page).flatMap((one) => objectOf(page, one)?.kind ?? []));
    const count = (kind: string) => found.filter((one) => one === kind).length;
    expect(count('Canary')).toBeGreaterThan(30);
    expect(count('Source')).toBeGreaterThan(10);
    expect(count('MetricTemplate')).toBeGreaterThan(13);
  });
});

describe('what the guides list is what the code has', () => {
  it('fields that are not acted on', () => {
    const ofTargets = pathsIn(read('src/api/canary/unsupported-fields.ts'));
    const ignored = routers.flatMap(ignoredBy);
    const page = read('docs/guides/from-flagger.md');
    const paths = new Set([...ofTargets, ...ignored]);
    const missing = [...paths].filter((path) => !page.includes(`\`${path}`));
    expect(ofTargets).toContain('spec.service.portDiscovery');
    expect(paths.size).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });

  it.each(fieldsOfFewProviders.map(asOnPages))('which providers act on %s', (path) => {
    const acting = routers.filter((router) => !ignoredBy(router).includes(path)).map(({ name }) => name);
    const rows = read('docs/guides/from-flagger.md').match(/^\| .*$/gm) ?? [];
    const told = rows.filter((row) => row.includes(`\`${path}\``)).join('\n');
    expect(acting.filter((name) => !told.includes(`\`${name}\``))).toEqual([]);
  });

  it('metrics', () => {
    const code = readdirSync(join(root, 'src/server/http')).map((name) => read(`src/server/http/${name}`));
    const names = new Set(code.join('\n').match(/(?<=')(?:flagger|holdfast)_\w+(?=')/g));
    expect(names.size).toBeGreaterThan(10);
    expect([...names].filter((name) => !read('docs/guides/operations.md').includes(`\`${name}\``))).toEqual(
      [],
    );
  });

  it('reasons of Canaries', () => {
    const known = new Set<string>(Object.keys(rolloutReasons));
    const engine = readdirSync(join(root, 'src/engine'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => read(`src/engine/${name}`))
      .join('\n');
    const git = read('src/git/errors.ts');
    const named = [...read('docs/guides/troubleshooting.md').matchAll(/^\| (.+?) \|/gm)]
      .flatMap(([, cell = '']) => [...cell.matchAll(/`([A-Z]\w+)`/g)].map(([, reason = '']) => reason))
      .filter((reason) => !['Healthy', 'Drifted'].includes(reason));
    expect(named.length).toBeGreaterThan(30);
    expect(
      named.filter((reason) => !known.has(reason) && !`${engine}${git}`.includes(`'${reason}'`)),
    ).toEqual([]);
  });
});

function pathsIn(rows: string): string[] {
  return [...rows.matchAll(/'(spec\.[^']+)'/g)].map(([, path = '']) => asOnPages(path));
}

function asOnPages(path: string): string {
  return path.replaceAll('.*', '[]');
}

/** With a Canary that sets nothing. */
function ignoredBy(router: (typeof routers)[number]): string[] {
  return router.ignores({ spec: {} } as Canary).map(asOnPages);
}
