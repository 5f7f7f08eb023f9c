import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../api/problems.ts';
import { wholeProgram } from '../commands.ts';
import { complete } from './completion.ts';
import { argumentSource, type Lookup } from './suggest.ts';

const program = await wholeProgram('0.0.0');

/** What the cluster has, by the namespace on the line. */
function cluster(flags: ReadonlyMap<string, string>): Lookup {
  const inShop = flags.get('--namespace') === 'shop';
  const named = (...names: string[]) => names.map((value) => ({ value }));
  return {
    contexts: async () => [{ value: 'prod', description: 'shop' }, { value: 'bad\u001b[2Jname' }],
    namespaces: async () => named('shop', 'shipping'),
    objects: async (kind) => (inShop ? named(kind === 'Canary' ? 'web' : 'front') : []),
    commits: async (name) =>
      name === 'web' ? [{ value: 'c'.repeat(40), description: 'Add\tgift cards' }] : [],
  };
}

const answer = (line: string) => complete(program, line.split(' '), '0.0.0', cluster);
const values = async (line: string) =>
  (await answer(line))
    .split('\n')
    .flatMap((one) => (one === '' || /^:\d$/.test(one) ? [] : [one.split('\t')[0]]));

describe('completion', () => {
  it('of the first word offers every command that help lists', async () => {
    const all = await values('');
    expect(all).toEqual(expect.arrayContaining(['status', 'completion', 'help']));
    expect(all).not.toContain('adopt');
    expect(await answer('vali')).toEqual(expect.stringMatching(/^validate\tcheck manifests .*\n:4\n$/));
  });

  it.each([
    ['--cont', []],
    ['status --cont', ['--context']],
    ['status -', expect.arrayContaining(['--watch', '--help', '--namespace'])],
    ['migrate ', expect.arrayContaining(['plan', 'steps'])],
    ['migrate steps --from f', ['flux']],
    ['migrate steps --from argo-', ['argo-rollouts']],
    ['status ', ['canary', 'source']],
    ['status -n shop ', ['canary', 'source', 'web']],
    ['status -nshop source ', ['front']],
    ['status --namespace=shop source/', ['source/front']],
    ['status -n s', ['shop', 'shipping']],
    ['status -n=s', []],
    ['resume -n shop so', ['source/front']],
    ['runbook -n shop canary/', ['canary/web']],
    ['runbook Analysis', ['AnalysisFailed']],
    ['rollback -n shop web --to ', ['c'.repeat(40)]],
    ['rollback -n shop canary/web --to=c', ['c'.repeat(40)]],
    ['gate open -n shop ', ['web']],
    ['wait -n shop -l a=b ', []],
    ['status -A ', ['canary', 'source']],
    ['explain --what-if a b --mesh-provider kub', ['kubernetes']],
    ['history -n shop web ', []],
    ['validate --skip-it -- -', []],
    ['nonsense ', []],
    ['completion ', ['bash', 'zsh', 'fish']],
  ])('of %j offers %j', async (line, wanted) => {
    expect(await values(line)).toEqual(wanted);
  });

  it.each([
    'validate ',
    'validate a.yaml ',
    'run --source a.yaml ',
    'status --kubeconfig ',
    'status --kubeconfig=x',
  ])('of %j lets files stand', async (line) => {
    expect(await answer(line)).toBe(':0\n');
  });

  it('keeps descriptions to one line and one column, and leaves out names that nobody can type', async () => {
    expect(await answer('rollback -n shop web --to ')).toBe(`${'c'.repeat(40)}\tAdd gift cards\n:4\n`);
    expect(await answer('status --context ')).toBe('prod\tshop\n:4\n');
  });

  it('says nothing about a cluster that cannot be asked', async () => {
    const refuse = () => Promise.reject(new InputError('no cluster'));
    const nobody: Lookup = { contexts: refuse, namespaces: refuse, objects: refuse, commits: refuse };
    expect(await complete(program, ['history', ''], '0.0.0', () => nobody)).toBe(':4\n');
  });
});

/** Arguments whose values only the person who types knows. */
const freeText: readonly string[] = ['help command'];

it('every argument of every command is completed, or known as free text', () => {
  const all = (command: Command): string[] =>
    command
      .createHelp()
      .visibleCommands(command)
      .flatMap((one) => [
        ...one.registeredArguments.flatMap((argument) =>
          argument.argChoices || argumentSource(one.name(), argument)
            ? []
            : [`${one.name()} ${argument.name()}`],
        ),
        ...(one.commands.length > 0 ? all(one) : []),
      ]);
  expect(all(program).filter((name) => !freeText.includes(name))).toEqual([]);
});
