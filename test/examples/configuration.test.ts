import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { wholeProgram } from '../../src/cli/commands.ts';

const page = join(import.meta.dirname, '../../docs/configuration.md');
/** Defaults that are no value to type, or depend on the machine. */
const shown: Readonly<Record<string, string>> = {
  '--data-dir': '`~/.local/share/holdfast`',
  '--no-cross-namespace-refs': '',
};

test('the page has every flag with its default, and no other', () => {
  const text = readFileSync(page, 'utf8');
  const wanted = withTables(text);
  if (process.env.UPDATE_DOCS) writeFileSync(page, wanted);
  expect(process.env.UPDATE_DOCS ? wanted : text).toBe(wanted);
});

test('the page has a section for every command with flags', () => {
  const text = readFileSync(page, 'utf8');
  const missing = allCommands
    .filter(({ name, options }) => options.length > 0 && !text.includes(`<!-- flags: ${name} -->`))
    .map(({ name }) => name);
  expect(missing).toEqual([]);
});

test('the page has the limits of the code', () => {
  const text = readFileSync(page, 'utf8');
  const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB`;
  const number = (value: number) => value.toLocaleString('en-GB');
  for (const row of [
    `| one manifest file | ${mebibytes(limits.fileBytes)} |`,
    `| all manifests of a Source | ${mebibytes(limits.sourceBytes)}, ${number(limits.sourceFiles)} files, ${number(limits.objectsPerSource)} objects |`,
    `| documents in one file | ${limits.documentsPerFile} |`,
    `| kinds that are not in Git, in which objects that left Git are looked for | ${limits.kindsOutsideGit} |`,
    `| depth, nodes and aliases of one document | ${limits.yamlDepth}, ${number(limits.yamlNodes)}, ${limits.yamlAliases} |`,
    `| age, in a file that SOPS encrypted | ${limits.ageEntriesPerFile} entries, of ${number(limits.ageCharacters)} characters and ${limits.ageStanzas} stanzas; ${limits.ageStanzasPerFile} stanzas together; ${limits.ageKeys} keys |`,
    `| one text with its variables filled in (\`spec.substitute\`) | ${number(limits.substitutedTextCharacters)} characters |`,
    `| repositories of all Sources on the disk | ${mebibytes(limits.gitDiskBytes)}, divided between the namespaces once it is full (\`--git-disk-mib\`) |`,
    `| one fetched pack | ${mebibytes(limits.packBytes)} |`,
    `| its objects | ${number(limits.packObjects)}, of ${mebibytes(limits.packObjectBytes)}, ${number(limits.packMadeBytes / 1024 / 1024)} MiB together, ${limits.packChainDeltas} deltas in a chain, ${mebibytes(limits.packHeldBytes)} at once |`,
    `| commits at which the shallow history of a repository ends | ${number(limits.shallowCommits)} |`,
    `| a release's record | ${mebibytes(limits.recordBytes)} |`,
    `| ConfigMaps and Secrets outside Git that the pods of a release name | ${mebibytes(limits.liveConfigBytes)} |`,
    `| nesting of a Canary, Source, MetricTemplate or AlertProvider | ${limits.objectDepth} levels |`,
    `| answer of a metric server | ${mebibytes(limits.httpResponseBytes)}, ${limits.metricQueryMs / 1000} s |`,
    `| pause that a metric or Git server can ask for | ${limits.askedPauseMs / 60_000} min |`,
    `| shortest Source interval | ${limits.minSourceIntervalMs / 1000} s |`,
    `| freezes of a namespace, windows of one freeze | ${limits.freezesPerNamespace}, ${limits.freezeWindows} |`,
    `| \`selector\` and \`windows\` of a freeze | ${number(limits.freezeFieldCharacters)} characters each |`,
    `| metrics, webhooks, \`stepWeights\` or \`match\` of an analysis, \`service.match\` | ${limits.analysisEntries} entries each |`,
    `| \`analysis.match\` times \`service.match\` | ${number(limits.routeConditions)} |`,
    `| records of a Canary that are read, besides those that its status names | ${limits.recordsRead} |`,
  ])
    expect(text).toContain(row);
});

const allCommands = withFlags(await wholeProgram('0.0.0'), '');

/** The commands that help lists, those below others included, with their whole names. */
function withFlags(parent: Command, prefix: string): NamedCommand[] {
  const shown = parent.createHelp().visibleCommands(parent);
  return shown
    .filter((command) => command.name() !== 'help')
    .flatMap((command) => {
      const name = `${prefix}${command.name()}`;
      // Without a description are those that are only taken to name the right one.
      const options = command.options.filter(({ description }) => description !== '');
      return [{ name, options }, ...withFlags(command, `${name} `)];
    });
}

interface NamedCommand {
  readonly name: string;
  readonly options: readonly Option[];
}

function withTables(text: string): string {
  return allCommands.reduce((result, command) => {
    const begin = `<!-- flags: ${command.name} -->`;
    const between = new RegExp(`${begin}[\\s\\S]*?<!-- end -->`);
    return result.replace(between, () => `${begin}\n${tableOf(command)}<!-- end -->`);
  }, text);
}

function tableOf(command: NamedCommand): string {
  const rows = command.options.map(
    (option) => `| \`${option.flags}\` | ${meaning(option)} | ${preset(option)} |`,
  );
  return ['\n| flag | meaning | default |', '| --- | --- | --- |', ...rows, ''].join('\n').concat('\n');
}

function meaning({ description, argChoices }: Option): string {
  const choices = argChoices ? ` (${argChoices.join(', ')})` : '';
  return `${description}${choices}`.replaceAll('|', '\\|');
}

function preset({ long, defaultValue, defaultValueDescription }: Option): string {
  if (defaultValueDescription !== undefined)
    return defaultValue === undefined ? defaultValueDescription : `\`${defaultValueDescription}\``;
  const known = shown[long ?? ''];
  if (known !== undefined) return known;
  if (defaultValue === undefined || defaultValue === false) return '';
  const text = Array.isArray(defaultValue) ? defaultValue.join(',') : String(defaultValue);
  return text === '' ? '' : `\`${text.replace('0.0.0', 'VERSION')}\``;
}
