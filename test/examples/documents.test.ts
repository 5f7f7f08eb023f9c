import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Canary } from '../../src/api/canary/canary.ts';
import { checkCanary } from '../../src/api/canary/validate.ts';
import { parseCanary, parseSource } from '../../src/api/kinds/parse.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { rolloutReasons } from '../../src/api/reasons.ts';
import { checkSource } from '../../src/api/source/validate.ts';
import { routers } from '../../src/providers/routing/table.ts';
import { renderPlain } from '../../src/render/render.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const pages = ['README.md', 'SECURITY.md', ...under('docs'), ...under('examples')];

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

describe('YAML in the pages', () => {
  it.each(['README.md', 'docs/guides/sources.md'])('of %s is a Source that Holdfast takes', async (page) => {
    const [, text = ''] = /^( *apiVersion: holdfast\.dev[\s\S]*?)\n *(?:EOF|```)$/m.exec(read(page)) ?? [];
    const indent = /^ */.exec(text)?.[0] ?? '';
    const file = { path: page, bytes: Buffer.from(text.replaceAll(`\n${indent}`, '\n').trimStart()) };
    const [entry] = renderPlain([file]).objects;
    const parsed = parseSource(entry?.object as KubernetesObject, { strict: true });
    expect(parsed).toMatchObject({ ok: true });
    expect(parsed.ok && checkSource(parsed.value)).toMatchObject({ problems: [], warnings: [] });
  });
});

describe('a Canary in the pages', () => {
  it.each(['docs/guides/failed-promotion.md'])('of %s is one that Holdfast takes', (page) => {
    const [, text = ''] = /```yaml\n([\s\S]*?kind: Canary[\s\S]*?)\n```/.exec(read(page)) ?? [];
    const [entry] = renderPlain([{ path: page, bytes: Buffer.from(text) }]).objects;
    const parsed = parseCanary(entry?.object as KubernetesObject, { strict: true });
    expect(parsed).toMatchObject({ ok: true });
    const options = { defaultProvider: 'contour', intervalFloorMs: 10_000 };
    expect(parsed.ok && checkCanary(parsed.value, options)).toMatchObject({ problems: [], warnings: [] });
  });
});

describe('what the guides list is what the code has', () => {
  it('fields that are not acted on', () => {
    const [, rows = ''] = read('src/api/canary/unsupported-fields.ts').split('const canaryRows');
    const empty = { spec: {} } as Canary;
    const ignored = routers
      .flatMap((router) => router.ignores(empty))
      .map((path) => path.replaceAll('.*', '[]'));
    const page = read('docs/guides/from-flagger.md');
    const paths = new Set([...pathsIn(rows), ...ignored]);
    const missing = [...paths].filter((path) => !page.includes(`\`${path}`));
    expect(paths.size).toBeGreaterThan(20);
    expect(missing).toEqual([]);
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
  return [...rows.matchAll(/'(spec\.[^']+)'/g)].map(([, path = '']) =>
    path.replace(/\.\*$/, '').replaceAll('.*', '[]'),
  );
}
