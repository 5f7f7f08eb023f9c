import type { Command, Option } from 'commander';
import { expect, it } from 'vitest';
import { wholeProgram } from './commands.ts';

/** Flags that people expect of a command about objects in a cluster. */
const expected = ['--context', '--namespace', '--selector', '--all-namespaces'] as const;

/** No cluster is asked, or the whole of it. */
const files = 'reads files';
const wholeCluster = 'is about Holdfast itself, or the whole cluster';
const oneTimeline = 'shows the timeline of one Canary; holdfast status -w shows many';
const onePage = 'prints the page for one Canary or reason';

/** Why a command lacks a flag. */
const reasons: Readonly<Record<string, Partial<Record<(typeof expected)[number], string>>>> = {
  run: {
    '--context': 'a controller has the cluster of its kubeconfig or pod',
    '--selector': 'reconciles every Canary and Source of its namespaces',
    '--all-namespaces': 'the default',
  },
  demo: {
    '--context': 'creates objects only where a kubeconfig says so, in its current context',
    '--selector': 'has its own objects',
    '--all-namespaces': 'has its own namespace',
  },
  watch: { '--selector': oneTimeline, '--all-namespaces': oneTimeline },
  runbook: { '--selector': onePage, '--all-namespaces': onePage },
  'migrate plan': {
    '--namespace': wholeCluster,
    '--selector': wholeCluster,
    '--all-namespaces': wholeCluster,
  },
  'migrate steps': { '--namespace': files, '--selector': files, '--all-namespaces': files },
  handback: { '--namespace': wholeCluster, '--selector': wholeCluster, '--all-namespaces': wholeCluster },
  check: { '--selector': wholeCluster, '--all-namespaces': wholeCluster },
  validate: { '--context': files, '--selector': files, '--all-namespaces': files },
  plan: { '--selector': files, '--all-namespaces': files },
  install: { '--context': 'asks no cluster', '--selector': wholeCluster, '--all-namespaces': wholeCluster },
  completion: {
    '--context': 'asks no cluster',
    '--namespace': 'asks no cluster',
    '--selector': 'asks no cluster',
    '--all-namespaces': 'asks no cluster',
  },
  version: { '--namespace': wholeCluster, '--selector': wholeCluster, '--all-namespaces': wholeCluster },
};

interface Named {
  readonly name: string;
  readonly options: readonly Option[];
}

const program = await wholeProgram('0.0.0');

function allCommands(): Named[] {
  const below = (parent: Command, prefix: string): Named[] =>
    parent
      .createHelp()
      .visibleCommands(parent)
      .filter((command) => command.name() !== 'help')
      .flatMap((command) => {
        const name = prefix + command.name();
        if (command.commands.length > 0) return below(command, `${name} `);
        return [{ name, options: command.options }];
      });
  return below(program, '');
}

it.each(allCommands())(
  'holdfast $name has the flags of all commands, or a reason why not',
  ({ name, options }) => {
    const missing = expected.filter((flag) => !options.some(({ long }) => long === flag));
    expect(missing).toEqual(Object.keys(reasons[name] ?? {}));
  },
);

it('no command takes an empty cluster, namespace, labels or commit, which a variable that is not set leaves behind', () => {
  const places = ['--kubeconfig', '--context', '--namespace', '--selector', '--holdfast-namespace'];
  const wrong = [...places, '--commit', '--revision', '--to'];
  const accepted = allCommands().flatMap(({ name, options }) =>
    options
      .filter(({ long, argChoices }) => name !== 'run' && !argChoices && wrong.includes(long ?? ''))
      .filter((option) => {
        try {
          option.parseArg?.('', undefined);
          return true;
        } catch (error) {
          expect((error as Error).message).toMatch(/^must /);
          return false;
        }
      })
      .map(({ long }) => `${name} ${long}`),
  );
  expect(accepted).toEqual([]);
});

it('every reason is that of a command', () => {
  const names = allCommands().map(({ name }) => name);
  expect(Object.keys(reasons).filter((name) => !names.includes(name))).toEqual([]);
});
