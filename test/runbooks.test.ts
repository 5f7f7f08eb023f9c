import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runbookOf } from '../src/api/incident.ts';
import { rolloutReasons } from '../src/api/reasons.ts';
import { wholeProgram } from '../src/cli/commands.ts';
import { holdfastVerbs } from '../src/cli/install/rights.ts';

const folder = resolve(import.meta.dirname, '../docs/runbooks');
const pages = readdirSync(folder)
  .filter((name) => name !== 'README.md')
  .map((name) => ({ name: name.replace('.md', ''), text: readFileSync(resolve(folder, name), 'utf8') }));

const sections = [
  'What you see',
  'Who serves now',
  'Why',
  'What Holdfast does',
  'What to check',
  'How to resolve it',
  'See also',
];

/** What can stand after `holdfast`. */
const commandNames = (await wholeProgram('0.0.0')).commands.map((command) => command.name());

/** The ids that a page's headings have, as forges make them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .trim()
      .replace(/\s+/g, '-'),
  );
}

function brokenLinks(text: string): string[] {
  return [...text.matchAll(/\]\(([^)]+)\)/g)].flatMap(([, link = '']) => {
    const [path = '', anchor] = link.split('#');
    const target = resolve(folder, path);
    if (!existsSync(target)) return [link];
    return anchor && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor) ? [link] : [];
  });
}

/** Lines of the page's shell blocks without comments. */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  return blocks.flatMap((block) => block.split('\n')).filter((line) => line !== '' && !line.startsWith('#'));
}

describe('the runbooks', () => {
  it('are there for each reason that may ask for a person, and for no other', () => {
    const wanted = Object.keys(rolloutReasons).filter((reason) => runbookOf(reason) !== undefined);
    expect(pages.map(({ name }) => name).sort()).toEqual(wanted.sort());
  });

  it('are all in the list', () => {
    const list = readFileSync(resolve(folder, 'README.md'), 'utf8');
    expect(pages.filter(({ name }) => !list.includes(`[${name}](${name}.md)`))).toEqual([]);
    expect(brokenLinks(list)).toEqual([]);
  });

  it.each(pages)('$name has the shape of all, and its links lead somewhere', ({ name, text }) => {
    expect(text.startsWith(`# ${name}\n`)).toBe(true);
    expect([...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual(sections);
    expect(brokenLinks(text)).toEqual([]);
  });

  it.each(pages)('$name names only commands and requests that exist', ({ text }) => {
    const known = commandNames;
    for (const line of commandsOf(text)) {
      expect(line).toMatch(/^(holdfast|kubectl|git) /);
      const [, command] = /^holdfast (\S+)/.exec(line) ?? [];
      if (command) expect(known).toContain(command);
      const [, request] = /annotate [^#]*holdfast\.dev\/([a-z-]+?)(?:=|-$)/.exec(line) ?? [];
      if (request) expect(holdfastVerbs as readonly string[]).toContain(request);
    }
  });

  it('name only reasons of the table in links to each other', () => {
    const linked = pages.flatMap(({ text }) =>
      [...text.matchAll(/\]\(([A-Za-z]+)\.md\)/g)].map(([, name]) => name),
    );
    expect(linked.filter((name) => !Object.hasOwn(rolloutReasons, name ?? ''))).toEqual([]);
  });
});
